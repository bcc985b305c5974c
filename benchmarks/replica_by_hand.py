"""One replica in a process of its own, its steps taken by hand and timed: listings, rounds, plans.

A running daemon does everything at once, and its processor time cannot be told apart. Here each step is alone, and is
the code that the daemon runs: `Discovery.look` with what follows on a snapshot, `Target.round`, `Target.plan`. For the
second part of the first a member is used that is not public. Every round finds an empty target, so it moves as many
messages as fit; the target is emptied between rounds, outside the clock.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.queues import Queues
from raquo.distributor.config import Config
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches, Target
from raquo.distributor.telemetry import Telemetry
from raquo.distributor.transports import client_transports

_TO_STOP = 5.0
_TO_EMPTY = 5.0


@dataclass
class Costs:
    """Seconds of one kind of step, by the clock and of this process's processor time."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def one(self) -> Iterator[None]:
        begun, cpu = time.perf_counter(), time.process_time()
        yield
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - begun)


async def run(
    ready: Callable[[], None],
    _stop: asyncio.Event,
    url: str,
    management_url: str,
    target: str,
    staging: int,
    listings: int,
    rounds: int,
) -> dict[str, Any]:
    """What each step costs, when there are `staging` queues."""
    config = Config.model_validate({"broker": {"url": url, "management_url": management_url}})
    replica = Replica(config, client_transports(config), Telemetry(), Switches())
    ready()
    try:
        listing = await _list(replica, staging, listings)
        served = replica.targets[target]
        return {
            "listing": asdict(listing),
            "plan": asdict(_plan(served, rounds)),
            "round": asdict(await _rounds(served, rounds, url)),
            "memory": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"),
        }
    finally:
        await replica.stop(_TO_STOP)


async def _list(replica: Replica, staging: int, listings: int) -> Costs:
    """The first has every name to parse; those behind it find all queues known."""
    costs = Costs()
    with costs.one():
        await replica.discovery.look()
    await replica.look()
    for _ in range(listings):
        with costs.one():
            await replica.discovery.look()
            replica._on_snapshot(replica.discovery.snapshot)
    found = len(replica.discovery.snapshot.staging)
    if found != staging:
        raise RuntimeError(f"{found} of {staging} staging queues were found")
    return costs


def _plan(target: Target, times: int) -> Costs:
    costs = Costs()
    for _ in range(times):
        with costs.one():
            target.plan()
    return costs


async def _rounds(target: Target, rounds: int, url: str) -> Costs:
    costs = Costs()
    queues = Queues(url)
    for number in range(rounds + 1):
        moved = target.moved
        with (Costs() if number == 0 else costs).one():  # the first one connects
            await target.round()
        if target.moved - moved != target.facts.bounds.max_length:
            raise RuntimeError(f"a round moved {target.moved - moved}")
        await _emptied(target, queues)
    queues.close()
    return costs


async def _emptied(target: Target, queues: Queues) -> None:
    """What was confirmed is in the target; an empty one is what the next round is to find."""
    end = time.monotonic() + _TO_EMPTY
    while queues.take_all([target.name]) or queues.depth(target.name):
        if time.monotonic() > end:
            raise RuntimeError("the target did not get empty")
        await asyncio.sleep(0)


def median_ms(seconds: list[float]) -> float:
    """In milliseconds."""
    return 1000 * statistics.median(seconds)
