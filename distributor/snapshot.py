"""What discovery saw: which staging queues there are, of which targets. Pure.

A listing is turned into a snapshot with the one before at hand: names are parsed once, and a queue that is missing in a
single listing is kept, because a paged listing may let a queue fall between two pages.

Not every queue with a `»` in its name can be moved from. What is left out is told in words, once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from raquo.broker.management_answers import QueueInfo
from raquo.mutators.names import MARK, StagingName

_MISSED_AT_MOST = 1
_NO_DELIVERY_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Staging:
    """A staging queue: its name as the broker lists it, and what that name means."""

    queue: str
    name: StagingName
    type: str = "classic"
    auto_delete: bool = False
    depth: int | None = None  # as the listing says; up to five seconds old for a quorum queue
    missed: int = 0

    @property
    def tenant(self) -> str:
        """Who it belongs to, as people read it."""
        return self.name.reserved or self.name.tenant or "@none"

    @property
    def tenant_key(self) -> str:
        """One text for all queues of that tenant."""
        return self.name.reserved or self.name.tenant_key or "@none"

    @property
    def urgent(self) -> bool:
        """Whether it goes before its tenant's other queues."""
        return self.name.service_class == "sync"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The staging queues by name, the targets that exist by name, and what is odd, in words."""

    staging: Mapping[str, Staging] = field(default_factory=dict)
    targets: Mapping[str, QueueInfo] = field(default_factory=dict)
    oddities: tuple[str, ...] = ()

    def by_target(self) -> dict[str, dict[str, Staging]]:
        """The staging queues of each target, also of targets that are missing."""
        found: dict[str, dict[str, Staging]] = {}
        for queue, staging in self.staging.items():
            found.setdefault(staging.name.target, {})[queue] = staging
        return found


def snapshot_of(listing: Iterable[QueueInfo], serves: Callable[[str], bool], before: Snapshot) -> Snapshot:
    """What this listing shows of the targets that are served."""
    plain: dict[str, QueueInfo] = {}
    staging: dict[str, Staging] = {}
    oddities: list[str] = []
    limited: list[str] = []
    for info in listing:
        if MARK not in info.name:
            plain[info.name] = info
        elif found := staging_of(info, before.staging.get(info.name)):
            if serves(found.name.target):
                staging[info.name] = found
                limited += [info.name] if limited_returns(info) else []
        else:
            oddities.append(oddity(info) or "")
    for queue, known in before.staging.items():
        if queue not in staging and known.missed < _MISSED_AT_MOST and serves(known.name.target):
            staging[queue] = Staging(known.queue, known.name, known.type, known.auto_delete, 0, known.missed + 1)
    if limited:  # one example: there may be thousands
        oddities.append(_limit_warning(min(limited)))
    wanted = {found.name.target for found in staging.values()}
    targets = {name: info for name, info in plain.items() if name in wanted}
    return Snapshot(staging, targets, tuple(oddities))


def staging_of(info: QueueInfo, known: Staging | None = None) -> Staging | None:
    """The staging queue that a queue is, if it is one that can be moved from."""
    if info.exclusive or info.type == "stream":
        return None
    name = known.name if known else StagingName.parse(info.name)
    if name is None:
        return None
    return Staging(info.name, name, info.type, info.auto_delete, info.ready)


def oddity(info: QueueInfo) -> str | None:
    """Why a queue with the mark in its name is left alone; None: it is not."""
    if info.exclusive:
        return f"{info.name!r} belongs to one connection alone (exclusive): left alone"
    if info.type == "stream":
        return f"{info.name!r} is a stream, which cannot be moved from: left alone"
    if StagingName.parse(info.name) is None:
        return f"{info.name!r} has a {MARK} in its name but is no staging queue (target{MARK}tenant): left alone"
    return None


def _limit_warning(queue: str) -> str:
    return (
        f"quorum staging queues have a delivery limit, e.g. {queue!r}: after so many crashes of a distributor the"
        " broker drops what was on its way; declare them with x-delivery-limit = -1 (RabbitMQ 4) or without one (3.x)"
    )


def limited_returns(info: QueueInfo) -> bool:
    """Whether the broker drops a message of this staging queue that was given back too often."""
    told = info.delivery_limit  # what is in force, by argument or policy; 3.x does not tell
    limit = info.arguments.get("x-delivery-limit") if told is None else told
    return info.type == "quorum" and isinstance(limit, int) and limit != _NO_DELIVERY_LIMIT
