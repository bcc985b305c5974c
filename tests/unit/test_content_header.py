"""The content header as it is passed on: what must go is cut out as bytes, and nothing else changes by a bit."""

from struct import pack, unpack_from
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo.broker import content_header, frames
from support import wire

_US = b"mover"
_FRAME_MAX = 131_072
_CC = wire.entry("CC", b"A" + pack(">I", 10) + b"S\x00\x00\x00\x05other")
_RAQUO_CC = wire.entry("raquo-cc", _CC[3:])
_COUNTS = (wire.entry("x-delivery-count", b"l" + pack(">q", 3)), wire.entry("x-acquired-count", b"B\x04"))
_ALL_TYPES = b"".join(wire.entry(name, wire.nested(value, 2)) for name, value in wire.VALUES.items())
_EVERY_PROPERTY: dict[str, Any] = {
    "content_type": "text/plain",
    "content_encoding": "gzip",
    "delivery_mode": 2,
    "priority": 9,
    "correlation_id": "correlation",
    "reply_to": "reply",
    "expiration": "60000",
    "message_id": "message",
    "timestamp": 1_700_000_000,
    "type": "type",
    "app_id": "app",
    "cluster_id": "cluster",
}


def _frame(*entries: bytes, **properties: Any) -> bytes:
    """A content header of 5 bytes of body; no entries: no header table at all."""
    table = {"headers": wire.table(*entries)} if entries else {}
    return wire.header_frame(7, 5, wire.property_list(**table, **properties))


def _passed_on(frame: bytes, frame_max: int = _FRAME_MAX) -> bytes:
    return content_header.passed_on(frame, _US, frame_max)


def _kept_user(user: str) -> bytes:
    return wire.entry("raquo-user-id", b"S" + pack(">I", len(user)) + user.encode())


def test_a_message_with_nothing_to_cut_is_the_same_object() -> None:
    frame = _frame(_ALL_TYPES, **_EVERY_PROPERTY)
    assert _passed_on(frame) is frame


def test_our_own_user_id_stays() -> None:
    frame = _frame(_ALL_TYPES, **_EVERY_PROPERTY, user_id=_US)
    assert _passed_on(frame) == frame


@pytest.mark.parametrize("others", [{}, _EVERY_PROPERTY], ids=["alone", "among all properties"])
def test_anothers_user_id_becomes_a_header(others: dict[str, Any]) -> None:
    frame = _frame(_ALL_TYPES, **others, user_id="somebody")
    assert _passed_on(frame) == _frame(_ALL_TYPES, _kept_user("somebody"), **others)


@pytest.mark.parametrize("others", [{}, _EVERY_PROPERTY], ids=["alone", "among all properties"])
def test_anothers_user_id_makes_a_header_table_where_there_was_none(others: dict[str, Any]) -> None:
    assert _passed_on(_frame(**others, user_id="somebody")) == _frame(_kept_user("somebody"), **others)


def test_an_empty_user_id_of_somebody_is_cut_out_too() -> None:
    assert _passed_on(_frame(user_id="")) == _frame(_kept_user(""))


def test_a_user_whose_name_starts_like_ours_is_another() -> None:
    assert _passed_on(_frame(user_id="mover2")) == _frame(_kept_user("mover2"))


def test_cc_keeps_its_value_and_place_under_our_name() -> None:
    first, last = wire.entry("first", b"V"), wire.entry("last", b"t\x01")
    assert _passed_on(_frame(first, _CC, last)) == _frame(first, _RAQUO_CC, last)


@pytest.mark.parametrize("count", _COUNTS, ids=["x-delivery-count", "x-acquired-count"])
def test_the_brokers_own_counts_go(count: bytes) -> None:
    first, last = wire.entry("first", b"V"), wire.entry("last", b"t\x01")
    assert _passed_on(_frame(first, count, last, **_EVERY_PROPERTY)) == _frame(first, last, **_EVERY_PROPERTY)


def test_a_table_that_held_only_the_brokers_counts_goes_with_them() -> None:
    assert _passed_on(_frame(*_COUNTS, **_EVERY_PROPERTY)) == _frame(**_EVERY_PROPERTY)


def test_an_empty_table_stays() -> None:
    frame = wire.header_frame(7, 5, wire.property_list(headers=wire.table(), **_EVERY_PROPERTY, user_id=_US))
    assert _passed_on(frame) == frame


def test_everything_at_once() -> None:
    frame = _frame(_COUNTS[0], _ALL_TYPES, _CC, _COUNTS[1], **_EVERY_PROPERTY, user_id="somebody")
    assert _passed_on(frame) == _frame(_ALL_TYPES, _RAQUO_CC, _kept_user("somebody"), **_EVERY_PROPERTY)


