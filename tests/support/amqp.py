"""Plain AMQP for tests: what any producer, worker or administrator of queues would do with pika."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pika
import pika.exceptions
from pika.adapters.blocking_connection import BlockingChannel

from support.waiting import wait_until


@dataclass(frozen=True)
class Received:
    """One message as a worker gets it."""

    body: bytes
    properties: pika.BasicProperties
    redelivered: bool
    exchange: str
    routing_key: str


class _Confirms:
    """Which of the publishes 1 … count are not confirmed yet."""

    def __init__(self, count: int) -> None:
        self.missing = set(range(1, count + 1))

    def note(self, frame: Any) -> None:
        assert frame.method.NAME == "Basic.Ack", "the broker did not take a message"
        tag = frame.method.delivery_tag
        multiple = frame.method.multiple
        self.missing -= {number for number in self.missing if number <= tag} if multiple else {tag}


class Amqp:
    """One blocking connection with one confirming channel."""

    def __init__(self, url: str) -> None:
        self.connection = pika.BlockingConnection(pika.URLParameters(url))
        self.channel: BlockingChannel = self.connection.channel()
        self.channel.confirm_delivery()

    def close(self) -> None:
        if self.connection.is_open:
            self.connection.close()

    def declare(self, queue: str, queue_type: str = "classic", **arguments: Any) -> str:
        """Declare a durable queue; `x_max_length=5` becomes the argument x-max-length."""
        renamed = {key.replace("_", "-"): value for key, value in arguments.items()}
        self.channel.queue_declare(queue, durable=True, arguments={"x-queue-type": queue_type, **renamed})
        return queue

    def publish(self, queue: str, body: bytes, properties: pika.BasicProperties | None = None) -> None:
        """Publish one persistent message and wait for its confirm; a missing queue is an error."""
        properties = properties or pika.BasicProperties(delivery_mode=2)
        self.channel.basic_publish("", queue, body, properties, mandatory=True)

    def publish_numbered(self, queue: str, count: int, size: int = 0, first: int = 0) -> list[bytes]:
        """Publish messages that start with their number, `size` bytes long or more; return their bodies."""
        bodies = [str(number).encode().ljust(size, b".") for number in range(first, first + count)]
        self.publish_all(queue, bodies)
        return bodies

    def publish_all(self, queue: str, bodies: Sequence[bytes]) -> None:
        """Publish many on a channel of its own, and wait for the confirms of all of them together."""
        self.publish_each({queue: bodies})

    def publish_each(self, bodies_of: Mapping[str, Sequence[bytes]]) -> None:
        """The same to many queues. A channel that closes before the confirms may lose what a quorum queue was sent."""
        channel = self.connection.channel()
        confirms = _Confirms(sum(map(len, bodies_of.values())))
        raw = channel._impl  # the blocking channel can only wait for one confirm at a time
        raw.confirm_delivery(confirms.note)
        for queue, bodies in bodies_of.items():
            for body in bodies:
                raw.basic_publish("", queue, body, pika.BasicProperties(delivery_mode=2))
        wait_until(lambda: self._turn() or not confirms.missing, deadline=60, what="everything is confirmed")
        channel.close()

    def _turn(self) -> None:
        self.connection.process_data_events(time_limit=0)

    def depth(self, queue: str) -> int:
        """Ready messages, fresh."""
        return int(self.channel.queue_declare(queue, passive=True).method.message_count)

    def exists(self, queue: str) -> bool:
        """Is there such a queue? Asked on a channel of its own, because a no closes it."""
        channel = self.connection.channel()
        try:
            channel.queue_declare(queue, passive=True)
        except pika.exceptions.ChannelClosedByBroker as error:
            if error.reply_code != 404:
                raise
            return False
        channel.close()
        return True

    def read_all(self, queue: str) -> list[Received]:
        """Take everything that is ready now, acknowledged."""
        return list(self._read(queue))

    def bodies(self, queue: str) -> list[bytes]:
        """The bodies of everything that is ready now, acknowledged."""
        return [message.body for message in self._read(queue)]

    def _read(self, queue: str) -> Iterator[Received]:
        while True:
            method, properties, body = self.channel.basic_get(queue)
            if method is None:
                return
            self.channel.basic_ack(method.delivery_tag)
            yield Received(body, properties, method.redelivered, method.exchange, method.routing_key)


@contextmanager
def connected(url: str) -> Iterator[Amqp]:
    """An `Amqp` for the length of a block."""
    amqp = Amqp(url)
    try:
        yield amqp
    finally:
        amqp.close()


def header(message: Received, name: str) -> Any:
    """One header of a message, or None."""
    headers: Mapping[str, Any] = message.properties.headers or {}
    return headers.get(name)
