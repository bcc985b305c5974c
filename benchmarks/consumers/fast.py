"""Consumes as fast as it can, with a prefetch limit, and acknowledges many at a time; ends at a number of messages."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from benchmarks.consumers.deliveries import connect, consume

_PREFETCH = 500
_ACK_EVERY = 100
_AT_LEAST_EVERY = 0.005


async def run(ready: Callable[[], None], stop: asyncio.Event, url: str, queue: str, messages: int) -> dict[str, Any]:
    """Until `messages` have come, or it is told to stop."""
    consumer = Fast(messages, stop)
    connection = await connect(url, consumer.take)
    consumer.channel = await consume(connection, queue, _PREFETCH)
    ready()
    while not stop.is_set():
        await asyncio.sleep(_AT_LEAST_EVERY)
        consumer.acknowledge()
    return {"taken": consumer.taken, "first": consumer.first, "last": consumer.last}


class Fast:
    """Counts, and acknowledges."""

    def __init__(self, messages: int, done: asyncio.Event) -> None:
        self.channel: Any = None
        self.taken = 0
        self.first = self.last = 0.0
        self._messages = messages
        self._done = done
        self._tag = self._acknowledged = 0

    def take(self, _channel: int, tag: int, _body: bytes) -> None:
        self._tag = tag
        self.taken += 1
        if self.taken == 1:
            self.first = time.monotonic()
        if self.taken == self._messages:
            self.last = time.monotonic()
            self._done.set()
        if tag - self._acknowledged >= _ACK_EVERY:
            self.acknowledge()

    def acknowledge(self) -> None:
        if self._tag > self._acknowledged and self.channel is not None:
            self._acknowledged = self._tag
            self.channel.basic_ack(self._tag, multiple=True)
