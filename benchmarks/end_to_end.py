"""What the daemon adds to its mover: discovery, depths, plans, slices and rounds, against grants of everything at once.

The same backlog is moved by the bare mover and by `raquo run`, in turns, each a process of its own. There are two kinds
of target: one that nobody consumes and that has room for everything, and one of the default length with a fast
consumer, the same for both.

The clock runs from the last look that finds everything in staging until the target holds everything (or its consumer
has it), so neither the daemon's start nor the mover's connecting is in it: both are no part of a rate. Processor time
is that of the daemon from the same moment on.

Where the target is consumed, the longest that it was seen meanwhile must not be above its `max_length`.
"""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from benchmarks.apart import Measured, measure_apart
from benchmarks.beside import Beside, beside
from benchmarks.child import ContenderFailed
from benchmarks.daemon import daemon
from benchmarks.figure import Figure, ratio
from benchmarks.longest import longest_seen
from benchmarks.mover import Move
from benchmarks.queues import Queues
from benchmarks.rounds import Rounds
from benchmarks.session import Section, Session, main

MOVER, DAEMON = "bare mover", "raquo run"
_SIZE = 1024
_MESSAGES, _QUICK = 40_000, 12_000
_QUICK_ROUNDS = 2
_DEADLINE = 90.0
_REQUIRED = 0.9
_EVERY = 0.002


@dataclass(frozen=True)
class Case:
    """How many staging queues, and what the target takes."""

    queues: int
    max_length: int
    consumed: bool

    @property
    def title(self) -> str:
        target = f"consumed, max_length {self.max_length:,}" if self.consumed else "room for everything"
        return f"{self.queues} staging queue{'s' if self.queues > 1 else ''}, {target}"


CASES = [Case(queues, length, consumed) for length, consumed in ((100_000, False), (1000, True)) for queues in (1, 20)]


@dataclass
class Result(Rounds):
    """One contender in one case."""

    case: Case = field(default=CASES[0])
    contender: str = ""
    longest: int | None = None  # ready messages seen in a target with a bound

    def as_json(self) -> dict[str, Any]:
        longest = {} if self.longest is None else {"longest_target": self.longest}
        return {"case": self.case.title, "contender": self.contender, **super().as_json(), **longest}


def run(session: Session) -> Section:
    """Both contenders in turns, case by case."""
    results: list[Result] = []
    rounds = min(session.rounds, _QUICK_ROUNDS) if session.quick else session.rounds
    task = session.progress.add_task("end to end", total=len(CASES) * rounds * 2)
    for case in CASES:
        if session.time_is_up():
            session.console.print(f"The time is up: {case.title} is left out.", highlight=False)
            continue
        turns = [Result(case=case, contender=contender) for contender in (MOVER, DAEMON)]
        results += turns
        for number in range(rounds):
            if number and session.time_is_up():
                break
            session.say(f"{case.title}: round {number + 1}")
            for result in turns:
                session.progress.update(task, description=f"{case.title}: {result.contender}")
                _measure(session, result)
                session.progress.advance(task)
    failures = [f"{one.case.title}: {one.contender}: {failure}" for one in results for failure in one.failures]
    return Section("daemon", _table(results), [one.as_json() for one in results], _figures(results), failures)


def _measure(session: Session, result: Result) -> None:
    case = result.case
    sources = tuple(f"bench»tenant-{number}" for number in range(case.queues))
    each = (_QUICK if session.quick else _MESSAGES) // case.queues
    move = Move(session.broker.url, sources, "bench", each)
    queues = Queues(session.broker.url)
    try:
        queues.declare((*sources, move.target), "classic")
        queues.fill(sources, each, _SIZE)
        with _consumer(case, move) as consumer:
            if result.contender == MOVER:
                result.note(_by_mover(move, queues, consumer), move.messages)
            else:
                result.note(_by_daemon(session, result, move, queues, consumer), move.messages)
        _check(case, move, queues)
    except (ContenderFailed, TimeoutError) as error:
        result.failures.append(str(error))
    finally:
        queues.delete((*sources, move.target))
        queues.close()


