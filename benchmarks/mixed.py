"""Half of the producers are routed, half publish straight into the target and keep it over-full: who gets what?

Workers do c messages a second. A direct producer sends 0.7 c, into a target that holds far more than `max_length` when
it begins and that stays above it. So there is never room, and what is staged lives on the floor: half of the measured
consumption, five seconds after the target was found full. Routed are one tenant with a flood and five small ones.

**Share**: what routed tenants got of what the workers did, from the first routed message that was finished until the
end, with something staged all the time. By the rates 0.5 / (0.5 + 0.7) = 41.7 % is to be expected, give or take a few
since the window is short: there is little margin above what is required.

**Delay**: the same again without a daemon and with everything straight into the target, in the same run. How much later
is each small tenant's last message done with Raquo? The small ones publish before the flood, which is the case that
Raquo cannot improve: without it they stand right behind what was there at first.

Afterwards everything must be accounted for, and nothing repeated.
"""

import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from benchmarks.beside import Beside, beside
from benchmarks.child import ContenderFailed
from benchmarks.daemon import daemon
from benchmarks.figure import Figure
from benchmarks.queues import Queues
from benchmarks.session import Section, Session, main

DIRECT, DAEMON = "straight into the target", "raquo run"
_TARGET = "bench"
_SMALL = [f"small-{number}" for number in range(5)]
_FLOOD = "flood"
_ROUTED = [*_SMALL, _FLOOD]
_OTHER = "direct"
_SMALL_EACH = 20
_SIZE = 256
_MAX_LENGTH = 1000  # the default
_OTHERS = 0.7
_FULL_FOR = 5.0  # before the floor begins
_PATIENCE = 60.0
_EVERY = 0.2
_TO_COME_BACK = 5.0
_SHARE_PERCENT, _LATER_SECONDS = 40.0, 6.0


@dataclass(frozen=True)
class Case:
    """The pace of the workers, and for how long they are watched once routed messages come."""

    rate: int
    watched: float

    @property
    def title(self) -> str:
        return f"workers do {self.rate} messages/s"

    @property
    def full(self) -> int:
        """In the target at first: still above `max_length` when the floor begins, by a second of work."""
        return round(_MAX_LENGTH + (_FULL_FOR * (1 - _OTHERS) + 1) * self.rate)

    @property
    def flood(self) -> int:
        """Never used up: half of the workers' time, and as much again."""
        return round(self.rate * (self.watched + 10))


@dataclass
class Result:
    """One case, one way."""

    case: Case
    way: str
    share: float | None = None  # per cent
    done_after: dict[str, float] = field(default_factory=dict)  # small tenants
    failures: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        after = {tenant: round(seconds, 2) for tenant, seconds in self.done_after.items()}
        share = self.share and round(self.share, 1)
        return {"case": self.case.title, "way": self.way, "routed_percent": share, "small_done_after_seconds": after}


def run(session: Session) -> Section:
    """Both ways, one behind the other."""
    cases = [Case(500, 8)] if session.quick else [Case(500, 15), Case(200, 15)]
    task = session.progress.add_task("mixed", total=2 * len(cases))
    results: list[Result] = []
    for case in cases:
        if session.time_is_up():
            session.console.print(f"The time is up: {case.title} is left out.", highlight=False)
            continue
        for way in (DIRECT, DAEMON):
            results.append(Result(case, way))
            session.say(f"{case.title}: {way}")
            session.progress.update(task, description=f"{case.title}: {way}")
            _measure(session, results[-1])
            session.progress.advance(task)
    failures = [f"{one.case.title}: {one.way}: {failure}" for one in results for failure in one.failures]
    return Section("mixed", _table(results), [one.as_json() for one in results], _figures(results), failures)


def _measure(session: Session, result: Result) -> None:
    names = [_TARGET, *(f"{_TARGET}»{tenant}/workflow-1" for tenant in _ROUTED)]
    queues = Queues(session.broker.url)
    try:
        queues.declare(names, "classic")
        routed = result.way == DAEMON
        with daemon(session.broker, max_length=_MAX_LENGTH) if routed else nullcontext() as process:
            if process is not None:
                process.wait_until_ready()
            begun, published, answer = _work(session.broker.url, result.case, queues, names if routed else [])
        _check(answer["ledger"], published, queues, names)
        _note(result, answer["ledger"], begun)
    except (ContenderFailed, TimeoutError) as error:
        result.failures.append(str(error))
    finally:
        queues.delete(names)
        queues.close()


