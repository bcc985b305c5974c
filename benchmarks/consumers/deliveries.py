"""A connection that takes deliveries for two microseconds each, so that a consumer does not measure itself.

pika decodes every delivery for forty; at ten thousand a second that would be half of a small machine. Here deliveries
are found in the bytes before pika sees them: everything else still goes to pika. Bodies are one frame, as ours are.
The members of pika used are not public ones.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from raquo.broker import connection as connections
from raquo.broker.errors import BrokerError
from raquo.broker.frames import BASIC_DELIVER, BODY, HEADER, METHOD, OVERHEAD, frame_start, method_number
from raquo.broker.gathering_connection import GatheringConnection
from raquo.broker.url import parse_urls

_READ_AT_ONCE = 120 * 1024
_TO_OPEN = 10.0

Take = Callable[[int, int, bytes], None]
"""Channel number, delivery tag, body."""


class Deliveries(GatheringConnection):
    """Hands deliveries on undecoded."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._take: Take | None = None
        self._rest = b""
        self._tags: dict[int, int] = {}  # of the message that is arriving, by channel
        super().__init__(*arguments, **options)

    def begin(self, take: Take) -> None:
        """From now on deliveries are handed to `take`."""
        self._take = take
        self._transport._MAX_RECV_BYTES = _READ_AT_ONCE

    def _on_data_available(self, data: bytes) -> None:
        if self._take is None:
            super()._on_data_available(data)
            return
        others = self._sort(self._rest + data, self._take)
        self.bytes_received += len(data) - len(others)  # pika's heartbeat looks at it
        if others:
            super()._on_data_available(others)

    def _sort(self, data: bytes, take: Take) -> bytes:
        """Take what was delivered, keep what is not whole yet, and return the rest."""
        others = []
        start, end = 0, len(data)
        while end - start >= OVERHEAD:
            kind, channel, size = frame_start.unpack_from(data, start)
            after = start + size + OVERHEAD
            if after > end:
                break
            if kind == BODY:
                take(channel, self._tags[channel], data[start + 7 : after - 1])
            elif kind == METHOD and method_number.unpack_from(data, start + 7)[0] == BASIC_DELIVER:
                behind_consumer_tag = start + 12 + data[start + 11]
                self._tags[channel] = int.from_bytes(data[behind_consumer_tag : behind_consumer_tag + 8], "big")
            elif kind != HEADER:
                others.append(data[start:after])
            start = after
        self._rest = data[start:]
        return b"".join(others)


async def connect(url: str, take: Take) -> Deliveries:
    """A connection that is open; one that is lost later ends the process."""

    def on_lost(error: BrokerError) -> None:
        raise SystemExit(f"the connection of a consumer was lost: {error}")

    connection: Deliveries = await connections.connect(parse_urls(url), Deliveries, "benchmark", on_lost)
    connection.begin(take)
    return connection


async def consume(
    connection: Deliveries, queue: str, prefetch: int, on_channel: Callable[[Any], None] = lambda _: None
) -> Any:
    """A channel that consumes; acknowledging is the caller's part.

    `on_channel` is called before anything can be delivered: the first deliveries come with the answer to the consume.
    """
    begun: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def on_open(channel: Any) -> None:
        on_channel(channel)
        channel.basic_qos(prefetch_count=prefetch, callback=lambda _: on_qos(channel))

    def on_qos(channel: Any) -> None:
        channel.basic_consume(queue, _never, callback=lambda _: begun.set_result(channel))

    connection.channel(on_open_callback=on_open)
    return await asyncio.wait_for(begun, _TO_OPEN)


def _never(*_: Any) -> None:
    raise AssertionError("deliveries do not come this way")
