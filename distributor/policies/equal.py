"""Everybody the same: weights are ignored, but for 0, which means that nothing is to be granted."""

from collections.abc import Mapping, Sequence

from raquo.distributor.policies.weighted import Weighted
from raquo.distributor.policy import NORMAL_WEIGHT, Demand, Grants, State


class Equal:
    """Equal shares for the groups, and for the queues within each."""

    name = "equal"

    def __init__(self) -> None:
        self._weighted = Weighted()

    def share(self, demands: Sequence[Demand], room: int, state: State) -> tuple[Grants, State]:
        """Divide the room equally."""
        return self._weighted.share([_same(one) for one in demands], room, state)

    def settle(self, state: State, demands: Sequence[Demand], unmoved: Mapping[str, int]) -> State:
        """What was granted to these queues and did not move is owed to them."""
        return self._weighted.settle(state, demands, unmoved)


def _same(one: Demand) -> Demand:
    weight = NORMAL_WEIGHT if one.weight and one.group_weight else 0
    return Demand(one.queue, one.group, one.depth, weight, urgent=one.urgent)
