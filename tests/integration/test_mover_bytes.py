"""What the target gets is what the staging queue delivered, byte for byte, except for what the broker would act on.

RabbitMQ 4 puts the fields of a header table into an order of its own (and turns an unsigned long into a signed one), so
there the delivery from the target is compared with the one from staging entry by entry, at every level. What the mover
*sent* is compared with what it *received* as bytes on every release: both are recorded between it and the broker.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from struct import pack

import pika
import pytest

from raquo.broker import frames
from raquo.broker.grant import Grant
from raquo.broker.splice import Splice
from support import wire
from support.admin import Admin
from support.amqp import Amqp, connected, header
from support.moving import drained, move
from support.proxy import Passage, Proxy
from support.waiting import wait_until

_FRAME_MAX = 131_072
_ONE_FRAME = _FRAME_MAX - frames.OVERHEAD
_PROPERTIES = {
    "content_type": "application/octet-stream",
    "content_encoding": "identity",
    "delivery_mode": 2,
    "priority": 7,
    "correlation_id": "correlation",
    "reply_to": "reply",
    "expiration": "3600000",
    "message_id": "message",
    "timestamp": 1_700_000_000,
    "type": "type",
    "user_id": "guest",
    "app_id": "app",
    "cluster_id": "cluster",
}


@pytest.fixture(autouse=True)
def _queues(amqp: Amqp, queue_type: str) -> None:
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)


@pytest.fixture
def proxy(vhost_url: str) -> Iterator[Proxy]:
    with Proxy(vhost_url) as proxy:
        yield proxy


def _publish(amqp: Amqp, properties: bytes, body: bytes = b"body") -> None:
    amqp.publish("staging", body, wire.RawProperties(properties))


def _moved(proxy: Proxy, count: int = 1, by_get: bool = False) -> tuple[list[wire.Content], list[wire.Content]]:
    """Move so many, and return the messages as the mover received and as it sent them."""
    assert move(proxy.url, "staging", "target", count, by_get=by_get).moved == count
    passage = proxy.last
    received = wire.contents_in(passage.down, frames.BASIC_DELIVER, frames.BASIC_GET_OK)
    return received, wire.contents_in(passage.up, wire.BASIC_PUBLISH)


def _delivered_by_target(proxy: Proxy) -> wire.Content:
    with connected(proxy.url) as worker:
        assert drained(worker, "target")
    return wire.contents_in(proxy.last.down, frames.BASIC_DELIVER)[0]


def _same(first: wire.Content, second: wire.Content) -> None:
    assert first.properties == second.properties
    assert first.body == second.body
    assert first.pieces == second.pieces


def _without_count(content: wire.Content) -> wire.Content:
    """On 3.10 a quorum queue adds its count, 0, to whatever is fetched by get."""
    table = wire.header_table(content.properties)
    count = wire.entry("x-delivery-count", b"l" + bytes(8))
    if content.method == frames.BASIC_GET_OK and count in table:
        rest = table[4:].replace(count, b"")
        flags = int.from_bytes(content.properties[:2]) & ~(0 if rest else 1 << 13)
        properties = content.properties[2:].replace(table, wire.table(rest) if rest else b"")
        return replace(content, properties=pack(">H", flags) + properties)
    return content


def _same_but_for_the_order_of_headers(first: bytes, second: bytes) -> None:
    tables = [wire.header_table(properties) for properties in (first, second)]
    assert wire.as_set(tables[0]) == wire.as_set(tables[1])
    assert first.replace(tables[0], b"") == second.replace(tables[1], b"")


# Unchanged


def _every_header() -> bytes:
    flat = [wire.entry(name, value) for name, value in wire.VALUES.items()]
    deep = [wire.entry(f"nested {name}", wire.nested(value)) for name, value in wire.VALUES.items()]
    return wire.table(*flat, *deep)


@pytest.mark.parametrize("by_get", [False, True])
def test_every_field_type_nested_and_all_properties_arrive_as_they_were_delivered(
    amqp: Amqp, proxy: Proxy, rabbitmq_version: tuple[int, ...], by_get: bool
) -> None:
    for _ in range(3):
        _publish(amqp, wire.property_list(headers=_every_header(), **_PROPERTIES))
    received, sent = _moved(proxy, 3, by_get)
    for before, after in zip(received, sent, strict=True):
        _same(_without_count(before), after)
    delivered = _delivered_by_target(proxy)
    _same_but_for_the_order_of_headers(delivered.properties, sent[0].properties)
    if rabbitmq_version < (4,):
        _same(delivered, sent[0])


@pytest.mark.parametrize("name", list(_PROPERTIES))
def test_each_property_alone_arrives(amqp: Amqp, proxy: Proxy, name: str) -> None:
    _publish(amqp, wire.property_list(**{name: _PROPERTIES[name]}))
    received, sent = _moved(proxy)
    _same(received[0], sent[0])
    _same(_delivered_by_target(proxy), received[0])


@pytest.mark.parametrize("by_get", [False, True])
@pytest.mark.parametrize("size", [0, 1, _ONE_FRAME, _ONE_FRAME + 1, 10_000_000])
def test_a_body_of_any_size_arrives_in_the_same_frames(amqp: Amqp, proxy: Proxy, size: int, by_get: bool) -> None:
    for filler in (b"\x00", b"\xce"):
        _publish(amqp, wire.property_list(delivery_mode=2), filler * size)
    received, sent = _moved(proxy, 2, by_get)
    for before, after in zip(received, sent, strict=True):
        _same(_without_count(before), after)
    assert [piece for content in sent for piece in content.pieces] == _pieces(size) * 2
    assert [message.body for message in drained(amqp, "target")] == [b"\x00" * size, b"\xce" * size]


def _pieces(size: int) -> list[int]:
    whole, rest = divmod(size, _ONE_FRAME)
    return [_ONE_FRAME] * whole + [rest] * bool(rest)


# Cut out


def test_anothers_user_id_goes_on_as_a_header(amqp: Amqp, proxy: Proxy, admin: Admin, vhost: str) -> None:
    producer = f"producer-{vhost}"
    admin.make_user(producer, "secret")
    admin.permit(producer, vhost)
    with connected(proxy.url.replace("guest:guest", f"{producer}:secret")) as theirs:
        for headers in (None, {"k": "v"}):
            theirs.publish("staging", b"x", pika.BasicProperties(user_id=producer, app_id="a", headers=headers))
    received, sent = _moved(proxy, 2)
    kept = wire.entry("raquo-user-id", b"S" + pack(">I", len(producer)) + producer.encode())
    others = wire.entry("k", b"S\x00\x00\x00\x01v")
    assert [content.properties for content in sent] == [
        wire.property_list(headers=wire.table(kept), app_id="a"),
        wire.property_list(headers=wire.table(others, kept), app_id="a"),
    ]
    assert all(content.properties.count(producer.encode()) == 1 for content in received)
    target = drained(amqp, "target")
    assert [message.properties.user_id for message in target] == [None, None]
    assert [header(message, "raquo-user-id") for message in target] == [producer, producer]
    admin.delete("users", producer)


def test_cc_routes_only_once(amqp: Amqp, proxy: Proxy, queue_type: str) -> None:
    amqp.declare("copy", queue_type)
    properties = pika.BasicProperties(headers={"CC": ["copy"], "BCC": ["copy"], "k": "v"}, delivery_mode=2)
    for number in range(3):
        amqp.publish("staging", str(number).encode(), properties)
    assert len(drained(amqp, "copy")) == 3
    _moved(proxy, 3)
    target = drained(amqp, "target")
    assert [message.body for message in target] == [b"0", b"1", b"2"]
    assert [message.properties.headers for message in target] == [{"raquo-cc": ["copy"], "k": "v"}] * 3
    assert amqp.depth("copy") == 0


@pytest.mark.parametrize("queue_type", ["quorum"])
def test_a_redelivered_message_brings_no_counts_of_the_staging_queue(amqp: Amqp, proxy: Proxy) -> None:
    sent = amqp.publish_numbered("staging", 20)
    taker = Amqp(proxy.url)
    taker.channel.basic_qos(prefetch_count=10)
    taker.channel.basic_consume("staging", lambda *_: None)
    wait_until(lambda: amqp.depth("staging") == 10, what="ten are taken")
    proxy.last.cut()
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        wait_until(lambda: taker.connection.process_data_events(time_limit=0.1), what="it notices")
    wait_until(lambda: amqp.depth("staging") == 20, what="what was taken is back")
    received, published = _moved(proxy, 20)
    marked = [content for content in received if b"-count" in content.properties]
    assert [bytes(content.body) for content in marked] == sent[:10]
    assert not [content for content in published if b"-count" in content.properties]
    target = drained(amqp, "target")
    assert [message.body for message in target] == sent
    assert not [message for message in target if message.redelivered or message.properties.headers]


# A real stream


def test_a_recorded_stream_cut_anywhere_gives_the_same_publishes(amqp: Amqp, proxy: Proxy) -> None:
    for size in (0, 1, 100, 5000, _ONE_FRAME + 1, 10, 300_000, 0, 3):
        _publish(amqp, wire.property_list(headers=_every_header(), delivery_mode=2), b"x" * size)
    _, sent = _moved(proxy, 9)
    stream, expected = _from_the_first_answer(proxy.last), [(c.properties, bytes(c.body)) for c in sent]
    rng = Random(7)
    for _ in range(30):
        cuts = sorted(rng.sample(range(1, len(stream)), rng.choice((1, 3, 50, 500))))
        pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert [(c.properties, bytes(c.body)) for c in _replayed(pieces)] == expected


def _from_the_first_answer(passage: Passage) -> bytes:
    """What the broker said from the channel's opening on."""
    return bytes(passage.down[passage.down.index(frames.method(1, frames.CHANNEL_OPEN_OK, bytes(4))) :])


def _replayed(pieces: list[bytes]) -> list[wire.Content]:
    splice, output = Splice("target", "guest", _FRAME_MAX), b""
    splice.open_channel().start(Grant("staging", 9, 9), lambda _: None)
    for piece in pieces:
        splice.receive(piece)
        output += splice.take_output()
    return wire.contents_in(output, wire.BASIC_PUBLISH)
