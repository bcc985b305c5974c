"""The bell: tells distributors that a queue that was quiet has a message now.

Without it a message on an idle system waits for the next discovery. It is best effort: the exchange may not be there
(no distributor has run yet) or not be ours to write to; both close the channel, so it is a channel apart, and the
bell stays silent for a while. Rings are limited per process.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pika
from pika.adapters.asyncio_connection import AsyncioConnection

EXCHANGE = "raquo.wake"
_QUIET = 1.0
_SILENT_AFTER_REFUSAL = 30.0  # twice as long each time, up to the next
_SILENT_AT_MOST = 600.0
_RINGS_A_SECOND = 50
_MOST_REMEMBERED = 10_000
_TRANSIENT = pika.BasicProperties(delivery_mode=1)


class Bell:
    """Rings for the first message to a queue after a quiet second."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.rings = 0
        self._clock = clock
        self._last: OrderedDict[str, float] = OrderedDict()
        self._connection: AsyncioConnection | None = None
        self._channel: Any = None
        self._waiting: list[str] = []  # while the channel opens
        self._silent_until = 0.0
        self._silence = _SILENT_AFTER_REFUSAL
        self._allowance = float(_RINGS_A_SECOND)
        self._allowance_at = clock()

    def attach(self, connection: AsyncioConnection) -> None:
        """Ring on this connection from now on."""
        self._connection = connection
        self._channel = None

    def detach(self) -> None:
        """The connection is gone."""
        self._connection = self._channel = None
        self._waiting.clear()

    def confirmed(self, queue: str) -> None:
        """A message is in this staging queue."""
        now = self._clock()
        last = self._last.get(queue)
        self._last[queue] = now
        if last is not None and now - last < _QUIET:
            return
        self._last.move_to_end(queue)
        if len(self._last) > _MOST_REMEMBERED:
            self._last.popitem(last=False)
        if now >= self._silent_until and self._allowed(now):
            self._ring(queue)

    def _allowed(self, now: float) -> bool:
        earned = (now - self._allowance_at) * _RINGS_A_SECOND
        self._allowance = min(float(_RINGS_A_SECOND), self._allowance + earned)
        self._allowance_at = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    def _ring(self, queue: str) -> None:
        if self._connection is None or not self._connection.is_open:
            return
        self._waiting.append(queue)
        if self._channel is not None:
            self._ring_all()
        elif len(self._waiting) == 1:
            self._connection.channel(on_open_callback=self._on_open)

    def _ring_all(self) -> None:
        for queue in self._waiting:
            self._channel.basic_publish(EXCHANGE, queue, b"", _TRANSIENT)
        self.rings += len(self._waiting)
        self._waiting.clear()

    def _on_open(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._on_close)
        self._ring_all()

    def _on_close(self, channel: Any, _reason: Any) -> None:
        """The broker refused, unless the whole connection is gone."""
        if channel is self._channel and self._connection is not None and self._connection.is_open:
            self._channel = None
            self._silent_until = self._clock() + self._silence
            self._silence = min(2 * self._silence, _SILENT_AT_MOST)
