"""Who takes part in the demo, how fast, and how much each may have waiting. Pure.

The flood publishes faster than the workers work until it has `most_waiting` messages waiting, and from then on as fast
as they are done: the demo can run for hours. The small tenants together ask for less than the workers can do.
"""

from dataclasses import dataclass

_CATCH_UP = 1.0  # seconds; whoever slept longer (a stopped process) does not make up for all of it at once


@dataclass(frozen=True)
class Tenant:
    """A customer of the demo."""

    name: str
    per_second: float


@dataclass(frozen=True)
class Scenario:
    """The whole demo; each message costs a worker the same time."""

    target: str = "demo-input"
    tenants: tuple[Tenant, ...] = (
        Tenant("flood", 1000),
        Tenant("small-1", 20),
        Tenant("small-2", 10),
        Tenant("small-3", 5),
    )
    most_waiting: int = 20_000
    workers: int = 5
    prefetch: int = 2
    work_seconds: float = 0.025

    @property
    def worked_per_second(self) -> float:
        """What the workers do together, at best."""
        return self.workers / self.work_seconds


class Pace:
    """How many messages a tenant publishes now."""

    def __init__(self, tenant: Tenant, most_waiting: int) -> None:
        self._per_second = tenant.per_second
        self._most_waiting = most_waiting
        self._owed = 0.0
        self._last: float | None = None

    def due(self, now: float, waiting: int) -> int:
        """So many since the last call, and never more than may wait."""
        passed = 0.0 if self._last is None else min(now - self._last, _CATCH_UP)
        self._last = now
        self._owed += passed * self._per_second
        count = int(self._owed)
        self._owed -= count
        return max(0, min(count, self._most_waiting - waiting))
