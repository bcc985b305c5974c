"""Why somebody waits, who waits with him, and when it will be done. Pure: told from a status."""

from collections.abc import Sequence
from typing import Any

from raquo.distributor.status import QueueState, StagingStatus, Status, TargetStatus

_WORDS = {
    QueueState.WAITING: "its turn comes with the next room in the target",
    QueueState.MOVING: "it is being moved",
    QueueState.EMPTY: "nothing of it waits",
}


def explain(status: Status, target: str, tenant: str | None) -> dict[str, Any] | None:
    """What there is to say about a tenant (or everybody) on a target; None where there is nothing of that name."""
    found = next((one for one in status.targets if one.target == target), None)
    if found is None:
        return None
    queues = [queue for queue in found.staging if tenant in (None, queue.tenant)]
    if tenant is not None and not queues:
        return None
    return {
        "target": target,
        "tenant": tenant,
        "room": found.room,
        "reason": found.reason,
        "reason_text": found.reason_text,
        "queues": [_told(queue) for queue in queues if queue.depth] or [_told(queue) for queue in queues],
        "ahead": found.depth,
        "waiting_with_it": _others(found, tenant),
        "seconds_until_done": _until_done(found, queues),
    }


def _told(queue: StagingStatus) -> dict[str, Any]:
    return {
        "queue": queue.queue,
        "depth": queue.depth,
        "state": queue.state,
        "reason": queue.reason,
        "text": queue.reason_text or _WORDS.get(queue.state, ""),
        "share_1m": queue.share_1m,
    }


def _others(target: TargetStatus, tenant: str | None) -> int:
    """How many other tenants have something waiting there."""
    return len({queue.tenant for queue in target.staging if queue.depth and queue.tenant != tenant})


def _until_done(target: TargetStatus, queues: Sequence[StagingStatus]) -> float | None:
    """At the present consumption and the present share; None where nobody can tell."""
    waiting = sum(queue.depth for queue in queues)
    if not waiting:
        return 0.0
    share = sum(queue.share_1m for queue in queues)
    if not target.consumed_per_second or not share:
        return None
    return (target.depth + waiting / share) / target.consumed_per_second