@contextmanager
def _consumer(case: Case, move: Move) -> Iterator[Beside | None]:
    job = {"url": move.url, "queue": move.target, "messages": move.messages}
    with beside("benchmarks.consumers.fast", **job) if case.consumed else nullcontext() as consumer:
        yield consumer


def _by_mover(move: Move, queues: Queues, consumer: Beside | None) -> Measured:
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(measure_apart, "benchmarks.movers.spliced", move.as_job(), _DEADLINE)
        begun = _begin(queues, move)
        seconds = _end(queues, move, consumer) - begun
        return Measured(seconds, moving.result().cpu_seconds)


def _by_daemon(session: Session, result: Result, move: Move, queues: Queues, consumer: Beside | None) -> Measured:
    with daemon(session.broker, max_length=result.case.max_length) as process:
        begun = _begin(queues, move)
        cpu = process.cpu_seconds()
        with longest_seen(move.url, move.target) if consumer else nullcontext() as longest:
            seconds = _end(queues, move, consumer) - begun
        cpu = process.cpu_seconds() - cpu
        if longest is not None:
            result.longest = max(result.longest or 0, longest.ready)
        process.stop()
        return Measured(seconds, cpu)


def _begin(queues: Queues, move: Move) -> float:
    """The last moment at which everything was in staging."""
    end = time.monotonic() + _DEADLINE
    looked = time.monotonic()
    while queues.depths(move.sources) == move.messages:
        looked = time.monotonic()
        if looked > end:
            raise ContenderFailed("nothing left staging")
        time.sleep(_EVERY)
    return looked


def _end(queues: Queues, move: Move, consumer: Beside | None) -> float:
    """The moment at which everything had arrived."""
    if consumer is not None:
        return float(consumer.answer(_DEADLINE)["last"])
    if not queues.wait_for_depth(move.target, move.messages, _DEADLINE):
        raise ContenderFailed(f"{queues.depth(move.target)} of {move.messages} arrived in time")
    return time.monotonic()


def _check(case: Case, move: Move, queues: Queues) -> None:
    left = queues.take_all(move.sources)
    if left:
        raise ContenderFailed(f"{left} were left behind")
    arrived = queues.depth(move.target)  # of what was consumed, what was not acknowledged yet has come back
    if not case.consumed and arrived != move.messages:
        raise ContenderFailed(f"{arrived} of {move.messages} arrived")


def _figures(results: list[Result]) -> list[Figure]:
    found = {(one.case, one.contender): one for one in results}
    lengths = [
        Figure(f"longest target, {one.case.title}", one.case.max_length, one.longest, at_most=True)
        for one in results
        if one.case.consumed and one.contender == DAEMON
    ]
    return lengths + [
        Figure(f"raquo run against the bare mover, {case.title}", _REQUIRED, ratio(found[case, DAEMON].rate, bare.rate))
        for (case, contender), bare in found.items()
        if contender == MOVER
    ]


def _table(results: list[Result]) -> Table:
    table = Table(title="The daemon beside its mover, 1 KiB, classic (median of the rounds)")
    table.add_column("contender")
    for column in ("per second", "slowest–fastest", "CPU µs", "of the mover", "longest target"):
        table.add_column(column, justify="right")
    bare = {one.case: one.rate for one in results if one.contender == MOVER}
    for result in results:
        if result.contender == MOVER:
            table.add_section()
            table.add_row(f"[bold]{result.case.title}[/]")
        part = ratio(result.rate, bare[result.case]) if result.contender == DAEMON else None
        compared = ["" if part is None else f"× {part:.2f}", "" if result.longest is None else f"{result.longest:,}"]
        table.add_row(result.contender, *result.cells(), *compared)
    return table


if __name__ == "__main__":
    sys.exit(main(run))
