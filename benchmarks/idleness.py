"""Do workers ever wait while something is staged? The reason to have rounds that are short.

Twenty tenants have staged a backlog; workers of a fixed pace consume a target of the default length that the daemon
keeps full. What counts is the part of their time in which they had nothing to do, from a worker's first message until
the last look that found something in staging. `consumers/paced.py` says how that is measured honestly.

Beside it, in turns, the same workers with the same backlog put straight into the target: what they are idle there is
the machine's and the broker's doing, and no distributor could do better.

Meanwhile the target, which is kept full all the time, must never be longer than `max_length`: no look may find it so.

Afterwards everything must be accounted for: what was done, and what is back in the target or still staged, is what was
there at first. That holds for the workers too: messages they lose would look like idleness.
"""

import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from benchmarks.beside import Beside, beside
from benchmarks.child import ContenderFailed
from benchmarks.daemon import daemon
from benchmarks.figure import Figure
from benchmarks.longest import longest_seen
from benchmarks.queues import Queues
from benchmarks.session import Section, Session, main

DIRECT, DAEMON = "straight into the target", "raquo run"
_TENANTS = 20
_SIZE = 1024
_MAX_LENGTH = 1000  # the default
_TARGET = "bench"
_EVERY = 0.02
_PATIENCE = 30.0
_TO_COME_BACK = 5.0


@dataclass(frozen=True)
class Case:
    """A crew of workers."""

    workers: int
    prefetch: int
    task: float  # seconds for a message
    lasts: float  # seconds for the backlog
    held: int = 0
    required: float = 1.0  # per cent idle, at most

    @property
    def title(self) -> str:
        if self.workers == 1:
            return f"one worker, {1 / self.task:,.0f} messages/s, prefetch {self.prefetch}"
        return f"{self.workers} workers, tasks of {self.task:g} s, prefetch {self.prefetch}, {self.held} held unacked"

    @property
    def each(self) -> int:
        """Messages of each tenant; the default length besides, because the end is when staging is empty."""
        return round((self.lasts * self.workers / self.task + _MAX_LENGTH + self.held) / _TENANTS)


def cases(quick: bool) -> list[Case]:
    lasts = 4 if quick else 10
    slow = Case(50, 4, 0.2 if quick else 2.0, 2 * lasts, held=500, required=0.0)
    return [Case(1, 100, 1 / 5000, lasts), Case(1, 100, 1 / 2000, lasts), slow]


@dataclass
class Result:
    """One crew, with or without the daemon."""

    case: Case
    way: str
    idle: list[float] = field(default_factory=list)  # per cent of their time, by round
    longest: float = 0.0  # seconds
    longest_target: int | None = None  # ready messages seen in it, where the daemon fills it
    rates: list[float] = field(default_factory=list)
    own: float = 0.0  # seconds that the workers' process was late by itself
    failures: list[str] = field(default_factory=list)

    @property
    def median(self) -> float | None:
        return statistics.median(self.idle) if self.idle else None

    def as_json(self) -> dict[str, Any]:
        return {
            "case": self.case.title,
            "way": self.way,
            "idle_percent": [round(one, 3) for one in self.idle],
            "longest_gap_ms": round(1000 * self.longest, 1),
            "messages_per_second": [round(one) for one in self.rates],
            "own_lateness_seconds": round(self.own, 3),
            "longest_target": self.longest_target,
        }


def run(session: Session) -> Section:
    """Every crew both ways, in turns."""
    results: list[Result] = []
    rounds = 1 if session.quick else 2
    wanted = cases(session.quick)
    task = session.progress.add_task("idleness", total=len(wanted) * rounds * 2)
    for case in wanted:
        if session.time_is_up():
            session.console.print(f"The time is up: {case.title} is left out.", highlight=False)
            continue
        turns = [Result(case, way) for way in (DIRECT, DAEMON)]
        results += turns
        for result in turns * rounds:
            session.say(f"{case.title}: {result.way}")
            session.progress.update(task, description=f"{case.title}: {result.way}")
            _measure(session, result)
            session.progress.advance(task)
    failures = [f"{one.case.title}: {one.way}: {failure}" for one in results for failure in one.failures]
    return Section("idleness", _table(results), [one.as_json() for one in results], _figures(results), failures)


