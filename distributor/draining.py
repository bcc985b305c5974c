"""Empties staging queues into their targets: a replica in bypass, for as long as it takes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from raquo.broker.errors import BrokerError
from raquo.distributor.config import Config
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches
from raquo.distributor.status import StagingStatus
from raquo.distributor.telemetry import Telemetry
from raquo.distributor.transport import MakeTransport

_LOOK_EVERY = 0.2
_STUCK_AFTER = 15.0


@dataclass(frozen=True, slots=True)
class Drained:
    """How many were moved, and what could not be."""

    moved: int
    left: tuple[StagingStatus, ...] = ()


async def drain(
    config: Config, transport: MakeTransport, only: tuple[str, ...], progress: Callable[[int, int], None]
) -> Drained:
    """Move everything that is staged for these targets (none: for all); `progress` gets moved and left."""
    replica = Replica(config, transport, Telemetry(), Switches(bypass=True), only)
    await replica.look()  # says at once if the broker does not answer
    replica.begin_serving()
    replica.start()
    try:
        return await _until_empty(replica, progress)
    finally:
        await replica.stop(config.distributor.drain_timeout)


async def _until_empty(replica: Replica, progress: Callable[[int, int], None]) -> Drained:
    loop = asyncio.get_running_loop()
    mark, since = -1, loop.time()
    while True:
        targets = replica.status().targets
        waiting = tuple(queue for target in targets for queue in target.staging if queue.depth)
        moved, left = sum(target.moved for target in targets), sum(queue.depth for queue in waiting)
        progress(moved, left)
        if not left and await _still_empty(replica):
            return Drained(moved)
        if moved != mark:
            mark, since = moved, loop.time()
        elif loop.time() - since > _STUCK_AFTER:
            return Drained(moved, waiting)
        await asyncio.sleep(_LOOK_EVERY)


async def _still_empty(replica: Replica) -> bool:
    """A second look, at every queue: a quorum queue may have been reported empty too soon."""
    try:
        return await replica.nothing_staged()
    except BrokerError:
        return False
