"""Envelopes: properties as bytes, what is refused, and a fate that is told exactly once."""

import threading
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from struct import pack
from typing import Any

import pika
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo.broker.envelope import Content, Envelope, Tally, encode
from raquo.mutators import BadMessage, Message, RaquoError
from raquo.mutators.message import PROPERTIES
from support import wire

ALL = {
    "content_type": "application/json",
    "content_encoding": "gzip",
    "delivery_mode": 2,
    "priority": 7,
    "correlation_id": "c-1",
    "reply_to": "answers",
    "expiration": "60000",
    "message_id": "m-1",
    "timestamp": 1_700_000_000,
    "type": "order",
    "user_id": "guest",
    "app_id": "shop",
    "cluster_id": "here",
}


def raw(message: Message, *, persistent: bool = True, staged_at: int | None = None) -> bytes:
    (encoded,) = encode(message, persistent=persistent, staged_at=staged_at).encode()
    return encoded


def as_pika_reads(encoded: bytes) -> pika.BasicProperties:
    properties = pika.BasicProperties()
    properties.decode(encoded)
    return properties


def test_all_properties_stand_where_amqp_wants_them() -> None:
    message = Message(b"", {"a": "b"}, **ALL)
    expected = wire.property_list(headers=wire.table(wire.entry("a", b"S\x00\x00\x00\x01b")), **ALL)  # type: ignore[arg-type]
    assert raw(message) == expected


@given(st.sets(st.sampled_from(sorted(ALL))), st.booleans())
def test_any_choice_of_properties_reads_back_the_same(chosen: set[str], with_headers: bool) -> None:
    given = {name: ALL[name] for name in chosen}
    read = as_pika_reads(raw(Message(b"", {"a": 1} if with_headers else None, **given), persistent=False))
    assert {name: getattr(read, name) for name in PROPERTIES if getattr(read, name) is not None} == {
        **given,
        **({"headers": {"a": 1}} if with_headers else {}),
    }


def test_a_message_with_nothing_to_say_has_no_properties() -> None:
    assert raw(Message(), persistent=False) == b"\x00\x00"


def test_messages_are_persistent_unless_said_otherwise() -> None:
    assert as_pika_reads(raw(Message())).delivery_mode == 2
    assert as_pika_reads(raw(Message(), persistent=False)).delivery_mode is None
    assert as_pika_reads(raw(Message(delivery_mode=1))).delivery_mode == 1


def test_a_property_that_is_none_is_left_out() -> None:
    assert as_pika_reads(raw(Message(message_id=None))).message_id is None


def test_a_number_where_amqp_has_text_becomes_text() -> None:
    assert as_pika_reads(raw(Message(expiration=60_000))).expiration == "60000"


def test_the_stamp_is_a_64_bit_integer_behind_the_users_headers() -> None:
    stamp = wire.entry("raquo-staged-at", b"l" + pack(">q", 1_700_000_000_123))
    headers = wire.table(wire.entry("tenant", b"S\x00\x00\x00\x02t1"), stamp)
    assert wire.header_table(raw(Message(b"", {"tenant": "t1"}), staged_at=1_700_000_000_123)) == headers


def test_an_old_stamp_is_replaced() -> None:
    encoded = raw(Message(b"", {"raquo-staged-at": 5, "tenant": "t1"}), staged_at=6)
    assert encoded.count(b"raquo-staged-at") == 1
    assert as_pika_reads(encoded).headers == {"tenant": "t1", "raquo-staged-at": 6}


