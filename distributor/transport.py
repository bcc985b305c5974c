"""What a transport is: it carries grants out for one target, exactly, and says what became of each.

The conformance tests say what every transport keeps to:

* a grant moves as many messages as it says, or all there are if that is less, and leaves the rest in staging;
* messages of one staging queue keep their order, also over grants;
* what is reported as moved is in the target, what is not is still in staging; nothing is lost;
* a failing grant is told in its outcome, and costs the grants of other staging queues nothing.
"""

from collections.abc import Callable
from typing import Protocol

from raquo.broker.grant import Outcome, Reason
from raquo.broker.mix import Mix
from raquo.distributor.snapshot import Staging

__all__ = ["MakeTransport", "Mix", "Outcome", "Reason", "Transport"]


class Transport(Protocol):
    """Moves messages from staging queues into one target; one grant per staging queue at a time."""

    name: str

    @property
    def blocked(self) -> bool:
        """Whether the broker takes nothing at present, because of an alarm."""

    @property
    def in_flight_limit(self) -> int:
        """How many messages may be repeated if this process is killed."""

    @property
    def mixes(self) -> int:
        """How many staging queues it can mix in the target by itself; 0: it puts block behind block."""

    async def move(self, source: Staging, count: int, deadline: float, mix: Mix | None = None) -> Outcome:
        """Move up to `count` messages, fetching no longer than `deadline` seconds; raises `BrokerError`.

        Moves with the same `mix` go into the target in turns, as far as the transport mixes.
        """

    async def rest(self) -> None:
        """Nothing to do for a while: hold no connection."""

    async def close(self, drain: float) -> None:
        """Fetch no more, settle what is on its way for at most `drain` seconds, and end."""


MakeTransport = Callable[[str], Transport]
"""From a target's name to the transport that serves it."""
