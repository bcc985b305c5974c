"""Declares and deletes queues and exchanges, on a connection of its own.

What a broker refuses closes a channel, and for some requests the whole connection (a quorum queue asked to go only if
it is empty): nothing else may depend on this one. It is for single acts, so every act has a channel to itself.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pika.adapters.asyncio_connection import AsyncioConnection

from raquo.broker import connection as connections
from raquo.broker.declarer import for_this_broker
from raquo.broker.errors import BrokerError, ChannelClosed, ConnectionLost
from raquo.broker.url import Urls, parse_urls

_ANSWER_WITHIN = 5.0

Act = Callable[[Any, Callable[[Any], None]], None]
"""From an open channel and what to call with the broker's answer."""


class Keeper:
    """Keeps queues in order; use it as `async with Keeper(url) as keeper`."""

    def __init__(self, url: Urls, name: str = "raquo keeper") -> None:
        self._urls = parse_urls(url)
        self._name = name
        self._connection: AsyncioConnection
        self._lost: asyncio.Future[BrokerError]

    async def __aenter__(self) -> "Keeper":
        self._lost = asyncio.get_running_loop().create_future()
        self._connection = await connections.connect(self._urls, AsyncioConnection, self._name, self._on_lost)
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await connections.close(self._connection, self._lost, _ANSWER_WITHIN)

    async def declare(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """Declare a durable queue; a quorum queue without a limit of returns."""
        version = str(self._connection.server_properties.get("version", ""))
        wanted = for_this_broker(arguments, version)
        await self._act(
            lambda channel, done: channel.queue_declare(queue, durable=True, arguments=wanted, callback=done)
        )

    async def delete_if_empty(self, queue: str) -> int:
        """Delete a classic queue that is empty and not consumed; how many messages it held (that is: 0)."""
        answer = await self._act(
            lambda channel, done: channel.queue_delete(queue, if_unused=True, if_empty=True, callback=done)
        )
        return int(answer.method.message_count)

    async def delete(self, queue: str) -> int:
        """Delete a queue, whatever is in it; how many messages that was."""
        answer = await self._act(lambda channel, done: channel.queue_delete(queue, callback=done))
        return int(answer.method.message_count)

    async def delete_exchange(self, exchange: str) -> None:
        """Delete an exchange; one that is not there is fine."""
        await self._act(lambda channel, done: channel.exchange_delete(exchange, callback=done))

    async def _act(self, act: Act) -> Any:
        """One request on a channel of its own; raises `ChannelClosed` where the broker refuses it."""
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def on_close(_channel: Any, reason: Any) -> None:
            if not answered.done():
                text = str(getattr(reason, "reply_text", reason))
                answered.set_exception(ChannelClosed(getattr(reason, "reply_code", 0), text))

        def on_answer(frame: Any) -> None:
            if not answered.done():
                answered.set_result(frame)

        def on_open(channel: Any) -> None:
            channel.add_on_close_callback(on_close)
            act(channel, on_answer)

        if self._lost.done():
            raise self._lost.result()
        self._connection.channel(on_open_callback=on_open)
        await asyncio.wait((answered, self._lost), timeout=_ANSWER_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if self._lost.done():
            answered.cancel()
            raise self._lost.result()
        if not answered.done():
            answered.cancel()
            raise ConnectionLost(f"the broker did not answer within {_ANSWER_WITHIN:g} s")
        return answered.result()

    def _on_lost(self, error: BrokerError) -> None:
        if not self._lost.done():
            self._lost.set_result(error)