def test_without_a_stamp_headers_stay_as_they_are() -> None:
    assert as_pika_reads(raw(Message(b"", {"raquo-staged-at": 5}))).headers == {"raquo-staged-at": 5}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1_700_000_000, 1_700_000_000),
        (1_700_000_000.9, 1_700_000_000),
        (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), 1_700_000_000),
        (datetime(2023, 11, 14, 22, 13, 20), 1_700_000_000),  # taken as UTC
        (datetime(2023, 11, 15, 0, 13, 20, tzinfo=timezone(timedelta(hours=2))), 1_700_000_000),
        (0, 0),
    ],
)
def test_a_timestamp_is_a_date_or_seconds(value: object, seconds: int) -> None:
    assert raw(Message(timestamp=value), persistent=False) == wire.property_list(timestamp=seconds)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"priority": -1}, "priority = -1: expected a number from 0 to 255"),
    ({"priority": 256}, "priority = 256"),
    ({"priority": "7"}, "priority = '7'"),
    ({"priority": 1.5}, "priority = 1.5"),
    ({"delivery_mode": 3}, "delivery_mode = 3: expected 1 .*or 2"),
    ({"delivery_mode": 0}, "delivery_mode = 0"),
    ({"delivery_mode": "persistent"}, "delivery_mode = 'persistent'"),
    ({"timestamp": "yesterday"}, "timestamp = 'yesterday': expected a date"),
    ({"timestamp": -1}, "timestamp = -1"),
    ({"timestamp": float("nan")}, "timestamp = nan"),
    ({"timestamp": float("inf")}, "timestamp = inf"),
    ({"timestamp": 2**64}, "timestamp = 18446744073709551616"),
    ({"timestamp": datetime(1969, 12, 31, tzinfo=UTC)}, "timestamp"),
    ({"message_id": "é" * 128}, "message_id has 256 bytes; AMQP carries 255 at most"),
    ({"correlation_id": b"x" * 256}, "correlation_id has 256 bytes"),
    ({"app_id": "\ud800"}, "app_id.*UTF-8"),
]


@pytest.mark.parametrize(("properties", "words"), REFUSED, ids=str)
def test_a_property_that_amqp_cannot_carry_is_refused_in_words(properties: dict[str, Any], words: str) -> None:
    with pytest.raises(BadMessage, match=words) as caught:
        raw(Message(**properties))
    assert isinstance(caught.value, RaquoError)


@pytest.mark.parametrize("value", [..., {1}, 2**63, Decimal("NaN")], ids=str)
def test_a_header_that_amqp_cannot_carry_is_refused_with_and_without_a_stamp(value: object) -> None:
    for staged_at in (None, 1):
        with pytest.raises(BadMessage, match="'key'"):
            raw(Message(b"", {"key": value}), staged_at=staged_at)


def test_a_property_of_255_bytes_is_the_longest() -> None:
    assert as_pika_reads(raw(Message(message_id="m" * 255))).message_id == "m" * 255


def test_pika_takes_encoded_content_for_properties() -> None:
    content = encode(Message(message_id="m"), persistent=True, staged_at=None)
    assert isinstance(content, pika.BasicProperties)
    assert repr(content)  # pika logs it


def envelope(tally: Tally) -> Envelope:
    return Envelope("queue", b"", Content(b"\x00\x00"), None, 0.0, tally)


def test_an_envelope_is_settled_once() -> None:
    tally = Tally()
    one = envelope(tally)
    before = one.settled
    one.settle()
    one.settle(RaquoError("too late"))
    assert (before, one.settled) == (False, True)
    assert (tally.confirmed, tally.failed, tally.error) == (1, 0, None)


def test_a_tally_keeps_the_first_error() -> None:
    tally = Tally()
    for error in (RaquoError("first"), None, RaquoError("second")):
        envelope(tally).settle(error)
    assert (tally.confirmed, tally.failed, tally.settled) == (1, 2, 3)
    assert str(tally.error) == "first"


def test_waiting_for_a_tally_ends_when_enough_are_settled_or_time_is_up() -> None:
    tally = Tally()
    assert not tally.wait_for(1, timeout=0.01)
    later = threading.Timer(0.05, envelope(tally).settle)
    later.start()
    assert tally.wait_for(1, timeout=30)
    later.join()
