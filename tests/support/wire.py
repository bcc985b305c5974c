"""AMQP as bytes: frames found in a recording, and content headers made by hand, for what no client can make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import pack, unpack_from
from typing import Any

import pika

from raquo.broker import frames
from raquo.broker.fields import fields

PROTOCOL_HEADER = b"AMQP"

# A typed value of every kind that AMQP 0-9-1 tables have in RabbitMQ, as bytes.
VALUES: dict[str, bytes] = {
    "bool": b"t\x01",
    "signed byte": b"b\x80",
    "unsigned byte": b"B\xff",
    "short": b"s" + pack(">h", -300),
    "unsigned short": b"u" + pack(">H", 65_000),
    "int": b"I" + pack(">i", -70_000),
    "unsigned int": b"i" + pack(">I", 4_000_000_000),
    "long": b"l" + pack(">q", -(2**40)),
    "unsigned long": b"L" + pack(">Q", 2**63 + 1),
    "float": b"f" + pack(">f", 1.5),
    "double": b"d" + pack(">d", 1.5),
    "decimal": b"D" + pack(">Bi", 2, 150),
    "text": b"S" + pack(">I", 5) + "é text".encode()[:5],
    "not UTF-8": b"S\x00\x00\x00\x02\xff\xfe",
    "array": b"A" + pack(">I", 9) + b"I\x00\x00\x00\x01" + b"V" + b"t\x00" + b"V",
    "timestamp": b"T" + pack(">Q", 1_700_000_000),
    "void": b"V",
    "bytes": b"x" + pack(">I", 3) + b"\x00\x01\x02",
    "empty table": b"F\x00\x00\x00\x00",
    "empty array": b"A\x00\x00\x00\x00",
}


def entry(key: str | bytes, value: bytes) -> bytes:
    """A key and its typed value."""
    return frames.short_string(key) + value


def table(*entries: bytes) -> bytes:
    """Entries with their length in front."""
    body = b"".join(entries)
    return pack(">I", len(body)) + body


def nested(value: bytes, depth: int = 3) -> bytes:
    """The value in a table in an array in a table … ."""
    for level in range(depth):
        inside = b"F" + table(entry(f"level {level}", value))
        value = b"A" + pack(">I", len(inside)) + inside
    return value


_ORDER = (
    "content_type", "content_encoding", "headers", "delivery_mode", "priority", "correlation_id", "reply_to",
    "expiration", "message_id", "timestamp", "type", "user_id", "app_id", "cluster_id",
)  # fmt: skip
_NUMBERS = {"delivery_mode": ">B", "priority": ">B", "timestamp": ">Q"}


def property_list(**properties: str | int | bytes) -> bytes:
    """Flags and properties as in a content header; `headers` are given as a table's bytes."""
    flags, values = 0, b""
    for bit, name in enumerate(_ORDER):
        if name in properties:
            flags |= 1 << (15 - bit)
            values += _property(name, properties[name])
    return pack(">H", flags) + values


def _property(name: str, value: str | int | bytes) -> bytes:
    if name == "headers":
        assert isinstance(value, bytes)
        return value
    if name in _NUMBERS:
        return pack(_NUMBERS[name], value)
    assert isinstance(value, str | bytes)
    return frames.short_string(value)


def header_frame(channel: int, body_size: int, properties: bytes) -> bytes:
    """A content header frame; `properties` as `property_list` makes them."""
    payload = pack(">HHQ", 60, 0, body_size) + properties
    return frames.frame_start.pack(frames.HEADER, channel, len(payload)) + payload + frames.END


def body_frame(channel: int, body: bytes) -> bytes:
    return frames.frame_start.pack(frames.BODY, channel, len(body)) + body + frames.END


class RawProperties(pika.BasicProperties):  # type: ignore[misc]  # pika ships no types
    """Lets pika publish a property list that its own codec could not write."""

    def __init__(self, properties: bytes) -> None:
        super().__init__()
        self._raw = properties

    def encode(self) -> list[bytes]:
        return [self._raw]


@dataclass
class Content:
    """A message as it stood on the wire: the arguments of its method, property list, body and body frames."""

    method: int
    arguments: bytes
    properties: bytes = b""
    body_size: int = 0
    body: bytearray = field(default_factory=bytearray)
    pieces: list[int] = field(default_factory=list)


def frames_in(recording: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Type, channel and payload of every whole frame."""
    at = 8 if recording.startswith(PROTOCOL_HEADER) else 0
    while at + frames.OVERHEAD <= len(recording):
        kind, channel, length = frames.frame_start.unpack_from(recording, at)
        if at + length + frames.OVERHEAD > len(recording):
            return
        assert recording[at + 7 + length] == frames.END[0], "a frame does not end where it says"
        yield kind, channel, bytes(recording[at + 7 : at + 7 + length])
        at += length + frames.OVERHEAD


def methods_in(recording: bytes) -> list[tuple[int, int, bytes]]:
    """Channel, method number and arguments of every method frame."""
    return [
        (channel, unpack_from(">I", payload)[0], payload[4:])
        for kind, channel, payload in frames_in(recording)
        if kind == frames.METHOD
    ]


def contents_in(recording: bytes, *numbers: int) -> list[Content]:
    """The messages behind the methods of these numbers, in order; a method amid a content is an error."""
    found: list[Content] = []
    current: dict[int, Content] = {}
    for kind, channel, payload in frames_in(recording):
        if kind == frames.METHOD:
            assert channel not in current, "a method stands between a publish and its content"
            number = unpack_from(">I", payload)[0]
            if number in (frames.BASIC_DELIVER, frames.BASIC_GET_OK, frames.BASIC_RETURN, BASIC_PUBLISH):
                current[channel] = Content(number, payload[4:])
        elif channel in current:
            content = current[channel]
            if kind == frames.HEADER:
                content.body_size = unpack_from(">Q", payload, 4)[0]
                content.properties = payload[12:]
            else:
                content.body += payload
                content.pieces.append(len(payload))
            if len(content.body) == content.body_size:
                del current[channel]
                if content.method in numbers:
                    found.append(content)
    return found


BASIC_PUBLISH = 0x003C_0028
BASIC_QOS = 0x003C_000A


def header_table(properties: bytes) -> bytes:
    """The header table of a property list, its length in front, or an empty one."""
    flags = unpack_from(">H", properties)[0]
    at = 2
    for bit in (15, 14):
        if flags >> bit & 1:
            at += 1 + properties[at]
    if not flags >> 13 & 1:
        return table()
    return properties[at : at + 4 + unpack_from(">I", properties, at)[0]]


def as_set(raw_table: bytes) -> frozenset[Any]:
    """A table's entries without their order, at every level; values stay bytes."""
    return frozenset((found.key, _unordered(raw_table[found.value : found.end])) for found in fields(raw_table, 0))


def _unordered(value: bytes) -> Any:
    if value[:1] == b"F":
        return b"F", as_set(value[1:])
    if value[:1] == b"A":
        return b"A", tuple(_unordered(item) for item in _items(value[5:]))
    return value


def _items(array: bytes) -> Sequence[bytes]:
    """The typed values of an array: read as a table whose keys are empty."""
    items, at = [], 0
    while at < len(array):
        found = next(fields(table(b"\x00" + array[at:]), 0))
        items.append(array[at : at + found.end - found.value])
        at += found.end - found.value
    return items
