"""Empties staging queues into their targets: a replica in bypass, for as long as it takes.

Not beside a running distributor: two of them on one staging queue mix up its order, and what one holds the other takes
for gone. That one can do the same by itself (`raquo bypass on`).

Weights are not heeded, since everything goes. Empty means that nothing is ready and nothing unacked: what another
client holds comes back to staging when that client goes away. Only the listing tells what is unacked, and of a quorum
queue it is some seconds old: with those, empty has to last that long.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from raquo.broker.errors import BrokerError
from raquo.distributor.config import Config
from raquo.distributor.presence import refuse_beside_another
from raquo.distributor.pruning import listed
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches
from raquo.distributor.served import Serves, served, staging_in
from raquo.distributor.snapshot import staging_of
from raquo.distributor.status import StagingStatus
from raquo.distributor.telemetry import Telemetry
from raquo.distributor.transport import MakeTransport

_LOOK_EVERY = 0.2
_STUCK_AFTER = 15.0
_LISTING_LAGS = 6.0  # of a quorum queue
_INSTEAD = "let it empty staging itself with `raquo bypass on`, or stop it first (two would mix up the order)"


@dataclass(frozen=True, slots=True)
class Drained:
    """How many were moved, and what could not be."""

    moved: int
    left: tuple[StagingStatus, ...] = ()


async def drain(
    config: Config, transport: MakeTransport, only: tuple[str, ...], progress: Callable[[int, int], None]
) -> Drained:
    """Move everything that is staged for these targets (none: for all); `progress` gets moved and left.

    Raises `StillRunning` where a distributor runs.
    """
    await asyncio.to_thread(refuse_beside_another, config, _INSTEAD)
    replica = Replica(_without_rules(config), transport, Telemetry(), Switches(bypass=True), only)
    try:
        await replica.look()  # says at once if the broker does not answer
        replica.begin_serving()
        replica.start()
        return await _until_empty(replica, _Unacked(config, served(config, only)), progress)
    finally:
        await replica.stop(config.distributor.drain_timeout)


def _without_rules(config: Config) -> Config:
    """Nobody is held back, and no queue is deleted meanwhile."""
    staging = config.staging.model_copy(update={"idle_ttl": None})
    return config.model_copy(update={"weight": (), "staging": staging})


async def _until_empty(replica: Replica, unacked: "_Unacked", progress: Callable[[int, int], None]) -> Drained:
    loop = asyncio.get_running_loop()
    mark, since = -1, loop.time()
    while True:
        targets = replica.status().targets
        waiting = tuple(queue for target in targets for queue in target.staging if queue.depth)
        moved, left = sum(target.moved for target in targets), sum(queue.depth for queue in waiting)
        progress(moved, left)
        if moved != mark:
            mark, since = moved, loop.time()
        quiet = loop.time() - since
        if not left and quiet >= _settled_after(replica) and await _still_empty(replica) and not await unacked.look():
            return Drained(moved)
        if quiet > _STUCK_AFTER:
            return Drained(moved, waiting or await unacked.look())
        await asyncio.sleep(_LOOK_EVERY)


def _settled_after(replica: Replica) -> float:
    quorum = any(own.type == "quorum" for own in replica.discovery.snapshot.staging.values())
    return _LISTING_LAGS if quorum else 0.0


async def _still_empty(replica: Replica) -> bool:
    """A second look, at every queue: a quorum queue may have been reported empty too soon."""
    try:
        return await replica.nothing_staged()
    except BrokerError:
        return False


class _Unacked:
    """Staging queues of which somebody else holds messages."""

    def __init__(self, config: Config, serves: Serves) -> None:
        self._config = config
        self._serves = serves

    async def look(self) -> tuple[StagingStatus, ...]:
        """Those that have any, by the listing."""
        listing = staging_in(await asyncio.to_thread(listed, self._config), self._serves)
        found = ((staging_of(info), info.unacked or 0) for info in listing)
        text = "another client holds messages of it unacked: close that one"
        return tuple(
            StagingStatus(own.queue, own.tenant, count, 1, reason="unacked", reason_text=text)
            for own, count in found
            if own is not None and count
        )
