"""A worker: consumes one queue, works on one message after the other, and acknowledges what is done.

What any worker behind Raquo does, and nothing of Raquo in it: a prefetch limit, so that what waits stays in the queue,
and an acknowledgement after the work, so that a worker that dies loses nothing. A worker is never repaired: it ends
when it is cancelled or when its connection or channel is lost, and the broker gives what it held to others.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from pika.adapters.asyncio_connection import AsyncioConnection

from raquo.broker import connection as connections
from raquo.broker.errors import BrokerError, ChannelClosed, ConnectionLost
from raquo.broker.url import Urls, parse_urls

_ANSWER_WITHIN = 5.0


class Delivery(NamedTuple):
    """One message as a worker gets it."""

    body: bytes
    headers: Mapping[str, Any]


Work = Callable[[Delivery], Awaitable[None]]


class Worker:
    """One consumer of one queue, which it declares durable as workers do."""

    def __init__(self, url: Urls, queue: str, work: Work, *, prefetch: int = 1, name: str = "raquo worker") -> None:
        self._urls = parse_urls(url)
        self._queue = queue
        self._work = work
        self._prefetch = prefetch
        self._name = name
        self.consuming = False
        self._channel: Any = None
        self._waiting: asyncio.Queue[tuple[int, Delivery]] = asyncio.Queue()

    async def run(self) -> None:
        """Work until cancelled; raises `BrokerError` when the connection or the channel is lost."""
        lost: asyncio.Future[BrokerError] = asyncio.get_running_loop().create_future()

        def on_lost(error: BrokerError) -> None:
            if not lost.done():
                lost.set_result(error)

        connection = await connections.connect(self._urls, AsyncioConnection, self._name, on_lost)
        try:
            await asyncio.wait_for(self._begin(connection, on_lost), _ANSWER_WITHIN)
            await self._work_until(lost)
        except TimeoutError:
            text = f"the broker did not let us consume {self._queue!r} within {_ANSWER_WITHIN:g} s"
            raise BrokerError(text) from None
        finally:
            self.consuming = False
            connections.abort(connection, "the worker ends")

    async def _work_until(self, lost: "asyncio.Future[BrokerError]") -> None:
        working = asyncio.create_task(self._work_on())
        try:
            await asyncio.wait((working, lost), return_when=asyncio.FIRST_COMPLETED)
            if not lost.done():
                await working  # raises what the work raised
            raise await lost
        finally:
            working.cancel()

    async def _work_on(self) -> None:
        while True:
            tag, delivery = await self._waiting.get()
            await self._work(delivery)
            if not self._channel.is_open:
                return  # we hear why in a moment; somebody else gets the message
            self._channel.basic_ack(tag)

    async def _begin(self, connection: AsyncioConnection, on_lost: Callable[[BrokerError], None]) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_close(_channel: Any, reason: Any) -> None:
            error = _translated(reason)
            if not ready.done():
                ready.set_exception(error)
            on_lost(error)

        def on_open(channel: Any) -> None:
            self._channel = channel
            channel.add_on_close_callback(on_close)
            channel.queue_declare(self._queue, durable=True, callback=lambda _: limit())

        def limit() -> None:
            self._channel.basic_qos(prefetch_count=self._prefetch, callback=lambda _: consume())

        def consume() -> None:
            self._channel.basic_consume(self._queue, self._on_delivery, callback=lambda _: begun())

        def begun() -> None:
            self.consuming = True
            if not ready.done():
                ready.set_result(None)

        connection.channel(on_open_callback=on_open)
        await ready

    def _on_delivery(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._waiting.put_nowait((method.delivery_tag, Delivery(body, properties.headers or {})))


def _translated(reason: Any) -> BrokerError:
    """Why a channel ended: the broker's own words, or its connection did."""
    if hasattr(reason, "reply_code"):
        return ChannelClosed(reason.reply_code, str(reason.reply_text))
    return ConnectionLost(f"the connection to the broker was lost: {reason}")
