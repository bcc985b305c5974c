"""Field tables: what the writer makes, what it refuses, and whether the walker finds every field's end."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pika.data import decode_table

from raquo.broker.fields import UnknownField, fields, write_table
from raquo.mutators.errors import RaquoError
from support import wire

_WRITTEN: list[tuple[object, bytes]] = [
    ("text é", b"S" + pack(">I", 7) + "text é".encode()),
    ("", b"S\x00\x00\x00\x00"),
    (True, b"t\x01"),
    (False, b"t\x00"),
    (0, b"I\x00\x00\x00\x00"),
    (2**31 - 1, b"I\x7f\xff\xff\xff"),
    (-(2**31), b"I\x80\x00\x00\x00"),
    (2**31, b"l" + pack(">q", 2**31)),
    (-(2**63), b"l" + pack(">q", -(2**63))),
    (1.5, b"d" + pack(">d", 1.5)),
    (None, b"V"),
    (b"\x00\xff", b"x\x00\x00\x00\x02\x00\xff"),
    (bytearray(b"ab"), b"x\x00\x00\x00\x02ab"),
    pytest.param(memoryview(b"ab"), b"x\x00\x00\x00\x02ab", id="memoryview"),
    (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), b"T" + pack(">Q", 1_700_000_000)),
    (datetime(2023, 11, 14, 22, 13, 20), b"T" + pack(">Q", 1_700_000_000)),
    (datetime(2023, 11, 15, 0, 13, 20, tzinfo=timezone(timedelta(hours=2))), b"T" + pack(">Q", 1_700_000_000)),
    (Decimal("1.50"), b"D\x02" + pack(">i", 150)),
    (Decimal(-3), b"D\x00" + pack(">i", -3)),
    ([1, "a"], b"A\x00\x00\x00\x0b" + b"I\x00\x00\x00\x01" + b"S\x00\x00\x00\x01a"),
    ((), b"A\x00\x00\x00\x00"),
    ({"k": None}, b"F\x00\x00\x00\x03" + b"\x01kV"),
]


@pytest.mark.parametrize(("value", "written"), _WRITTEN, ids=lambda value: repr(value)[:40])
def test_each_type_is_written_in_its_own_way(value: object, written: bytes) -> None:
    assert write_table({"key": value}) == wire.table(wire.entry("key", written))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({7: "x"}, "header names are text"),
        ({"é" * 128: "x"}, "has 256 bytes"),
        ({"key": ...}, "'key': AMQP carries no ellipsis"),
        ({"key": {1, 2}}, "AMQP carries no set"),
        ({"key": 2**63}, "does not fit in 64 bits"),
        ({"key": -(2**63) - 1}, "does not fit in 64 bits"),
        ({"key": Decimal("1e5")}, "is no AMQP decimal"),
        ({"key": Decimal("NaN")}, "is no AMQP decimal"),
        ({"key": Decimal("Infinity")}, "is no AMQP decimal"),
        ({"key": Decimal(2**31)}, "is no AMQP decimal"),
        ({"key": Decimal("1e-256")}, "is no AMQP decimal"),
        ({"key": [1, ...]}, "AMQP carries no ellipsis"),
        ({"key": {"inner": ...}}, "'inner': AMQP carries no ellipsis"),
        ({"key": datetime(1969, 12, 31, tzinfo=UTC)}, "'key': 1969-12-31"),
        ({"key": "\ud800"}, "'key'.*UTF-8"),
        ({"\ud800": "x"}, "UTF-8"),
    ],
    ids=str,
)
def test_what_amqp_cannot_carry_is_refused_in_words(table: Mapping[Any, object], words: str) -> None:
    with pytest.raises(RaquoError, match=words):
        write_table(table)


def test_a_name_of_255_bytes_is_the_longest() -> None:
    assert write_table({"n" * 255: None}) == wire.table(b"\xff" + b"n" * 255 + b"V")


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-20_000_000, max_value=20_000_000),
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
)
_KEYS = st.text(max_size=60)
_TABLES = st.dictionaries(
    _KEYS,
    st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(_KEYS, inner), max_leaves=20),
)


@given(_TABLES)
def test_what_is_written_reads_back_the_same(table: dict[str, Any]) -> None:
    raw = write_table(table)
    decoded, end = decode_table(raw, 0)
    assert end == len(raw)
    assert _comparable(decoded) == _comparable(table)


def _comparable(value: Any) -> Any:
    """Dates as seconds: AMQP has no fractions of them, and not every pika reads them with a zone."""
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return int(value.replace(tzinfo=UTC).timestamp()) if isinstance(value, datetime) else value


_TYPED = st.sampled_from(list(wire.VALUES.values()))
_DEEP = st.builds(wire.nested, _TYPED, st.integers(0, 3))
_ENTRIES = st.lists(st.tuples(st.binary(max_size=255), _DEEP), max_size=12)


@given(_ENTRIES, st.binary(max_size=20), st.binary(max_size=20))
def test_every_field_of_every_type_is_found_at_its_place(
    entries: list[tuple[bytes, bytes]], before: bytes, behind: bytes
) -> None:
    buffer = before + wire.table(*(wire.entry(key, value) for key, value in entries)) + behind
    found = list(fields(buffer, len(before)))
    assert [(field.key, buffer[field.value : field.end]) for field in found] == entries
    assert [buffer[field.start : field.end] for field in found] == [wire.entry(*pair) for pair in entries]
    starts = [field.start for field in found] + [len(buffer) - len(behind)]
    assert starts == [len(before) + 4] + [field.end for field in found]


@pytest.mark.parametrize("kind", ["?", "Z", "\x00"])
def test_a_field_of_an_unknown_type_is_named(kind: str) -> None:
    raw = wire.table(wire.entry("known", b"V"), wire.entry("unknown", kind.encode() + b"1234"))
    with pytest.raises(UnknownField, match="field type"):
        list(fields(raw, 0))


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_table_that_ends_before_its_last_field_does_is_not_trusted(cut: int) -> None:
    whole = wire.table(wire.entry("key", b"V"), wire.entry("text", b"S\x00\x00\x00\x05" + b"abcde"))
    with pytest.raises(UnknownField):
        list(fields(whole[:-cut], 0))
