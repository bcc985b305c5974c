"""What the management API tells, as frozen objects.

Keys differ between releases and kinds of queue (a stream has no `messages`, a quorum queue may have a null
`exclusive`), so everything but the name is optional, and None means that the broker did not say.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class QueueInfo:
    """One queue as a listing shows it."""

    name: str
    type: str = "classic"
    messages: int | None = None
    ready: int | None = None
    unacked: int | None = None
    durable: bool = True
    auto_delete: bool = False
    exclusive: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    delivery_limit: int | None = None
    state: str | None = None

    @property
    def max_length(self) -> int | None:
        """How many messages it may hold by its own argument."""
        return _whole(self.arguments.get("x-max-length"))

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> "QueueInfo":
        """From the API's JSON, whatever is missing in it."""
        return cls(**_queue_fields(entry))


@dataclass(frozen=True)
class QueueDetails(QueueInfo):
    """One queue with what only a look at it alone tells."""

    policy: str | None = None
    policy_definition: Mapping[str, Any] = field(default_factory=dict)
    policy_known: bool = True  # of a new queue the statistics tell its policy only after some seconds
    consumers: int | None = None
    consumed_per_second: float | None = None  # by the broker's own statistics, some seconds old

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> "QueueDetails":
        """From the API's JSON, whatever is missing in it."""
        return cls(
            **_queue_fields(entry),
            policy=entry.get("policy") or None,
            policy_definition=_mapping(entry.get("effective_policy_definition")),
            policy_known="effective_policy_definition" in entry,
            consumers=_whole(entry.get("consumers")),
            consumed_per_second=_consumption(_mapping(entry.get("message_stats"))),
        )

    @property
    def max_length(self) -> int | None:
        """How many messages it may hold by its own argument or policy, whichever is less."""
        limits = (self.arguments.get("x-max-length"), self.policy_definition.get("max-length"))
        return min((limit for limit in limits if isinstance(limit, int)), default=None)


@dataclass(frozen=True)
class PolicyInfo:
    """One policy, and which names it is for."""

    name: str
    pattern: str = ""
    definition: Mapping[str, Any] = field(default_factory=dict)
    apply_to: str = "all"
    priority: int = 0
    operator: bool = False  # an operator's: it holds beside the policy of the queue's owner

    @classmethod
    def read(cls, entry: Mapping[str, Any], operator: bool = False) -> "PolicyInfo":
        """From the API's JSON, whatever is missing in it."""
        return cls(
            name=str(entry.get("name", "")),
            pattern=str(entry.get("pattern", "")),
            definition=_mapping(entry.get("definition")),
            apply_to=str(entry.get("apply-to") or "all"),
            priority=_whole(entry.get("priority")) or 0,
            operator=operator,
        )

    def may_apply_to(self, queue: str) -> bool:
        """Whether its pattern matches; one that Python cannot read matches everything, to be on the safe side.

        The broker compares bytes: `»` is two of them, and a `.` stands for one.
        """
        try:
            return re.search(self.pattern.encode(), queue.encode()) is not None
        except re.error:
            return True

    def is_for(self, queue: QueueInfo) -> bool:
        """Whether it is one for queues of this name and type."""
        kinds = {"all", "queues", "streams" if queue.type == "stream" else f"{queue.type}_queues"}
        return self.apply_to in kinds and self.may_apply_to(queue.name)


@dataclass(frozen=True)
class ConsumerInfo:
    """One consumer; a prefetch of 0 means that it takes whatever comes."""

    queue: str
    tag: str = ""
    prefetch: int = 0
    user: str | None = None

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> "ConsumerInfo":
        """From the API's JSON, whatever is missing in it."""
        return cls(
            queue=str(_mapping(entry.get("queue")).get("name", "")),
            tag=str(entry.get("consumer_tag", "")),
            prefetch=_whole(entry.get("prefetch_count")) or 0,
            user=_mapping(entry.get("channel_details")).get("user"),
        )


@dataclass(frozen=True)
class Overview:
    """Who the broker is."""

    version: str
    cluster: str = ""
    node: str = ""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> "Overview":
        """From the API's JSON, whatever is missing in it."""
        names = ("rabbitmq_version", "cluster_name", "node")
        return cls(*(str(entry.get(name, "")) for name in names))


@dataclass(frozen=True)
class VhostLimits:
    """How much of something a virtual host may have; None: as much as it likes."""

    max_queues: int | None = None
    max_connections: int | None = None

    @classmethod
    def read(cls, entries: Sequence[Mapping[str, Any]]) -> "VhostLimits":
        """From the API's JSON: one entry where there are limits, else none; a negative limit is none."""
        limits = _mapping(entries[0].get("value")) if entries else {}
        found = (_whole(limits.get(key)) for key in ("max-queues", "max-connections"))
        return cls(*(None if limit is None or limit < 0 else limit for limit in found))


def _queue_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": str(entry["name"]),
        "type": str(entry.get("type") or "classic"),
        "messages": _whole(entry.get("messages")),
        "ready": _whole(entry.get("messages_ready")),
        "unacked": _whole(entry.get("messages_unacknowledged")),
        "durable": entry.get("durable") is not False,
        "auto_delete": entry.get("auto_delete") is True,
        "exclusive": entry.get("exclusive") is True,
        "arguments": _mapping(entry.get("arguments")),
        "delivery_limit": _whole(entry.get("delivery_limit")),
        "state": entry.get("state"),
    }


def _consumption(statistics: Mapping[str, Any]) -> float | None:
    """What left the queue for good: acknowledged, or delivered to somebody who need not."""
    kinds = (_mapping(statistics.get(f"{kind}_details")) for kind in ("ack", "deliver_no_ack", "get_no_ack"))
    rates = [rate for kind in kinds if isinstance(rate := kind.get("rate"), int | float)]
    return float(sum(rates)) if rates else None


def _mapping(value: object) -> Mapping[str, Any]:
    """An empty table is `[]` in some of the API's answers."""
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
