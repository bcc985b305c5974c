"""Counting over the last minute, in a few numbers."""

from collections import deque

_MINUTE = 60.0
_GRAIN = 1.0


class RecentCount:
    """How many there were in the last minute, to a second."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: deque[tuple[float, int]] = deque()

    def add(self, count: int, now: float) -> None:
        """So many more, now."""
        if self._counts and now - self._counts[-1][0] < _GRAIN:
            since, before = self._counts.pop()
            self._counts.append((since, before + count))
        else:
            self._counts.append((now, count))
            self._forget(now)

    def total(self, now: float) -> int:
        """How many in the last minute."""
        self._forget(now)
        return sum(count for _, count in self._counts)

    def _forget(self, now: float) -> None:
        while self._counts and now - self._counts[0][0] > _MINUTE:
            self._counts.popleft()
