"""What happens around the clock: queues are declared, filled, counted and deleted.

Filling is no part of any measurement, only of everybody's patience: the frames of a message are made once, and sent
hundreds at a time. pika has no public way to send frames that are made already, so one member is used that is not.

Staging queues are filled with what a publisher leaves there: the headers by which it was routed, and the stamp.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import pika
import pika.frame
from pika.adapters.blocking_connection import BlockingConnection

from benchmarks.confirms import Confirms
from raquo.broker.envelope import Content, encode
from raquo.mutators import Message
from raquo.mutators.names import StagingName

_BLOB_BYTES = 512 * 1024
_BYTES_ON_THEIR_WAY = 16 * 1024 * 1024
_TO_FILL = 60.0
_METHODS_AT_ONCE = 100


class Queues:
    """The queues of a benchmark, over a connection of its own."""

    def __init__(self, url: str) -> None:
        self._connection: Any = BlockingConnection(pika.URLParameters(url))
        self._channel = self._connection.channel()

    def close(self) -> None:
        if self._connection.is_open:
            self._connection.close()

    def declare(self, names: Iterable[str], queue_type: str) -> None:
        for name in names:
            self._channel.queue_declare(name, durable=True, arguments={"x-queue-type": queue_type})

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._channel.queue_delete(name)

    def declare_many(self, names: Sequence[str], queue_type: str, advance: Callable[[int], None]) -> None:
        """The same for thousands: pipelined, `advance` is told of every hundred."""
        arguments = {"x-queue-type": queue_type}
        declares = (pika.spec.Queue.Declare(queue=n, durable=True, arguments=arguments, nowait=True) for n in names)
        self._send(declares, advance)

    def delete_many(self, names: Sequence[str], advance: Callable[[int], None]) -> None:
        """Pipelined too."""
        self._send((pika.spec.Queue.Delete(queue=name, nowait=True) for name in names), advance)

    def _send(self, methods: Iterable[Any], advance: Callable[[int], None]) -> None:
        left = iter(methods)
        while some := list(islice(left, _METHODS_AT_ONCE)):
            frames = (pika.frame.Method(self._channel.channel_number, method).marshal() for method in some)
            self._connection._impl._adapter_emit_data(b"".join(frames))
            self._channel.basic_qos()  # is answered when everything before it is done
            advance(len(some))

    def depths(self, names: Iterable[str]) -> int:
        """Messages that are ready in all of these together."""
        return sum(self.depth(name) for name in names)

    def depth(self, name: str) -> int:
        """Messages that are ready, fresh; 0 of a quorum queue may also mean that it did not answer."""
        return int(self._channel.queue_declare(name, passive=True).method.message_count)

    def take_all(self, names: Iterable[str]) -> int:
        """Empty these queues; how many messages were ready in them is certain for every type of queue."""
        return sum(int(self._channel.queue_purge(name).method.message_count) for name in names)

    def wait_for_depth(self, name: str, expected: int, deadline: float, interval: float = 0.005) -> bool:
        """Ask until the queue holds that many messages or more; False when `deadline` seconds have passed."""
        end = time.monotonic() + deadline
        while self.depth(name) < expected:
            if time.monotonic() > end:
                return False
            time.sleep(interval)
        return True

    def fill(self, names: Iterable[str], each: int, size: int) -> None:
        """Publish `each` persistent messages of `size` bytes to every queue, and wait for all confirms."""
        _Filling(self._connection, size).publish(names, each)


class _Filling:
    """Pipelined publishes on a channel of their own."""

    def __init__(self, connection: Any, size: int) -> None:
        self._connection = connection
        self._channel = connection.channel()
        self._size = size
        self._sent = 0
        self._confirms = Confirms()
        raw = self._channel._impl  # the blocking channel can only wait for one confirm at a time
        raw.confirm_delivery(self._confirms.note)

    def publish(self, names: Iterable[str], each: int) -> None:
        at_once = max(1, _BLOB_BYTES // self._size)
        for name in names:
            frames = self._frames(name)
            for begin in range(0, each, at_once):
                count = min(at_once, each - begin)
                self._connection._impl._adapter_emit_data(frames * count)
                self._sent += count
                self._wait_until_on_their_way(_BYTES_ON_THEIR_WAY // self._size)
        self._wait_until_on_their_way(0)
        self._channel.close()

    def _frames(self, name: str) -> bytes:
        number = self._channel.channel_number
        publish = pika.frame.Method(number, pika.spec.Basic.Publish(exchange="", routing_key=name, mandatory=True))
        header = pika.frame.Header(number, self._size, _content(name))
        body = pika.frame.Body(number, b"." * self._size)
        return b"".join(frame.marshal() for frame in (publish, header, body))

    def _wait_until_on_their_way(self, at_most: int) -> None:
        end = time.monotonic() + _TO_FILL
        while self._sent - self._confirms.up_to > at_most:
            self._connection.process_data_events(time_limit=0.01)
            if time.monotonic() > end:
                raise TimeoutError("the broker did not take the messages to be moved")


def _content(queue: str) -> Content:
    """Properties as the publisher encodes them for this queue: a stamp only where it is a staging queue."""
    name = StagingName.parse(queue)
    headers = {"tenant": name.tenant if name else "direct", "workflow": "workflow-1"}
    return encode(Message(b"", headers), persistent=True, staged_at=int(time.time() * 1000) if name else None)
