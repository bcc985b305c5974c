"""A transport without a broker: queues are deques. For tests of what stands above, and for simulations."""

import asyncio
from collections import defaultdict, deque

from raquo.broker.errors import BrokerError
from raquo.broker.mix import Mix
from raquo.distributor.snapshot import Staging
from raquo.distributor.transport import Outcome, Reason


class MemoryQueues:
    """Queues by name; a name in `missing` is a queue that is not there."""

    def __init__(self) -> None:
        self.messages: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self.missing: set[str] = set()

    def publish(self, queue: str, *bodies: bytes) -> None:
        """Put messages at the end of a queue."""
        self.messages[queue].extend(bodies)


class MemoryTransport:
    """Moves between deques, a message at a turn of the loop."""

    name = "memory"
    in_flight_limit = 0
    mixes = 0

    def __init__(self, queues: MemoryQueues, target: str) -> None:
        self.blocked = False
        self._queues = queues
        self._target = target
        self._moving: set[str] = set()
        self._closed = False

    async def move(self, source: Staging, count: int, deadline: float, mix: Mix | None = None) -> Outcome:
        """Move up to `count` messages."""
        if count < 1:
            raise ValueError(f"a grant is at least 1 message, not {count}")
        if source.queue in self._moving:
            raise BrokerError(f"{source.queue!r} is being moved already: one grant at a time keeps its order")
        self._moving.add(source.queue)
        try:
            return await self._move(source.queue, count, asyncio.get_running_loop().time() + deadline)
        finally:
            self._moving.discard(source.queue)

    async def rest(self) -> None:
        """There is nothing to give back."""

    async def close(self, drain: float) -> None:
        """Move no more."""
        self._closed = True

    async def _move(self, source: str, count: int, end: float) -> Outcome:
        queues, moved, size = self._queues, 0, 0
        reason = Reason.COMPLETE
        while moved < count and reason is Reason.COMPLETE:
            if source in queues.missing:
                reason = Reason.SOURCE_GONE
            elif self._target in queues.missing:
                reason = Reason.RETURNED
            elif self.blocked:
                reason = Reason.BLOCKED
            elif self._closed or not queues.messages[source] or asyncio.get_running_loop().time() >= end:
                reason = Reason.UNDER_FULL
            else:
                body = queues.messages[source].popleft()
                queues.messages[self._target].append(body)
                moved, size = moved + 1, size + len(body)
                await asyncio.sleep(0)
        return Outcome(source, count, moved, reason, size=size)
