"""Carrying a plan out in small slices, so that the target stays mixed. Pure.

A grant arrives in the target as one block. A plan that gives fifty tenants twenty messages each would, carried out at
once, put fifty blocks of twenty there, and for a while workers would see some tenants only. While more than one tenant
waits a plan is therefore cut into slices of at most a tenth of `max_length`, each tenant its part of every slice.
"""

from collections import Counter
from collections.abc import Mapping

from raquo.distributor.policy import Grants

SLICES_OF_A_FULL_TARGET = 10
_WHOLE = 1 << 40


def slices(grants: Grants, group_of: Mapping[str, str], max_length: int) -> list[Grants]:
    """The plan as slices that add up to it, in the order in which they go."""
    size = max(1, max_length // SLICES_OF_A_FULL_TARGET)
    if sum(grants.values()) <= size or len({group_of[queue] for queue in grants}) < 2:
        return [grants] if grants else []
    order = _spread(grants)
    return [dict(Counter(order[start : start + size])) for start in range(0, len(order), size)]


def _spread(grants: Grants) -> list[str]:
    """Each queue's messages at even distances over the whole plan."""
    places = [
        ((2 * number + 1) * _WHOLE // (2 * granted), queue)
        for queue, granted in sorted(grants.items())
        for number in range(granted)
    ]
    return [queue for _, queue in sorted(places)]
