"""Which numbered messages were finished: by tenant, without keeping every number, so that it can go on for hours.

A body begins with `tenant number `, and a tenant's numbers run 1, 2, 3 … (`producers/numbered.py`). They may come in
any order; what is finished twice is *repeated*, and what is missing below the highest is *lost* once nothing is left in
any queue.
"""

from collections import Counter, defaultdict
from typing import Any


class Ledger:
    """Enters what workers finish."""

    def __init__(self) -> None:
        self._tenants: defaultdict[str, _Numbers] = defaultdict(_Numbers)

    def enter(self, body: bytes, at: float) -> None:
        """One message is finished."""
        tenant, number, _ = body.split(b" ", 2)
        self._tenants[tenant.decode()].enter(int(number), at)

    def as_json(self) -> dict[str, Any]:
        """By tenant."""
        return {tenant: numbers.as_json() for tenant, numbers in self._tenants.items()}


class _Numbers:
    """One tenant's."""

    def __init__(self) -> None:
        self._up_to = 0  # all of these
        self._early: set[int] = set()
        self._repeated = 0
        self._last = 0.0
        self._seconds: Counter[int] = Counter()  # of the monotonic clock

    def enter(self, number: int, at: float) -> None:
        self._last = at
        self._seconds[int(at)] += 1
        if number <= self._up_to or number in self._early:
            self._repeated += 1
            return
        self._early.add(number)
        while self._up_to + 1 in self._early:
            self._up_to += 1
            self._early.remove(self._up_to)

    def as_json(self) -> dict[str, Any]:
        """How many different ones; how many numbers are missing below the highest; when the last was finished."""
        missing = max(self._early, default=self._up_to) - self._up_to - len(self._early)
        return {
            "done": self._up_to + len(self._early),
            "missing": missing,
            "repeated": self._repeated,
            "last": self._last,
            "by_second": dict(self._seconds),
        }
