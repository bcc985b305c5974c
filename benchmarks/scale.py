"""What idle staging queues cost the distributor: a listing, a plan and a round with 100, 1,000 and 10,000 of them.

Twenty queues are busy, always the same. A listing has to grow with the number of queues, and must stay affordable: it
comes every few seconds. A round and a plan must not grow, because they look at busy queues only. The steps are taken by
hand in a process of its own (`replica_by_hand.py`), so the processor time is the replica's alone, the thread that reads
the management API included. The broker's part shows in the durations.

Planning for 10,000 queues that all have something is arithmetic, and measured without a broker.
"""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from benchmarks.beside import beside
from benchmarks.child import ContenderFailed
from benchmarks.figure import Figure, ratio
from benchmarks.queues import Queues
from benchmarks.replica_by_hand import median_ms
from benchmarks.session import Section, Session, main
from raquo.distributor.policies import POLICIES
from raquo.distributor.policy import Demand, Policy, State

_TARGET = "bench"
_BUSY = 20
_SIZE = 1024
_LISTINGS, _ROUNDS = 5, 15
_EACH = 1000 // _BUSY * (_ROUNDS + 1) + 50  # messages of a busy queue: every round fills a target of the default length
_WITHIN = 120.0
_DEMANDS, _ROOM, _PLANS = 10_000, 1000, 11
_LISTING_SECONDS, _ROUND_RATIO, _PLAN_MS = 0.5, 1.5, 50.0


@dataclass(frozen=True)
class Result:
    """What the replica said about so many queues."""

    queues: int
    costs: dict[str, Any]

    def ms(self, step: str, kind: str) -> float:
        return median_ms(self.costs[step][kind])

    @property
    def dearest_listing(self) -> float:
        """Seconds of processor time."""
        return float(max(self.costs["listing"]["cpu"]))

    def as_json(self) -> dict[str, Any]:
        steps = ("listing", "round", "plan")
        found = {f"{step}_{kind}_ms": round(self.ms(step, kind), 2) for step in steps for kind in ("cpu", "wall")}
        first = round(1000 * self.costs["listing"]["cpu"][0], 2)
        return {"queues": self.queues, "first_listing_cpu_ms": first, **found, "memory_bytes": self.costs["memory"]}


def run(session: Session) -> Section:
    """Ever more queues."""
    sizes = (100, 1000) if session.quick else (100, 1000, 10_000)
    session.say("planning for 10,000 waiting queues")
    plans = {name: _planning(policy) for name, policy in POLICIES.items()}
    results: list[Result] = []
    failures: list[str] = []
    names = [_name(number) for number in range(max(sizes))]
    task = session.progress.add_task("declaring", total=2 * len(names))
    there = 0
    try:
        for size in sizes:
            if session.time_is_up():
                session.console.print(f"The time is up: {size:,} queues are left out.", highlight=False)
                break
            session.say(f"{size:,} staging queues")
            _declare(session, names[there:size], lambda count: session.progress.advance(task, count))
            there = size
            results.append(Result(size, _measure(session, size)))
    except (ContenderFailed, TimeoutError) as error:
        failures.append(f"{there:,} queues: {error}")
    finally:
        session.progress.update(task, description="deleting")
        _delete(session, names[:there], lambda count: session.progress.advance(task, count))
    saved = {"by_queues": [one.as_json() for one in results], "share_10000_cpu_ms": plans}
    return Section("scale", _table(results, plans), saved, _figures(results, plans), failures)


def _name(number: int) -> str:
    return f"{_TARGET}»tenant-{number}/workflow-1"


def _declare(session: Session, names: list[str], advance: Any) -> None:
    queues = Queues(session.broker.url)
    queues.declare([_TARGET], "classic")
    queues.declare_many(names, "classic", advance)
    queues.close()


def _delete(session: Session, names: list[str], advance: Any) -> None:
    queues = Queues(session.broker.url)
    queues.delete_many(names, advance)
    queues.delete([_TARGET])
    queues.close()


def _measure(session: Session, size: int) -> Any:
    busy = [_name(number) for number in range(_BUSY)]
    queues = Queues(session.broker.url)
    queues.take_all(busy)
    queues.fill(busy, _EACH, _SIZE)
    queues.close()
    broker = {"url": session.broker.url, "management_url": session.broker.management_url}
    steps = {"target": _TARGET, "staging": size, "listings": _LISTINGS, "rounds": _ROUNDS}
    with beside("benchmarks.replica_by_hand", **broker, **steps) as replica:
        return replica.answer(_WITHIN)


def _planning(policy: Policy) -> float:
    """Milliseconds of processor time to share room for 1,000 between 10,000 who wait; the median of rounds."""
    demands = [Demand(_name(number), f"tenant-{number}", 1 + number % 50) for number in range(_DEMANDS)]
    state, seconds = State(), []
    for _ in range(_PLANS):
        begun = time.process_time()
        grants, state = policy.share(demands, _ROOM, state)
        seconds.append(time.process_time() - begun)
        assert sum(grants.values()) == _ROOM
    return round(1000 * statistics.median(seconds), 2)


def _figures(results: list[Result], plans: dict[str, float]) -> list[Figure]:
    planning = Figure("share for 10,000 queues, ms of CPU", _PLAN_MS, max(plans.values()), at_most=True)
    if not results:
        return [planning]
    few, many = results[0], results[-1]
    times = ratio(many.ms("round", "cpu"), few.ms("round", "cpu")) if many is not few else None
    beside_few = f"CPU of a round beside {many.queues:,} queues against {few.queues}"
    return [
        Figure(f"s of CPU, listing {many.queues:,} queues", _LISTING_SECONDS, many.dearest_listing, at_most=True),
        Figure(beside_few, _ROUND_RATIO, times, at_most=True),
        planning,
    ]


def _table(results: list[Result], plans: dict[str, float]) -> Table:
    caption = "Sharing 1,000 between 10,000 queues: " + ", ".join(f"{name} {ms} ms" for name, ms in plans.items())
    table = Table(title=f"Staging queues, {_BUSY} of them busy: CPU and duration, ms (medians)", caption=caption)
    for column in ("queues", "first listing, CPU", "listing, CPU", "listing", "round, CPU", "round", "plan", "MiB"):
        table.add_column(column, justify="right")
    for one in results:
        cells = [one.ms(step, kind) for step, kind in _COLUMNS]
        first = 1000 * one.costs["listing"]["cpu"][0]
        memory = f"{one.costs['memory'] / 2**20:.0f}"
        table.add_row(f"{one.queues:,}", f"{first:.1f}", *(f"{cell:.1f}" for cell in cells), memory)
    return table


_COLUMNS = (("listing", "cpu"), ("listing", "wall"), ("round", "cpu"), ("round", "wall"), ("plan", "cpu"))

if __name__ == "__main__":
    sys.exit(main(run))
