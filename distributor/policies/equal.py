"""Everybody the same: weights are ignored."""

from collections.abc import Mapping, Sequence

from raquo.distributor.policies.weighted import Weighted
from raquo.distributor.policy import Demand, Grants, State


class Equal:
    """Equal shares for the groups, and for the queues within each."""

    name = "equal"

    def __init__(self) -> None:
        self._weighted = Weighted()

    def share(self, demands: Sequence[Demand], room: int, state: State) -> tuple[Grants, State]:
        """Divide the room equally."""
        same = [Demand(one.queue, one.group, one.depth, urgent=one.urgent) for one in demands]
        return self._weighted.share(same, room, state)

    def settle(self, state: State, demands: Sequence[Demand], unmoved: Mapping[str, int]) -> State:
        """What was granted to these queues and did not move is owed to them."""
        return self._weighted.settle(state, demands, unmoved)
