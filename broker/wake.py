"""Hears the bells that publishers ring: names of staging queues that have a message after a quiet time.

`raquo.wake` is a fanout exchange, so that every distributor hears every bell, in an exclusive queue of its own that is
bounded: what nobody listens to is dropped, and costs a discovery period. What is heard is only a hint from anybody who
may write to the exchange; whoever listens checks it.

Bells come a few thousand a second at the most, whoever rings how often: they are acknowledged in batches, now and then,
and what gathers meanwhile is bounded by the queue.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from pika.adapters.asyncio_connection import AsyncioConnection

from raquo.broker import connection as connections
from raquo.broker.bell import EXCHANGE
from raquo.broker.errors import BrokerError, ChannelClosed
from raquo.broker.url import Urls, parse_urls

_ANSWER_WITHIN = 5.0
_AT_ONCE = 100
_ACK_EVERY = 0.05
_QUEUE = {"x-max-length": 1000, "x-queue-type": "classic"}


class WakeListener:
    """One connection that listens until it is lost or closed."""

    def __init__(self, url: Urls, on_ring: Callable[[str], None]) -> None:
        self._urls = parse_urls(url)
        self._on_ring = on_ring
        self._unacked = 0  # tag of the last bell that was heard and not acknowledged
        self.listening = False

    async def listen(self) -> None:
        """Listen until cancelled; raises `BrokerError` when the connection or the channel is lost."""
        over: asyncio.Future[BrokerError] = asyncio.get_running_loop().create_future()

        def on_lost(error: BrokerError) -> None:
            self.listening = False
            if not over.done():
                over.set_result(error)

        connection = await connections.connect(self._urls, AsyncioConnection, "raquo bell", on_lost)
        try:
            channel = await asyncio.wait_for(self._begin(connection, on_lost), _ANSWER_WITHIN)
            while not (await asyncio.wait((over,), timeout=_ACK_EVERY))[0]:
                self._ack(channel)
            raise over.result()
        except TimeoutError:
            raise BrokerError(f"the broker did not let us listen to {EXCHANGE} within {_ANSWER_WITHIN:g} s") from None
        finally:
            self.listening = False
            connections.abort(connection, "nobody listens any more")

    async def _begin(self, connection: AsyncioConnection, on_lost: Callable[[BrokerError], None]) -> Any:
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def on_close(_channel: Any, reason: Any) -> None:
            error = ChannelClosed(getattr(reason, "reply_code", 0), str(getattr(reason, "reply_text", reason)))
            if not ready.done():
                ready.set_exception(error)
            on_lost(error)

        def on_open(channel: Any) -> None:
            channel.add_on_close_callback(on_close)
            channel.exchange_declare(EXCHANGE, "fanout", durable=True, callback=lambda _: declare(channel))

        def declare(channel: Any) -> None:
            channel.queue_declare("", exclusive=True, arguments=_QUEUE, callback=lambda ok: bind(channel, ok))

        def bind(channel: Any, declared: Any) -> None:
            queue = declared.method.queue
            channel.queue_bind(queue, EXCHANGE, callback=lambda _: limit(channel, queue))

        def limit(channel: Any, queue: str) -> None:
            channel.basic_qos(prefetch_count=_AT_ONCE, callback=lambda _: consume(channel, queue))

        def consume(channel: Any, queue: str) -> None:
            channel.basic_consume(queue, self._heard, callback=lambda _: begun(channel))

        def begun(channel: Any) -> None:
            self.listening = True
            if not ready.done():
                ready.set_result(channel)

        self._unacked = 0
        connection.channel(on_open_callback=on_open)
        return await ready

    def _heard(self, _channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        self._unacked = method.delivery_tag
        self._on_ring(str(method.routing_key))

    def _ack(self, channel: Any) -> None:
        if self._unacked and channel.is_open:
            channel.basic_ack(self._unacked, multiple=True)
            self._unacked = 0
