"""Deletes staging queues that are empty, and only those.

RabbitMQ deletes a classic queue on the condition that it is empty and not consumed, but looks at ready messages only:
what somebody holds unacked would be gone. So a listing just before has to say that nothing is. It has no such condition
for quorum queues, and closes the whole connection of whoever asks: they are left alone.

A publisher whose queue is gone gets its message back and declares the queue again. One moment remains: a message that
arrives while its queue is being deleted is confirmed and gone with it (tried on 3.10 and 4.3). That moment is a few
milliseconds long and nothing can close it, so only queues that nobody has published to for a while are deleted.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from raquo.broker.errors import ChannelClosed
from raquo.broker.keeper import Keeper
from raquo.broker.management import ManagementClient, QueueInfo
from raquo.broker.observer import Observer
from raquo.broker.url import BrokerUrl
from raquo.distributor.config import Config
from raquo.distributor.served import Serves, served, staging_in

AT_ONCE = 100  # deletes between two listings
_PRECONDITION_FAILED = 406


@dataclass(frozen=True, slots=True)
class Choice:
    """Which staging queues may go, and how many stay, by why."""

    prunable: tuple[str, ...] = ()
    quorum: int = 0  # empty, but the broker cannot delete them on a condition
    used: int = 0  # with messages, ready or unacked, or published to lately


@dataclass(slots=True)
class Pruned:
    """What was deleted, and what was in use again when its turn came."""

    deleted: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def choose(listing: Iterable[QueueInfo], serves: Serves, lately: Collection[str] = ()) -> Choice:
    """What may be deleted; `lately` are queues that were published to not long ago."""
    prunable: list[str] = []
    quorum = used = 0
    for info in staging_in(listing, serves):
        if info.ready != 0 or info.unacked != 0 or info.name in lately:  # a number that is not told is not 0
            used += 1
        elif info.type == "classic":
            prunable.append(info.name)
        else:
            quorum += 1
    return Choice(tuple(sorted(prunable)), quorum, used)


def look(config: Config, only: Sequence[str], idle: float) -> Choice:
    """What may be deleted now: empty, and not published to for `idle` seconds."""
    return choose(listed(config), served(config, only), _published_to(config, idle))


async def prune(config: Config, only: Sequence[str], idle: float) -> Pruned:
    """Delete what may be deleted, each part of it after a fresh look."""
    serves = served(config, only)
    lately = await asyncio.to_thread(_published_to, config, idle)
    pruned = Pruned()
    while True:
        listing = await asyncio.to_thread(listed, config)
        tried = {*pruned.deleted, *pruned.kept}
        part = [queue for queue in choose(listing, serves, lately).prunable if queue not in tried][:AT_ONCE]
        if not part:
            return pruned
        await delete_empty(config.broker.urls(), part, pruned)


async def delete_empty(urls: Sequence[BrokerUrl], queues: Iterable[str], pruned: Pruned) -> None:
    """Delete these classic queues, on a connection of its own; one that is in use or has a message stays."""
    async with Keeper(urls, "raquo prune") as keeper:
        for queue in queues:
            try:
                await keeper.delete_if_empty(queue)
            except ChannelClosed as error:
                if error.code != _PRECONDITION_FAILED:
                    raise
                pruned.kept.append(queue)
            else:
                pruned.deleted.append(queue)


def listed(config: Config) -> list[QueueInfo]:
    """Every queue of the virtual host, as the broker lists them now."""
    with ManagementClient.for_broker(config.broker.urls(), config.broker.management_url) as management:
        return list(management.queues())


def _published_to(config: Config, idle: float) -> set[str]:
    if not idle:
        return set()
    with Observer(config.broker.urls(), config.broker.management_url) as observer:
        return observer.published_to(idle)
