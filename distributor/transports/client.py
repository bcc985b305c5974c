"""The default transport: messages pass through this process, undecoded, over one connection for each target."""

from dataclasses import replace

from raquo.broker.mix import Mix
from raquo.broker.mover import Limits, Mover
from raquo.broker.url import Urls
from raquo.distributor.snapshot import Staging
from raquo.distributor.transport import Outcome, Reason

_NOT_FOUND = 404


class ClientTransport:
    """Moves by AMQP; connects when there is something to move."""

    name = "client"

    def __init__(self, url: Urls, target: str, limits: Limits | None = None) -> None:
        self._url = url
        self._target = target
        self._limits = limits or Limits()
        self._mover: Mover | None = None

    @property
    def blocked(self) -> bool:
        """Whether the broker has an alarm."""
        return self._mover is not None and self._mover.blocked

    @property
    def in_flight_limit(self) -> int:
        """Window times channels."""
        return self._limits.channels * self._limits.window

    @property
    def mixes(self) -> int:
        """As many as move at the same time."""
        return self._limits.channels

    async def move(self, source: Staging, count: int, deadline: float, mix: Mix | None = None) -> Outcome:
        """Move by a consumer, or, from a queue that its last consumer would delete, without one."""
        if self._mover is None:
            self._mover = Mover(self._url, self._target, self._limits)
        outcome = await self._mover.move(source.queue, count, deadline=deadline, by_get=source.auto_delete, mix=mix)
        if outcome.reason is Reason.CHANNEL_CLOSED and outcome.code == _NOT_FOUND:
            return replace(outcome, reason=Reason.SOURCE_GONE)  # it was gone before the first message was fetched
        return outcome

    async def rest(self) -> None:
        """Give the connection back; the next grant opens another."""
        await self.close(0.0)

    async def close(self, drain: float) -> None:
        """Settle what is on its way, and disconnect."""
        mover, self._mover = self._mover, None
        if mover is not None:
            await mover.close(drain)
