"""Tries what a distributor does, in ways that change nothing: may this user do it?

Only an administrator may read permissions, so they are tried. RabbitMQ looks at permissions before anything else, and a
request that is wrong in another way is then refused for that other reason. So each attempt carries a mistake: a
consumer with a priority that is no number, an exchange with an alternate that is no name, a message for a queue that is
not there. An answer that is anything but "access refused" means: permitted. Tried on RabbitMQ 3.10 and 4.3, classic and
quorum queues; nothing was declared, delivered or marked as redelivered.
"""

from typing import Any
from uuid import uuid4

from raquo.broker.bell import EXCHANGE
from raquo.broker.errors import ChannelClosed
from raquo.broker.keeper import Act, Keeper
from raquo.broker.url import Urls

_ACCESS_REFUSED = 403
_NO_NUMBER = "no number"
_NO_NAME = 1
_OWN_QUEUE = {"x-max-length": 1, "x-queue-type": "classic"}


class Attempts(Keeper):
    """Each method tells in the broker's words why it is refused, or None: it is permitted."""

    def __init__(self, url: Urls) -> None:
        super().__init__(url, "raquo check")

    async def __aenter__(self) -> "Attempts":
        await super().__aenter__()
        return self

    @property
    def version(self) -> str:
        """The broker's version, as it says when it greets."""
        return str(self._connection.server_properties.get("version", ""))

    async def read(self, queue: str) -> str | None:
        """Consume from a queue; not for one that is auto-delete, in case a broker minds the mistake less."""

        def consume(channel: Any, done: Any) -> None:
            channel.basic_qos(prefetch_count=1)
            channel.basic_consume(queue, lambda *_: None, arguments={"x-priority": _NO_NUMBER}, callback=done)

        return await self._refusal(consume)

    async def configure(self, queue: str) -> str | None:
        """Declare or delete a queue."""
        wrong = {"x-expires": _NO_NUMBER}
        return await self._refusal(
            lambda channel, done: channel.queue_declare(queue, durable=True, arguments=wrong, callback=done)
        )

    async def publish(self) -> str | None:
        """Publish to queues, through the default exchange; a broker with an alarm does not answer."""

        def publish(channel: Any, done: Any) -> None:
            channel.add_on_return_callback(lambda *_: done(None))
            channel.basic_publish("", f"raquo.check.{uuid4().hex}", b"", mandatory=True)

        return await self._refusal(publish)

    async def listen(self) -> str | None:
        """Hear the bell: declare its exchange, bind a queue of one's own, consume from that."""
        wrong = {"alternate-exchange": _NO_NAME}
        refusal = await self._refusal(
            lambda channel, done: channel.exchange_declare(
                EXCHANGE, "fanout", durable=True, arguments=wrong, callback=done
            )
        )
        if refusal:
            return refusal
        try:
            declared = await self._act(
                lambda channel, done: channel.queue_declare("", exclusive=True, arguments=_OWN_QUEUE, callback=done)
            )
        except ChannelClosed as error:
            return _refusal(error)
        queue = declared.method.queue
        return await self._refusal(
            lambda channel, done: channel.queue_bind(queue, EXCHANGE, callback=done)
        ) or await self.read(queue)

    async def _refusal(self, act: Act) -> str | None:
        try:
            await self._act(act)
        except ChannelClosed as error:
            return _refusal(error)
        return None


def _refusal(error: ChannelClosed) -> str | None:
    return error.text if error.code == _ACCESS_REFUSED else None
