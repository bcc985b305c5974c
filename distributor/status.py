"""What there is to see: targets and staging queues at one moment, as values and as the JSON that users rely on."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class QueueState(StrEnum):
    """How a staging queue is."""

    WAITING = "waiting"
    MOVING = "moving"
    HELD = "held"
    PAUSED = "paused"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class StagingStatus:
    """A staging queue; `depth` is ready messages, `weight` as in the configuration."""

    queue: str
    tenant: str
    depth: int
    weight: float
    moved: int = 0
    moved_1m: int = 0
    share_1m: float = 0.0
    oldest_age_seconds: float | None = None
    state: QueueState = QueueState.EMPTY
    reason: str | None = None
    reason_text: str | None = None

    def as_json(self) -> dict[str, Any]:
        """A row; there may be thousands, which `asdict` would copy one by one."""
        return {name: getattr(self, name) for name in _STAGING_FIELDS}


_STAGING_FIELDS = tuple(field.name for field in fields(StagingStatus))


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """A target with its staging queues; what is not known is None."""

    target: str
    depth: int
    unacked: int | None
    consumers: int
    room: int
    max_length: int
    policy: str
    transport: str
    owner: str | None
    reason: str | None = None
    reason_text: str | None = None
    consumed_per_second: float | None = None
    moved: int = 0
    in_flight_limit: int = 0  # how many messages may be repeated if the distributor is killed
    unlimited_prefetch: bool = False
    warnings: tuple[str, ...] = ()  # for people
    staging: tuple[StagingStatus, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """With what follows from it."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        told |= {"staging": [queue.as_json() for queue in self.staging], "warnings": list(self.warnings)}
        return told | {"eligible": self.eligible, "drain_seconds": self.drain_seconds}

    def waiting(self, *states: QueueState) -> int:
        """How many messages wait in staging queues of these states."""
        return sum(queue.depth for queue in self.staging if queue.state in states)

    @property
    def eligible(self) -> int:
        """What workers could do if there were more of them: ready in the target, and staged and not held."""
        return self.depth + self.waiting(QueueState.WAITING, QueueState.MOVING)

    @property
    def drain_seconds(self) -> float | None:
        """How long that takes at the present consumption; None while nothing is consumed and something waits."""
        if not self.eligible:
            return 0.0
        return self.eligible / self.consumed_per_second if self.consumed_per_second else None


@dataclass(frozen=True, slots=True)
class Status:
    """The whole picture; `source` says who looked: the daemon, or a command by itself."""

    source: str
    vhost: str
    targets: tuple[TargetStatus, ...] = ()
    bypass: bool = False
    dry_run: bool = False
    problems: tuple[str, ...] = ()  # why it is not ready; nothing: it is
    broker: str = ""  # hosts and virtual host

    def as_json(self) -> dict[str, Any]:
        """What `raquo status -o json` and `/api/v1/status` print."""
        return {
            "source": self.source,
            "broker": self.broker,
            "vhost": self.vhost,
            "bypass": self.bypass,
            "dry_run": self.dry_run,
            "problems": list(self.problems),
            "targets": [target.as_json() for target in self.targets],
        }


@dataclass(frozen=True, slots=True)
class PlannedTarget:
    """What the next round would move into one target."""

    target: str
    depth: int
    room: int
    max_length: int
    policy: str
    grants: tuple[tuple[str, int], ...] = ()
    reason: str | None = None


def plan_as_json(targets: Iterable[PlannedTarget]) -> dict[str, Any]:
    """What `raquo plan -o json` and `/api/v1/plan` print."""
    return {
        "targets": [
            {
                "target": plan.target,
                "depth": plan.depth,
                "room": plan.room,
                "max_length": plan.max_length,
                "policy": plan.policy,
                "reason": plan.reason,
                "grants": [{"queue": queue, "count": count} for queue, count in plan.grants],
            }
            for plan in targets
        ]
    }
