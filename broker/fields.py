"""AMQP field tables as bytes: written from Python values, walked without being decoded.

A message on its way is never decoded and encoded again, because no codec gives back what it was given: pika's
turns 1.5 into 1 and forgets how wide a number was. So there is a writer here, for what a publisher makes itself, and
a walker that finds where a field starts and ends in a table that somebody else wrote.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from struct import Struct, error, pack
from typing import NamedTuple

from raquo.mutators.errors import UnsupportedHeader

_length = Struct(">I")
_FIXED = {b"t": 1, b"b": 1, b"B": 1, b"s": 2, b"u": 2, b"I": 4, b"i": 4, b"l": 8, b"L": 8, b"f": 4, b"d": 8, b"D": 5}
_FIXED |= {b"T": 8, b"V": 0}
_COUNTED = frozenset((b"S", b"x", b"A", b"F"))


class UnknownField(ValueError):
    """A table holds a field of a type that nobody told us of, or is cut off; such a table is left alone."""


class Field(NamedTuple):
    """Where one field of a table stands: its key, and the offsets of entry, typed value and end."""

    key: bytes
    start: int
    value: int
    end: int


def fields(buffer: bytes, start: int) -> Iterator[Field]:
    """The top-level fields of the table whose four length bytes are at `start`."""
    at = start + 4
    end = at + _length.unpack_from(buffer, start)[0]
    if end > len(buffer):
        raise UnknownField("the table is longer than what holds it")
    while at < end:
        value = at + 1 + buffer[at]
        after = _skip(buffer, value)
        if after > end:
            raise UnknownField("the last field is longer than its table")
        yield Field(buffer[at + 1 : value], at, value, after)
        at = after


def _skip(buffer: bytes, at: int) -> int:
    """The offset behind the typed value at `at`."""
    kind = buffer[at : at + 1]
    if kind in _COUNTED:
        return at + 5 + int.from_bytes(buffer[at + 1 : at + 5])
    try:
        return at + 1 + _FIXED[kind]
    except KeyError:
        raise UnknownField(f"field type {kind!r}") from None


def write_table(table: Mapping[str, object]) -> bytes:
    """A table with its length in front; what AMQP cannot carry is refused in words."""
    body = b"".join([_write_key(key) + _write_value(key, value) for key, value in table.items()])
    return _length.pack(len(body)) + body


def _write_key(key: object) -> bytes:
    if not isinstance(key, str):
        raise UnsupportedHeader(f"header names are text, and {key!r} is {type(key).__name__}")
    raw = _utf8(key, key)
    if len(raw) > 255:
        raise UnsupportedHeader(f"header name {key[:40]!r}… has {len(raw)} bytes; AMQP carries 255 at most")
    return bytes((len(raw),)) + raw


def _write_value(key: str, value: object) -> bytes:
    match value:
        case str():
            return _counted(b"S", _utf8(key, value))
        case bool():
            return b"t\x01" if value else b"t\x00"
        case int():
            return _write_integer(key, value)
        case float():
            return b"d" + pack(">d", value)
        case None:
            return b"V"
        case bytes() | bytearray() | memoryview():
            return _counted(b"x", bytes(value))
        case Mapping():
            return b"F" + write_table(value)
        case datetime():
            return _write_date(key, value)
        case Decimal():
            return _write_decimal(key, value)
        case Sequence():
            return _counted(b"A", b"".join([_write_value(key, item) for item in value]))
        case _:
            raise UnsupportedHeader(
                f"header {key!r}: AMQP carries no {type(value).__name__}; "
                "use text, bytes, a number, a date, a list or a mapping"
            )


def _utf8(key: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnsupportedHeader(f"header {key!r}: {text[:40]!r} is not text that UTF-8 can carry") from None


def _counted(kind: bytes, raw: bytes) -> bytes:
    return kind + _length.pack(len(raw)) + raw


def _write_integer(key: str, value: int) -> bytes:
    try:
        return b"I" + pack(">i", value) if -(2**31) <= value < 2**31 else b"l" + pack(">q", value)
    except error:
        raise UnsupportedHeader(f"header {key!r}: {value} does not fit in 64 bits; send it as text") from None


def _write_date(key: str, value: datetime) -> bytes:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return b"T" + pack(">Q", math.floor(aware.timestamp()))
    except error:
        raise UnsupportedHeader(f"header {key!r}: {value} is before 1970; send it as text") from None


def _write_decimal(key: str, value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    scale = -exponent if isinstance(exponent, int) else -1
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    if not 0 <= scale <= 255 or not -(2**31) <= unscaled < 2**31:
        raise UnsupportedHeader(f"header {key!r}: {value} is no AMQP decimal (32 bits, scale 0 to 255): send text")
    return b"D" + pack(">Bi", scale, unscaled)
