"""AMQP 0-9-1 frames as bytes: the few that a mover sends, and the numbers of those it reads.

A frame is `type(1) channel(2) size(4) payload(size) 0xCE`; a method's payload starts with its class and method
numbers. Pure: no socket, no pika.
"""

from struct import Struct

METHOD, HEADER, BODY = 1, 2, 3
END = b"\xce"
OVERHEAD = 8

frame_start = Struct(">BHI")
method_number = Struct(">I")
_long_long = Struct(">Q")
_short = Struct(">H")

CHANNEL_OPEN_OK = 0x0014_000B
CHANNEL_CLOSE = 0x0014_0028
CHANNEL_CLOSE_OK = 0x0014_0029
QUEUE_DECLARE_OK = 0x0032_000B
BASIC_QOS_OK = 0x003C_000B
BASIC_CONSUME_OK = 0x003C_0015
BASIC_CANCEL = 0x003C_001E
BASIC_CANCEL_OK = 0x003C_001F
BASIC_RETURN = 0x003C_0032
BASIC_DELIVER = 0x003C_003C
BASIC_GET_OK = 0x003C_0047
BASIC_GET_EMPTY = 0x003C_0048
BASIC_ACK = 0x003C_0050
BASIC_NACK = 0x003C_0078
CONFIRM_SELECT_OK = 0x0055_000B

_CHANNEL_OPEN = 0x0014_000A
_QUEUE_DECLARE = 0x0032_000A
_BASIC_QOS = 0x003C_000A
_BASIC_CONSUME = 0x003C_0014
_BASIC_PUBLISH = 0x003C_0028
_BASIC_GET = 0x003C_0046
_CONFIRM_SELECT = 0x0055_000A

_MANDATORY = b"\x01"
_PASSIVE = b"\x01"
_EMPTY_TABLE = b"\x00\x00\x00\x00"
_NO_TICKET = b"\x00\x00"


def short_string(value: str | bytes) -> bytes:
    """A length octet and at most 255 bytes."""
    raw = value.encode() if isinstance(value, str) else value
    return bytes((len(raw),)) + raw


def method(channel: int, number: int, arguments: bytes = b"") -> bytes:
    """One whole method frame."""
    return (
        frame_start.pack(METHOD, channel, 4 + len(arguments)) + method_number.pack(number) + arguments + END
    )


def channel_open(channel: int) -> bytes:
    return method(channel, _CHANNEL_OPEN, b"\x00")


def channel_close(channel: int) -> bytes:
    return method(channel, CHANNEL_CLOSE, _short.pack(200) + short_string("done") + b"\x00\x00\x00\x00")


def channel_close_ok(channel: int) -> bytes:
    return method(channel, CHANNEL_CLOSE_OK)


def confirm_select(channel: int) -> bytes:
    return method(channel, _CONFIRM_SELECT, b"\x00")


def passive_declare(channel: int, queue: str) -> bytes:
    return method(channel, _QUEUE_DECLARE, _NO_TICKET + short_string(queue) + _PASSIVE + _EMPTY_TABLE)


def basic_qos(channel: int, prefetch: int) -> bytes:
    return method(channel, _BASIC_QOS, b"\x00\x00\x00\x00" + _short.pack(prefetch) + b"\x00")


def basic_consume(channel: int, queue: str, tag: str) -> bytes:
    names = short_string(queue) + short_string(tag)
    return method(channel, _BASIC_CONSUME, _NO_TICKET + names + b"\x00" + _EMPTY_TABLE)


def basic_cancel(channel: int, tag: str) -> bytes:
    return method(channel, BASIC_CANCEL, short_string(tag) + b"\x00")


def basic_get(channel: int, queue: str) -> bytes:
    return method(channel, _BASIC_GET, _NO_TICKET + short_string(queue) + b"\x00")


def basic_ack(channel: int, delivery_tag: int, multiple: bool) -> bytes:
    return method(channel, BASIC_ACK, _long_long.pack(delivery_tag) + (b"\x01" if multiple else b"\x00"))


def basic_publish(channel: int, queue: str) -> bytes:
    """A mandatory publish to the default exchange; the content frames follow it."""
    return method(channel, _BASIC_PUBLISH, _NO_TICKET + b"\x00" + short_string(queue) + _MANDATORY)