def _measure(session: Session, result: Result) -> None:
    staging = [f"{_TARGET}»tenant-{number}" for number in range(_TENANTS)]
    case, queues = result.case, Queues(session.broker.url)
    job = {"workers": case.workers, "prefetch": case.prefetch, "seconds": case.task, "held": case.held}
    try:
        queues.declare((*staging, _TARGET), "classic")
        if result.way == DIRECT:
            queues.fill([_TARGET], case.each * _TENANTS, _SIZE)
        else:
            queues.fill(staging, case.each, _SIZE)
        with beside("benchmarks.consumers.paced", url=session.broker.url, queue=_TARGET, **job) as crew:
            answer, until = _watch(session, result, queues, staging, crew)
        _check(answer, case.each * _TENANTS, queues, (*staging, _TARGET))
        _note(result, answer, until)
    except (ContenderFailed, TimeoutError) as error:
        result.failures.append(str(error))
    finally:
        queues.delete((*staging, _TARGET))
        queues.close()


def _watch(session: Session, result: Result, queues: Queues, staging: list[str], crew: Beside) -> tuple[Any, float]:
    """What the workers say, and when something was staged for the last time."""
    within = result.case.lasts + _MAX_LENGTH * result.case.task / result.case.workers + _PATIENCE
    if result.way == DIRECT:
        until = _until_empty(queues, [_TARGET], within)
        return crew.stop(), until
    with daemon(session.broker, max_length=_MAX_LENGTH) as process:
        with longest_seen(session.broker.url, _TARGET) as longest:  # before the workers give back what they hold
            until = _until_empty(queues, staging, within)
        answer = crew.stop()
        process.stop()
    result.longest_target = max(result.longest_target or 0, longest.ready)
    return answer, until


def _until_empty(queues: Queues, names: list[str], within: float) -> float:
    end = time.monotonic() + within
    staged_at = time.monotonic()
    while queues.depths(names):
        staged_at = time.monotonic()
        if staged_at > end:
            raise ContenderFailed(f"{queues.depths(names)} are still there after {within:.0f} s")
        time.sleep(_EVERY)
    return staged_at


def _check(answer: Any, messages: int, queues: Queues, names: tuple[str, ...]) -> None:
    """Nothing was lost or repeated; what the workers had in hand comes back when their process has ended."""
    done = sum(worker["done"] for worker in answer["workers"])
    end = time.monotonic() + _TO_COME_BACK
    while done + (left := queues.depths(names)) != messages:
        if time.monotonic() > end:
            raise ContenderFailed(f"{done} done and {left} left of {messages}")
        time.sleep(_EVERY)


def _note(result: Result, answer: Any, until: float) -> None:
    idle = worked = 0.0
    for worker in answer["workers"]:
        if worker["first"] is None:
            raise ContenderFailed("a worker never got a message")
        gaps = [min(end, until) - begin for begin, end in worker["idle"] if begin < until]
        idle += sum(gaps)
        worked += until - worker["first"]
        result.longest = max([result.longest, *gaps])
        result.own += worker["own"]
    result.idle.append(100 * idle / worked)
    begun = min(worker["first"] for worker in answer["workers"])
    result.rates.append(sum(worker["done"] for worker in answer["workers"]) / (until - begun))


def _figures(results: list[Result]) -> list[Figure]:
    served = [one for one in results if one.way == DAEMON]
    return [
        figure
        for one in served
        for figure in (
            Figure(f"% idle while staged, {one.case.title}", one.case.required, one.median, at_most=True),
            Figure(f"longest target, {one.case.title}", _MAX_LENGTH, one.longest_target, at_most=True),
        )
    ]


def _table(results: list[Result]) -> Table:
    table = Table(title="Workers with nothing to do while something is staged")
    table.add_column("workers")
    for column in ("% of the time", "longest, ms", "messages/s", "own lateness, s", "longest target"):
        table.add_column(column, justify="right")
    for result in results:
        if result.way == DIRECT:
            table.add_section()
            table.add_row(f"[bold]{result.case.title}[/]")
        if result.median is None:
            table.add_row(result.way, "[red]failed[/]")
            continue
        rate = f"{statistics.median(result.rates):,.0f}"
        target = "" if result.longest_target is None else f"{result.longest_target:,}"
        gaps = [f"{result.median:.2f}", f"{1000 * result.longest:,.1f}"]
        table.add_row(result.way, *gaps, rate, f"{result.own:.2f}", target)
    return table


if __name__ == "__main__":
    sys.exit(main(run))
