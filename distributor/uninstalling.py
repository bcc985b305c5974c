"""Takes everything of ours out of the broker: empty staging queues, the bell's exchange, our own queues. Nothing else.

Nothing is deleted while anything waits, here or in `raquo.parked`, or while somebody moves or consumes. A classic queue
goes on the broker's own condition that it is empty. For a quorum queue RabbitMQ knows no such condition: it goes when
it was empty in two readings (one that says 0 may mean that its leader was busy). What somebody holds of it unacked only
the listing tells, some seconds late: that look is not taken before they have passed. In either case a message that is
published in the moment of the delete is gone, so routers must be off, which nobody but the user knows.

Everything is looked at twice: to say what would go, and again right before it goes.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from raquo.broker.bell import EXCHANGE
from raquo.broker.depths import Depth, DepthReader, Reading
from raquo.broker.keeper import Keeper
from raquo.broker.management import QueueInfo
from raquo.distributor.config import Config
from raquo.distributor.errors import DistributorError
from raquo.distributor.presence import refuse_beside_another
from raquo.distributor.pruning import Pruned, delete_empty, listed
from raquo.distributor.served import served, staging_in
from raquo.distributor.skipping import PARKED

_OURS = "raquo."
_SECOND_LOOK = 0.3
_LISTING_LAGS = 6.0  # seconds: of a quorum queue
_LOOK_EVERY = 0.5


class NotUninstalled(DistributorError):
    """Something is still in use."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is ours in the broker: staging queues by type, our own queues by type, and the exchange."""

    queues: Mapping[str, str]
    exchange: str = EXCHANGE

    def of(self, *types: str) -> list[str]:
        """The queues of these types."""
        return sorted(queue for queue, own in self.queues.items() if own in types)


async def take_stock(config: Config, patience: float = 0.0) -> Inventory:
    """What would go; raises `NotUninstalled` or `StillRunning` where it may not.

    `patience` is how long to wait for a listing that is true of quorum queues too.
    """
    await asyncio.to_thread(refuse_beside_another, config, "stop it first")
    found = await _listed(config)
    if any(info.type == "quorum" for info in found):
        await asyncio.sleep(patience)
    await _refuse_while_unacked(config)
    await _refuse_unless_empty(config, [info.name for info in found if info.type != "stream"])
    return Inventory({info.name: info.type for info in found})


async def uninstall(config: Config) -> Inventory:
    """Delete it, after another look; what was deleted."""
    inventory = await take_stock(config, _LISTING_LAGS)
    urls, pruned = config.broker.urls(), Pruned()
    await delete_empty(urls, inventory.of("classic"), pruned)
    if pruned.kept:
        raise NotUninstalled(f"{pruned.kept[0]!r} is in use again: is the router off? {_so_far(pruned)}")
    async with Keeper(urls) as keeper:
        for queue in inventory.of("quorum", "stream"):
            if lost := await keeper.delete(queue):
                raise NotUninstalled(f"{queue!r} got {lost} messages in the moment it was deleted: is the router off?")
        await keeper.delete_exchange(inventory.exchange)
    return inventory


def ours_in(listing: Iterable[QueueInfo], config: Config) -> list[QueueInfo]:
    """The staging queues of served targets, and what is called as only our own queues are."""
    queues = list(listing)
    own = [info for info in queues if info.name.startswith(_OURS) and not info.exclusive]
    staging = staging_in(queues, served(config))
    return list({info.name: info for info in own + staging}.values())


async def _listed(config: Config) -> list[QueueInfo]:
    return ours_in(await asyncio.to_thread(listed, config), config)


async def _refuse_unless_empty(config: Config, queues: list[str]) -> None:
    """Two fresh readings."""
    reader = DepthReader(config.broker.urls())
    try:
        for pause in (0.0, _SECOND_LOOK):
            await asyncio.sleep(pause)
            readings = await reader.read(queues)
            if why := complaint(readings):
                raise NotUninstalled(why)
    finally:
        await reader.close()


def complaint(readings: Mapping[str, Reading]) -> str | None:
    """Why these queues may not go; None: they may."""
    depths = {queue: reading for queue, reading in readings.items() if isinstance(reading, Depth)}
    waiting = {queue: depth.ready for queue, depth in depths.items() if depth.ready}
    if parked := waiting.pop(PARKED, 0):
        return f"{PARKED} holds {parked} messages that `raquo skip` put there: take them out or purge it first"
    if waiting:
        total, example = sum(waiting.values()), min(waiting)
        own = example.startswith(_OURS)
        return f"{total} messages wait in {len(waiting)} queues, e.g. {example!r}: " + (
            "take them out first" if own else "`raquo drain --all` first"
        )
    consumed = [queue for queue, depth in depths.items() if depth.consumers]
    return f"{min(consumed)!r} is consumed: stop its consumer first" if consumed else None


async def _refuse_while_unacked(config: Config) -> None:
    """What somebody holds comes back when he goes away; the listing of a quorum queue is some seconds late."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _LISTING_LAGS
    while held := [info for info in await _listed(config) if info.type != "stream" and info.unacked]:
        if loop.time() > end:
            one = held[0]
            raise NotUninstalled(f"somebody holds {one.unacked} messages of {one.name!r} unacked: close that client")
        await asyncio.sleep(_LOOK_EVERY)


def _so_far(pruned: Pruned) -> str:
    return f"{len(pruned.deleted)} empty queues were deleted before it, and nothing else"
