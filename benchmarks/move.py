"""How fast messages get from staging queues into their target, and what that costs: our mover and its rivals.

Movers take turns (A B C A B C …), so that whatever else the machine does meanwhile meets all of them, and the median
of the rounds counts. Rates from other machines or other hours say little: read the ratios within one run.

Every run has fresh queues, filled before the clock starts. After it, outside the time, the target must hold exactly
what was in the sources, and the sources nothing; else the run counts as failed, whatever its speed.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.apart import ContenderFailed
from benchmarks.cases import HEADLINE, QUICK, Case, all_cases, rounds_for
from benchmarks.figure import Figure, ratio
from benchmarks.move_table import move_table
from benchmarks.mover import Move, Mover
from benchmarks.movers import CALLBACK, LOCAL_SHOVEL, RAQUO, SHOVEL, movers_for
from benchmarks.queues import Queues
from benchmarks.rounds import Rounds
from benchmarks.session import Section, Session, main

_DEADLINE = 60.0  # seconds for one mover in one round
_TO_SETTLE = 5.0


@dataclass
class Result(Rounds):
    """One mover in one case."""

    case: Case = HEADLINE
    mover: str = RAQUO

    def as_json(self) -> dict[str, Any]:
        return {"case": self.case.title, "mover": self.mover, **super().as_json()}


def run(session: Session) -> Section:
    """Measure every case with every mover."""
    queues = Queues(session.broker.url)
    try:
        movers = movers_for(session.broker.version, session.broker.management_url, queues)
        results = _measure_all(session, movers, queues)
    finally:
        queues.close()
    return Section(
        "move",
        move_table(results),
        [result.as_json() for result in results],
        figures(results, session.broker.version),
        [f"{one.case.title}: {one.mover}: {failure}" for one in results for failure in one.failures],
    )


def figures(results: Sequence[Result], version: str) -> list[Figure]:
    """What is promised for 1 KiB, classic, one queue, on this broker."""
    found = {result.mover: result for result in results if result.case.title == HEADLINE.title}
    ours = found.get(RAQUO)
    rate, cpu = (ours.rate, ours.cpu) if ours else (None, None)

    def times(mover: str) -> float | None:
        return ratio(rate, found[mover].rate) if mover in found else None

    if int(version.split(".")[0]) >= 4:
        return [
            Figure(f"mover against the {SHOVEL}", 1.3, times(SHOVEL)),
            Figure(f"mover against {CALLBACK}", 3.5, times(CALLBACK)),
            Figure(f"mover against the {LOCAL_SHOVEL}", 0.75, times(LOCAL_SHOVEL)),
            Figure("mover's CPU, µs per message", 10, cpu, at_most=True),
        ]
    cpu_of_callbacks = found[CALLBACK].cpu if CALLBACK in found else None
    return [
        Figure(f"mover against the {SHOVEL}", 1.1, times(SHOVEL)),
        Figure(f"mover against {CALLBACK}", 0.9, times(CALLBACK)),
        Figure(f"mover's CPU against {CALLBACK}", 0.2, ratio(cpu, cpu_of_callbacks), at_most=True),
    ]


def _measure_all(session: Session, movers: Sequence[Mover], queues: Queues) -> list[Result]:
    cases = [QUICK] if session.quick else all_cases()
    steps = sum(rounds_for(case, session.rounds) for case in cases) * len(movers)
    task = session.progress.add_task("move", total=steps)
    results: list[Result] = []
    for case in cases:
        if session.time_is_up():
            session.console.print(f"The time is up: {case.title} is left out.", highlight=False)
            continue
        taking_turns = [(mover, Result(case=case, mover=mover.name)) for mover in movers]
        results += [result for _, result in taking_turns]
        for number in range(rounds_for(case, session.rounds)):
            if number and session.time_is_up():
                break
            session.say(f"{case.title}: round {number + 1}")
            for mover, result in taking_turns:
                session.progress.update(task, description=f"{case.title}: {mover.name}")
                _measure(session.broker.url, mover, result, queues)
                session.progress.advance(task)
    return results


def _measure(url: str, mover: Mover, result: Result, queues: Queues) -> None:
    """One mover, one round."""
    case = result.case
    sources = tuple(f"bench»tenant-{number}" for number in range(case.queues))
    move = Move(url, sources, "bench", case.each(mover.share))
    try:
        queues.declare((*sources, move.target), case.queue_type)
        queues.fill(sources, move.each, case.size)
        measured = mover.measure(move, _DEADLINE)
        _check(move, queues)
        result.note(measured, move.messages)
    except (ContenderFailed, TimeoutError) as error:
        result.failures.append(str(error))
    finally:
        queues.delete((*sources, move.target))


def _check(move: Move, queues: Queues) -> None:
    """Everything has arrived, once, and nothing was left behind."""
    queues.wait_for_depth(move.target, move.messages, _TO_SETTLE)
    arrived, left = queues.depth(move.target), queues.take_all(move.sources)
    if (arrived, left) != (move.messages, 0):
        raise ContenderFailed(f"{arrived} of {move.messages} arrived, {left} were left behind")


if __name__ == "__main__":
    sys.exit(main(run))