def _work(url: str, case: Case, queues: Queues, staged: list[str]) -> tuple[float, dict[str, int], Any]:
    """When the workers began, what was published, and what the workers say."""
    mode = "stage" if staged else "off"
    published: dict[str, int] = {}
    _publish(url, published, [_OTHER], case.full, "off")
    _publish(url, published, _SMALL, _SMALL_EACH, mode)
    _publish(url, published, [_FLOOD], case.flood, mode)
    others = {"url": url, "target": _TARGET, "tenants": ["others"], "size": _SIZE, "mode": "off"}
    with beside("benchmarks.producers.numbered", **others, rate=_OTHERS * case.rate) as producer:
        crew = {"url": url, "queue": _TARGET, "workers": 1, "prefetch": 50, "seconds": 1 / case.rate}
        begun = time.monotonic()
        with beside("benchmarks.consumers.paced", **crew, numbered=True) as workers:
            _watch(case, queues, staged, begun)
            published |= producer.stop()["published"]
            return begun, published, workers.stop()


def _publish(url: str, published: dict[str, int], tenants: list[str], each: int, mode: str) -> None:
    job = {"url": url, "target": _TARGET, "tenants": tenants, "size": _SIZE, "mode": mode, "each": each}
    producer: Beside
    with beside("benchmarks.producers.numbered", **job) as producer:
        published |= producer.answer(_PATIENCE)["published"]


def _watch(case: Case, queues: Queues, staged: list[str], begun: float) -> None:
    """Without Raquo until the small ones must be done; else so long that routed messages were worked on for a while."""
    behind = case.full / case.rate  # seconds until the workers come to what was published after that
    lasts = behind + 3 if not staged else behind + _FULL_FOR + case.watched
    while time.monotonic() < begun + lasts:
        time.sleep(_EVERY)
        queues.depth(_TARGET)  # and the connection stays alive
    if staged and not queues.depths(staged[1:]):
        raise ContenderFailed("the flood did not last")


def _check(ledger: Any, published: dict[str, int], queues: Queues, names: list[str]) -> None:
    done = sum(one["done"] for one in ledger.values())
    repeated = sum(one["repeated"] for one in ledger.values())
    total = sum(published.values())
    end = time.monotonic() + _TO_COME_BACK
    while done + (left := queues.depths(names)) != total:
        if time.monotonic() > end:
            raise ContenderFailed(f"{done} done and {left} left of {total}")
        time.sleep(_EVERY)
    if repeated:
        raise ContenderFailed(f"{repeated} were done twice")


def _note(result: Result, ledger: Any, begun: float) -> None:
    for tenant in _SMALL:
        if ledger.get(tenant, {}).get("done") != _SMALL_EACH:
            raise ContenderFailed(f"{tenant} was not done in time")
        result.done_after[tenant] = ledger[tenant]["last"] - begun
    if result.way == DIRECT:
        return
    seconds = {tenant: {int(at): n for at, n in one["by_second"].items()} for tenant, one in ledger.items()}
    first = 1 + min(min(seconds[tenant]) for tenant in _ROUTED)  # whole seconds
    last = max(max(by_second) for by_second in seconds.values())
    counts = {
        tenant: sum(n for at, n in by_second.items() if first <= at < last) for tenant, by_second in seconds.items()
    }
    result.share = 100 * sum(counts[tenant] for tenant in _ROUTED) / sum(counts.values())


def _later(results: list[Result], one: Result) -> float | None:
    """By how many seconds the unluckiest small tenant is done later than without Raquo."""
    without = next(other for other in results if other.case == one.case and other.way == DIRECT)
    later = [seconds - without.done_after[tenant] for tenant, seconds in one.done_after.items() if without.done_after]
    return max(later, default=None)


def _figures(results: list[Result]) -> list[Figure]:
    found = []
    for one in results:
        if one.way == DAEMON:
            found += [
                Figure(f"% for routed tenants, {one.case.title}", _SHARE_PERCENT, one.share),
                Figure(f"s later, small, {one.case.title}", _LATER_SECONDS, _later(results, one), at_most=True),
            ]
    return found


def _table(results: list[Result]) -> Table:
    table = Table(title="A target that others keep over-full, at 0.7 of what its workers do")
    table.add_column("routed tenants publish")
    for column in ("% of the work is routed", "small tenants done after, s", "later, s"):
        table.add_column(column, justify="right")
    for one in results:
        if one.way == DIRECT:
            table.add_section()
            table.add_row(f"[bold]{one.case.title}[/]")
        if one.failures:
            table.add_row(one.way, "[red]failed[/]")
            continue
        after = f"{min(one.done_after.values()):.1f}–{max(one.done_after.values()):.1f}"
        later = _later(results, one) if one.way == DAEMON else None
        cells = ["" if one.share is None else f"{one.share:.1f}", after, "" if later is None else f"{later:+.1f}"]
        table.add_row(one.way, *cells)
    return table


if __name__ == "__main__":
    sys.exit(main(run))
