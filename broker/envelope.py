"""A message on its way out of a publisher: its content as bytes, its fate, and who waits for it.

Threads hand envelopes to the outbox's loop and wait on a tally. Only the loop settles an envelope, and it settles
each exactly once.
"""

import struct
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pika

from raquo.broker.fields import write_table
from raquo.broker.frames import short_string
from raquo.mutators.errors import BadMessage
from raquo.mutators.message import PROPERTIES, Message

PERSISTENT = 2
_STAMP = short_string(b"raquo-staged-at") + b"l"
_FLAGS = {name: 1 << (15 - index) for index, name in enumerate(PROPERTIES)}
_LATEST = 2**64


class Tally:
    """How many of a call's messages are settled; the calling thread waits on it."""

    def __init__(self) -> None:
        self.confirmed = 0
        self.failed = 0
        self.error: Exception | None = None
        self._changed = threading.Condition()

    @property
    def settled(self) -> int:
        """Confirmed or given up."""
        return self.confirmed + self.failed

    def count(self, error: Exception | None) -> None:
        """One more is settled; the first error is kept."""
        with self._changed:
            if error is None:
                self.confirmed += 1
            else:
                self.failed += 1
                self.error = self.error or error
            self._changed.notify_all()

    def wait_for(self, settled: int, timeout: float) -> bool:
        """Block until so many are settled."""
        with self._changed:
            return self._changed.wait_for(lambda: self.settled >= settled, timeout)


class Envelope:
    """One message with its queue; `arguments` are those to declare the queue with, or None if it is not ours."""

    __slots__ = (
        "arguments", "body", "content", "deadline", "queue", "refusals", "returned", "returns", "sent", "sequence",
        "tally",
    )  # fmt: skip

    def __init__(
        self,
        queue: str,
        body: bytes,
        content: "Content",
        arguments: "Mapping[str, Any] | None",
        deadline: float,
        tally: Tally,
    ) -> None:
        self.queue = queue
        self.body = body
        self.content = content
        self.arguments = arguments
        self.deadline = deadline
        self.tally: Tally | None = tally
        self.sent = False  # it has left this process at least once
        self.sequence = 0  # its number on the channel on which it was sent last
        self.returned = False  # it, or another to the same queue, came back from where it was sent last
        self.returns = self.refusals = 0  # how often it was published again after a return, and after a nack

    @property
    def settled(self) -> bool:
        """Whether its fate has been told."""
        return self.tally is None

    def settle(self, error: Exception | None = None) -> None:
        """Tell the waiting thread, once."""
        tally, self.tally = self.tally, None
        if tally is not None:
            tally.count(error)


class Content(pika.BasicProperties):  # type: ignore[misc]  # pika ships no types
    """Properties that are encoded already: pika's own encoder knows no floats."""

    def __init__(self, encoded: bytes) -> None:
        self.size = len(encoded)
        self._encoded = encoded

    def encode(self) -> list[bytes]:
        """What pika puts behind the body size in a content header."""
        return [self._encoded]


def encode(message: Message, *, persistent: bool, staged_at: int | None) -> Content:
    """A message's properties, with the stamp if it is staged; what AMQP cannot carry is refused in words."""
    properties = {"delivery_mode": PERSISTENT, **message.properties} if persistent else dict(message.properties)
    headers = _headers(message.headers, staged_at)
    flags = _FLAGS["headers"] if headers else 0
    pieces = []
    for name in PROPERTIES:
        if name == "headers":
            pieces.append(headers)
        elif (value := properties.get(name)) is not None:
            flags |= _FLAGS[name]
            pieces.append(_encoded(name, value))
    return Content(struct.pack(">H", flags) + b"".join(pieces))


def _headers(headers: Mapping[str, Any], staged_at: int | None) -> bytes:
    if staged_at is None:
        return write_table(headers) if headers else b""
    table = write_table({key: value for key, value in headers.items() if key != "raquo-staged-at"})[4:]
    table += _STAMP + struct.pack(">q", staged_at)
    return struct.pack(">I", len(table)) + table


def _encoded(name: str, value: object) -> bytes:
    if name == "delivery_mode":
        return _octet(name, value, range(1, 3), "1 (transient) or 2 (persistent)")
    if name == "priority":
        return _octet(name, value, range(256), "a number from 0 to 255")
    if name == "timestamp":
        return _timestamp(value)
    text = value if isinstance(value, bytes) else _utf8(name, str(value))
    if len(text) > 255:
        raise BadMessage(f"{name} has {len(text)} bytes; AMQP carries 255 at most: send it as a header")
    return short_string(text)


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadMessage(f"{name} = {text[:40]!r}: that is no text that UTF-8 can carry") from None


def _octet(name: str, value: object, allowed: range, expected: str) -> bytes:
    if not isinstance(value, int) or value not in allowed:
        raise BadMessage(f"{name} = {value!r}: expected {expected}")
    return bytes((value,))


def _timestamp(value: object) -> bytes:
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise BadMessage(f"timestamp = {value!r}: expected a date, or seconds since 1970")
    return struct.pack(">Q", int(value))
