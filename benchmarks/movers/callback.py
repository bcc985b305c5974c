"""What a good engineer writes with pika: callbacks, a prefetch of 1000, pipelined confirms, acks for many at once.

It consumes and publishes on one channel and publishes every delivery at once. Both are numbered from 1 on, so publish
n is delivery n, and what is confirmed up to n is acknowledged up to n.
"""

from typing import Any

import pika

from benchmarks.apart import Stopwatch
from benchmarks.confirms import Confirms

_PREFETCH = 1000


def run(stopwatch: Stopwatch, url: str, sources: list[str], target: str, each: int) -> None:
    mover = CallbackMover(stopwatch, sources, target, each)
    mover.run(url)
    if mover.failure:
        raise RuntimeError(mover.failure)


class CallbackMover:
    """Moves until everything is confirmed and acknowledged, or something goes wrong."""

    def __init__(self, stopwatch: Stopwatch, sources: list[str], target: str, each: int) -> None:
        self.failure = ""
        self._stopwatch = stopwatch
        self._sources = sources
        self._target = target
        self._messages = each * len(sources)
        self._connection: Any = None
        self._channel: Any = None
        self._confirms = Confirms()
        self._acked = 0

    def run(self, url: str) -> None:
        self._connection = pika.SelectConnection(
            pika.URLParameters(url),
            on_open_callback=self._on_open,
            on_open_error_callback=self._on_closed,
            on_close_callback=self._on_closed,
        )
        self._connection.ioloop.start()

    def _on_open(self, connection: Any) -> None:
        self._stopwatch.connected()
        connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_return_callback(lambda *_: self._fail("a message was returned"))
        channel.add_on_close_callback(lambda _, reason: self._on_channel_closed(reason))
        channel.confirm_delivery(self._on_confirm)
        channel.basic_qos(prefetch_count=_PREFETCH, callback=self._on_ready)

    def _on_ready(self, _frame: Any) -> None:
        for source in self._sources:
            self._channel.basic_consume(source, self._on_message)

    def _on_message(self, channel: Any, _method: Any, properties: pika.BasicProperties, body: bytes) -> None:
        channel.basic_publish("", self._target, body, properties, mandatory=True)

    def _on_confirm(self, frame: Any) -> None:
        self._confirms.note(frame)
        if self._confirms.up_to > self._acked:
            self._acked = self._confirms.up_to
            self._channel.basic_ack(self._acked, multiple=True)
            if self._acked == self._messages:
                self._stopwatch.done()
                self._connection.close()

    def _fail(self, why: str) -> None:
        self.failure = self.failure or why
        if self._connection.is_open:
            self._connection.close()

    def _on_channel_closed(self, reason: Any) -> None:
        if self._acked < self._messages:
            self._fail(f"the channel was closed: {reason}")

    def _on_closed(self, _connection: Any, reason: Any) -> None:
        if self._acked < self._messages:
            self.failure = self.failure or f"the connection was closed: {reason}"
        self._connection.ioloop.stop()
