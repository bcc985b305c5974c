"""Which tenants get a label of their own, in bounded memory, with counters that never go backwards.

A label for every tenant would be a time series for every tenant. So `limit` of them have one, those that moved the
most, and the rest is counted together as `(other)`. Pure: no clock, no Prometheus.

Three rules keep the numbers honest:

- What was moved is handed to a label when somebody looks (`settle`), not when it moves. Nobody has seen it under
  another label by then, so each message is counted under one label, once, for good. A place that is free goes to
  whoever moved the most; while there are fewer movers than places, to whoever waits with the most.
- A place that is taken is kept until somebody has moved twice as much as its holder. So labels do not flap between
  tenants of one size. Each change doubles what the place stands for, so there are at most `limit · log2(moved)` changes
  in the life of a process: that is why the number of a tenant that lost its place can be kept (not shown), and goes on
  from where it was if the tenant comes back. A series may end; it never falls.
- Of tenants without a label at most `REMEMBERED` weights are kept. When there are more, the lighter half is forgotten,
  and what the heaviest of that half had is taken off the others (the frequent items of Misra and Gries): weights are
  never too high, and a tenant with more than 2/REMEMBERED of everything moved is never missed, among a million others.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

OTHER = "(other)"
REMEMBERED = 1000


class TopTenants:
    """Counts what tenants moved; tenants without a label are one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._shown: dict[str, int] = {}  # tenants with a label, and what they moved
        self._others: Counter[str] = Counter()  # the heaviest without one
        self._pending: Counter[tuple[str, str]] = Counter()  # (target, tenant) since the last look
        self._moved: Counter[tuple[str, str]] = Counter()  # (target, label), also of labels not shown any more

    def count(self, target: str, tenant: str, messages: int) -> None:
        """So many of a tenant's messages were moved into a target."""
        self._pending[target, tenant] += messages
        if len(self._pending) >= REMEMBERED:  # nobody looks: remembering more would have no end
            self.settle({})

    def settle(self, staged: Mapping[str, int]) -> None:
        """Decide on the labels, and count under them what was moved since; `staged` is what each tenant has waiting."""
        for (_, tenant), messages in self._pending.items():
            self._weights_of(tenant)[tenant] += messages
        self._fill(self._others)
        self._replace()
        self._fill(staged)
        for (target, tenant), messages in self._pending.items():
            self._moved[target, self.label(tenant)] += messages
        self._pending.clear()
        self._forget()

    def label(self, tenant: str) -> str:
        """What a tenant is called in metrics, as of the last look."""
        return tenant if tenant in self._shown else OTHER

    def moved(self) -> Iterator[tuple[str, str, int]]:
        """Target, label and messages, as of the last look."""
        for (target, label), messages in self._moved.items():
            if label == OTHER or label in self._shown:
                yield target, label, messages

    def _weights_of(self, tenant: str) -> dict[str, int]:
        return self._shown if tenant in self._shown else self._others

    def _fill(self, candidates: Mapping[str, int]) -> None:
        """Give free places to the heaviest candidates."""
        newcomers = {tenant: weight for tenant, weight in candidates.items() if weight and tenant not in self._shown}
        for tenant in _heaviest_first(newcomers)[: self._limit - len(self._shown)]:
            self._show(tenant)

    def _replace(self) -> None:
        """Give the lightest places to tenants that weigh twice as much."""
        for tenant, holder in zip(_heaviest_first(self._others), reversed(_heaviest_first(self._shown)), strict=False):
            if self._others[tenant] + 1 < 2 * (self._shown[holder] + 1):  # + 1: a holder of nothing can be doubled, too
                break
            self._others[holder] = self._shown.pop(holder)
            self._show(tenant)

    def _show(self, tenant: str) -> None:
        self._shown[tenant] = self._others.pop(tenant, 0)

    def _forget(self) -> None:
        if len(self._others) > REMEMBERED:
            floor = sorted(self._others.values(), reverse=True)[REMEMBERED // 2]
            self._others = Counter({tenant: n - floor for tenant, n in self._others.items() if n > floor})


def _heaviest_first(weights: Mapping[str, int]) -> list[str]:
    """Tenants in order, equals by name; a tenant who is called as the rest is has no place of its own."""
    return sorted((tenant for tenant in weights if tenant != OTHER), key=lambda tenant: (-weights[tenant], tenant))
