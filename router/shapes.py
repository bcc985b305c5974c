"""What a staging queue is declared with: its target's type and priorities where they are known, and nothing else.

Expiry, TTL, length, overflow, dead-lettering and single active consumer stay the target's business: copied, they would
drop messages that are meant to wait. What is known comes from the configuration, or from the management API when a
client is given; otherwise the broker's default decides.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from raquo.mutators.errors import RaquoError

_log = logging.getLogger(__name__)

LIKE_TARGET = "like-target"
QUEUE_TYPES = (LIKE_TARGET, "classic", "quorum")
_BELIEVED_FOR = 300.0
_MOST_TARGETS = 4_096


class Details(Protocol):
    """What the management API tells of a queue."""

    @property
    def type(self) -> str: ...

    @property
    def arguments(self) -> Mapping[str, Any]: ...


class _Known(NamedTuple):
    until: float
    arguments: Mapping[str, Any]


class StagingShapes:
    """The arguments of a target's staging queues, looked up once in a while."""

    def __init__(
        self,
        queue_type: str = LIKE_TARGET,
        arguments: Mapping[str, Any] | None = None,
        look_up: Callable[[str], Details] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue_type = queue_type
        self._extra = dict(arguments or {})
        self._look_up = look_up
        self._clock = clock
        self._known: dict[str, _Known] = {}

    def arguments(self, target: str) -> Mapping[str, Any]:
        """For a staging queue of this target; RabbitMQ's own names."""
        known = self._known.get(target)
        if known is None or self._clock() >= known.until:
            if len(self._known) >= _MOST_TARGETS:
                self._known.clear()
            known = _Known(self._clock() + _BELIEVED_FOR, self._find_out(target))
            self._known[target] = known
        return known.arguments

    def _find_out(self, target: str) -> Mapping[str, Any]:
        details = self._details(target)
        found: dict[str, Any] = {}
        if self._queue_type != LIKE_TARGET:
            found["x-queue-type"] = self._queue_type
        elif details is not None and details.type in QUEUE_TYPES:
            found["x-queue-type"] = details.type
        found.update(self._extra)
        priorities = details.arguments.get("x-max-priority") if details is not None else None
        if priorities is not None and found.get("x-queue-type") == "classic":  # quorum queues refuse it
            found.setdefault("x-max-priority", priorities)
        return found

    def _details(self, target: str) -> Details | None:
        if self._look_up is None:
            return None
        try:
            return self._look_up(target)
        except RaquoError as error:
            _log.warning("staging queues of %r get the broker's default type, because: %s", target, error)
            return None
