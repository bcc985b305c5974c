"""What each tenant of the demo gets: counts, shares, waits. Pure: moments are given by the caller, in seconds.

Beside the measured waits stands what first in, first out would have meant. Nothing of that is guessed: every message of
the demo costs a worker the same, so the workers would have done as many at the same moments, only in the order in which
they were published. The n-th message published is given the moment at which the n-th was done.

Everything is bounded, for demos that run for hours: waits are of a tenant's last `KEPT` messages, and what first in,
first out would still have waiting is as much as there is waiting.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

KEPT = 10_000


@dataclass(frozen=True)
class Row:
    """One tenant; waits are from published to done, None where nothing is done yet."""

    tenant: str
    published: int
    done: int
    share: float
    wait_p50: float | None
    wait_p99: float | None
    fifo_wait_p50: float | None

    @property
    def waiting(self) -> int:
        """Published and not done yet; a worker may be faster than the publisher's confirm."""
        return max(0, self.published - self.done)


class Waits:
    """The waits of what was done last."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, float]] = deque(maxlen=KEPT)

    def add(self, done_at: float, wait: float) -> None:
        """A message was done, after so long."""
        self._last.append((done_at, max(0.0, wait)))

    def since(self, moment: float) -> list[float]:
        """The waits of what was done from this moment on, smallest first."""
        found = []
        for done_at, wait in reversed(self._last):
            if done_at < moment:
                break
            found.append(wait)
        return sorted(found)


@dataclass
class _Tally:
    published: int = 0
    done: int = 0
    waits: Waits = field(default_factory=Waits)
    fifo_waits: Waits = field(default_factory=Waits)


class Statistics:
    """Counts for the tenants it was made for; what others do is not counted."""

    def __init__(self, tenants: Iterable[str]) -> None:
        self._tallies = {tenant: _Tally() for tenant in tenants}
        self._in_order: deque[tuple[str, float]] = deque()

    def handed_over(self, tenants: Iterable[str], at: float) -> None:
        """Messages of these tenants are about to be published, in this order."""
        self._in_order.extend((tenant, at) for tenant in tenants)

    def published(self, tenants: Iterable[str]) -> None:
        """A message of each of these was confirmed."""
        for tenant in tenants:
            self._tallies[tenant].published += 1

    def done(self, tenant: str, at: float, wait: float) -> None:
        """A worker has done a message, published `wait` seconds ago."""
        tally = self._tallies.get(tenant)
        if tally is None:
            return
        tally.done += 1
        tally.waits.add(at, wait)
        if self._in_order:  # a message that comes twice is done twice
            first, handed_over_at = self._in_order.popleft()
            self._tallies[first].fifo_waits.add(at, at - handed_over_at)

    def waiting(self, tenant: str) -> int:
        """Published and not done yet."""
        tally = self._tallies[tenant]
        return max(0, tally.published - tally.done)

    def whole(self) -> list[Row]:
        """What each tenant got from the beginning."""
        return self._rows(-math.inf, [tally.done for tally in self._tallies.values()])

    def since(self, moment: float) -> list[Row]:
        """Counts from the beginning, shares and waits from this moment on."""
        return self._rows(moment, [len(tally.waits.since(moment)) for tally in self._tallies.values()])

    def _rows(self, moment: float, got: Sequence[int]) -> list[Row]:
        return [
            _row(tenant, tally, moment, share)
            for (tenant, tally), share in zip(self._tallies.items(), shares(got), strict=True)
        ]


def _row(tenant: str, tally: _Tally, moment: float, share: float) -> Row:
    waits = tally.waits.since(moment)
    return Row(
        tenant=tenant,
        published=tally.published,
        done=tally.done,
        share=share,
        wait_p50=percentile(waits, 50),
        wait_p99=percentile(waits, 99),
        fifo_wait_p50=percentile(tally.fifo_waits.since(moment), 50),
    )


def shares(counts: Sequence[int]) -> list[float]:
    """Each as a part of them all; nothing of nothing is 0."""
    total = sum(counts)
    return [count / total if total else 0.0 for count in counts]


def percentile(ordered: Sequence[float], percent: int) -> float | None:
    """The smallest value that so many percent are not above (nearest rank)."""
    return ordered[-(-len(ordered) * percent // 100) - 1] if ordered else None