@pytest.mark.parametrize(
    "entry",
    [
        wire.entry("cc", b"V"),
        wire.entry("CCC", b"V"),
        wire.entry("text", b"S\x00\x00\x00\x03\x02CC"),
        wire.entry("inner", b"F" + wire.table(_CC, *_COUNTS)),
        wire.entry("my-count", b"V"),
        wire.entry("x-delivery-counts", b"V"),
    ],
    ids=["cc", "CCC", "in a text", "in an inner table", "my-count", "x-delivery-counts"],
)
def test_a_false_alarm_changes_nothing(entry: bytes) -> None:
    frame = _frame(wire.entry("before", b"V"), entry, wire.entry("behind", b"V"), **_EVERY_PROPERTY)
    assert _passed_on(frame) == frame


def test_what_was_cut_out_is_not_kept_where_the_frame_would_become_too_long() -> None:
    frame = _frame(wire.entry("long", b"x" + pack(">I", 400) + bytes(400)), _CC, user_id="somebody")
    kept = _passed_on(frame, len(frame) + 30)
    assert b"raquo-cc" in kept
    assert len(kept) <= len(frame) + 30
    cut = _passed_on(frame, len(frame))
    assert cut == _frame(wire.entry("long", b"x" + pack(">I", 400) + bytes(400)))


@pytest.mark.parametrize("bad", [b"?12", b"S\x00\x00\xff\xff"], ids=["unknown type", "cut off"])
def test_a_table_that_we_do_not_understand_is_left_alone(bad: bytes) -> None:
    frame = _frame(wire.entry("odd", bad), _CC, *_COUNTS, user_id="somebody")
    assert _passed_on(frame) is frame


@given(
    before=st.lists(st.sampled_from(list(wire.VALUES.values())), max_size=4),
    cut=st.lists(st.sampled_from([_CC, *_COUNTS]), max_size=3),
    behind=st.lists(st.builds(wire.nested, st.sampled_from(list(wire.VALUES.values()))), max_size=4),
    properties=st.fixed_dictionaries({}, optional={k: st.just(v) for k, v in _EVERY_PROPERTY.items()}),
    user=st.sampled_from([None, "mover", "somebody"]),
    channel=st.integers(1, 2047),
    size=st.integers(0, 2**63),
)
def test_everything_else_is_the_same_bytes(
    before: list[bytes],
    cut: list[bytes],
    behind: list[bytes],
    properties: dict[str, Any],
    user: str | None,
    channel: int,
    size: int,
) -> None:
    first, last = ([wire.entry(b"k", value) for value in values] for values in (before, behind))
    given_user = {} if user is None else {"user_id": user}
    frame = wire.header_frame(
        channel, size, wire.property_list(headers=wire.table(*first, *cut, *last), **properties, **given_user)
    )
    renamed = [_RAQUO_CC for entry in cut if entry == _CC]
    added = [_kept_user("somebody")] if user == "somebody" else []
    ours = {"user_id": "mover"} if user == "mover" else {}
    kept = [*first, *renamed, *last, *added]
    table = {"headers": wire.table(*kept)} if kept or not cut else {}
    expected = wire.property_list(**table, **properties, **ours)
    assert _passed_on(frame) == wire.header_frame(channel, size, expected)


def test_the_body_size_is_read_from_its_place() -> None:
    assert content_header.body_size(wire.header_frame(3, 2**40 + 1, wire.property_list())) == 2**40 + 1


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (b"l" + pack(">q", 1_700_000_000_123), 1_700_000_000_123),
        (b"T" + pack(">Q", 1_700_000_000), 1_700_000_000),
        (b"I" + pack(">i", 77), 77),
        (b"S\x00\x00\x00\x0277", None),
    ],
    ids=["long", "timestamp", "int", "text"],
)
def test_the_stamp_is_found_by_its_bytes(value: bytes, milliseconds: int | None) -> None:
    frame = _frame(wire.entry("first", b"V"), wire.entry("raquo-staged-at", value), wire.entry("last", b"V"))
    assert content_header.staged_at(frame) == milliseconds


def test_a_message_without_a_stamp_has_none() -> None:
    assert content_header.staged_at(_frame(wire.entry("first", b"V"))) is None


def test_an_edited_frame_says_its_own_length() -> None:
    edited = _passed_on(_frame(_CC, *_COUNTS, user_id="somebody"))
    assert unpack_from(">I", edited, 3)[0] == len(edited) - frames.OVERHEAD
    assert edited.endswith(frames.END)
