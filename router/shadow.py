"""What staging would have done, told once a minute: a trial on live traffic that touches nothing."""

import logging
from collections.abc import Callable

__all__ = ["ShadowSummary"]

_log = logging.getLogger("raquo.router")
_EVERY = 60.0
_MOST_QUEUES = 10_000


class ShadowSummary:
    """Counts what passes in shadow mode, and logs one line a minute while something does."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._begin(clock())

    def note(self, queue: str | None) -> None:
        """One message that would have gone to this staging queue, or to none."""
        self._messages += 1
        self._staged += queue is not None
        if queue is not None and len(self._queues) < _MOST_QUEUES:
            self._queues.add(queue)
        now = self._clock()
        if now - self._since >= _EVERY:
            self._tell(now)

    def _tell(self, now: float) -> None:
        many = f"{_MOST_QUEUES} or more" if len(self._queues) == _MOST_QUEUES else len(self._queues)
        words = "shadow: in %.0f s %d messages passed; %d would have been staged, in %s staging queues"
        _log.info(words, now - self._since, self._messages, self._staged, many)
        self._begin(now)

    def _begin(self, now: float) -> None:
        self._since = now
        self._messages = 0
        self._staged = 0
        self._queues: set[str] = set()
