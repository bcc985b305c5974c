"""Takes the first message of a staging queue out of the way: into `raquo.parked`, as the bytes it is.

For a message that no move gets past, or that workers cannot bear. The move is the same as any other, one message to
another target, so nothing is lost by it, and what the broker refuses for its own reasons it refuses here too.
"""

from dataclasses import dataclass

from raquo.broker.depths import Depth, DepthReader
from raquo.broker.errors import ChannelClosed, ManagementError
from raquo.broker.grant import Outcome, Reason
from raquo.broker.keeper import Keeper
from raquo.broker.management import ManagementClient
from raquo.broker.mover import Mover
from raquo.distributor.config import Config
from raquo.distributor.errors import DistributorError
from raquo.distributor.snapshot import Staging, oddity, staging_of
from raquo.mutators.names import MARK

PARKED = "raquo.parked"
_FETCH_WITHIN = 5.0
_NOT_FOUND = 404
_PRECONDITION_FAILED = 406
_TOO_LARGE = (
    "the broker takes no message of that size any more: raise max_message_size in rabbitmq.conf, at least for as long "
    "as it takes to move this one; docs/runbook.md says how to take it out without Raquo"
)


class NotSkipped(DistributorError):
    """The message is still where it was."""


@dataclass(frozen=True, slots=True)
class Head:
    """A staging queue, and how many messages wait in it."""

    staging: Staging
    depth: int


def find(config: Config, queue: str) -> Staging:
    """The staging queue of that name; raises `NotSkipped` where it is none."""
    with ManagementClient.for_broker(config.broker.urls(), config.broker.management_url) as management:
        try:
            info = management.queue(queue)
        except ManagementError as error:
            if error.status == _NOT_FOUND:
                raise NotSkipped(f"there is no queue {queue!r}") from error
            raise
    staging = staging_of(info)
    if staging is None:
        why = oddity(info) if MARK in queue else None
        raise NotSkipped(why or f"{queue!r} is no staging queue (target»tenant)")
    return staging


async def look(config: Config, staging: Staging) -> Head:
    """How many messages wait in it; raises `NotSkipped` where none does."""
    reader = DepthReader(config.broker.urls())
    try:
        reading = (await reader.read([staging.queue]))[staging.queue]
    finally:
        await reader.close()
    if not isinstance(reading, Depth):
        raise NotSkipped(f"{staging.queue!r} cannot be read: {reading.text}")
    if not reading.ready:
        raise NotSkipped(f"no message waits in {staging.queue!r}: there is nothing to skip")
    return Head(staging, reading.ready)


async def skip(config: Config, staging: Staging) -> None:
    """Move the first message; raises `NotSkipped` where it stays."""
    urls = config.broker.urls()
    async with Keeper(urls) as keeper:
        await _declare(keeper, staging.type)
    async with Mover(urls, PARKED) as mover:
        outcome = await mover.move(staging.queue, 1, deadline=_FETCH_WITHIN, by_get=staging.auto_delete)
    if not outcome.moved:
        raise NotSkipped(why_not(outcome))


def why_not(outcome: Outcome) -> str:
    """Why the message stays, and what to do."""
    if outcome.reason is Reason.UNDER_FULL:
        return f"no message came from {outcome.source!r}: it is empty, or another consumer holds what is in it"
    words = f"the first message of {outcome.source!r} stays where it is; {PARKED} does not get it either: "
    words += f"{outcome.code} {outcome.text}" if outcome.code else outcome.text or outcome.reason.value
    return f"{words} ({_TOO_LARGE})" if "larger than" in outcome.text else words


async def _declare(keeper: Keeper, queue_type: str) -> None:
    """One that is there is used as it is, whatever its type."""
    try:
        await keeper.declare(PARKED, {"x-queue-type": queue_type})
    except ChannelClosed as error:
        if error.code != _PRECONDITION_FAILED:
            raise
