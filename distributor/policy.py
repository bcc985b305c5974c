"""What a policy is: arithmetic that turns demands and room into grants, and remembers what it owes.

A policy never looks at a broker or a clock. It is given what waits and how much fits, and answers with how many
messages of which staging queue go next. The conformance tests say what every policy keeps to:

* the grants add up to the room, or to everything that waits if that is less, to the message;
* no queue is granted more than it has, and none of weight 0 is granted anything;
* the answer depends on the demands, the room and the state, and not on the order in which the demands come;
* nobody who waits is left out for ever.

The state is a value. `share` returns the next one and leaves the old one as it was, so a plan can be made and thrown
away. `settle` is told afterwards what was really moved; the rest is owed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

NORMAL_WEIGHT = 1000
"""Weights are whole thousandths."""

MESSAGE = 1 << 32
"""Debts are whole parts of a message, this many to one."""


class Demand(NamedTuple):
    """A staging queue with something in it.

    `group` is who shares the room with the others: its tenant, or, with `fair_by = "queue"`, the queue itself.
    """

    queue: str
    group: str
    depth: int
    weight: int = NORMAL_WEIGHT  # of the queue within its group
    group_weight: int = NORMAL_WEIGHT
    urgent: bool = False  # service class @sync: before the others of its group


class Account(NamedTuple):
    """What is remembered of one who waits."""

    owed: int = 0  # parts of a message; below zero: it has had more than its share
    served: int = 0  # the round in which it was last given something, or joined


@dataclass(frozen=True, slots=True)
class State:
    """What a policy remembers from round to round, of those who still wait."""

    rounds: int = 0
    groups: Mapping[str, Account] = field(default_factory=dict)
    queues: Mapping[str, Account] = field(default_factory=dict)
    turns: Mapping[str, int] = field(default_factory=dict)  # of a group: grants since its others had their tenth


Grants = dict[str, int]


class Policy(Protocol):
    """Who goes next, and how much."""

    name: str

    def share(self, demands: Sequence[Demand], room: int, state: State) -> tuple[Grants, State]:
        """Divide the room; queues that get nothing are not among the grants."""

    def settle(self, state: State, demands: Sequence[Demand], unmoved: Mapping[str, int]) -> State:
        """What was granted to these queues and did not move is owed to them."""
