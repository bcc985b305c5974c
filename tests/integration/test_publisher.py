"""Publishing one message: where it arrives, as what, and what is refused before anything is sent."""

import logging
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from struct import pack
from typing import Any

import pytest

from raquo.broker import frames
from raquo.broker.url import BrokerUrl
from raquo.mutators import BadMessage, BadName, RaquoError
from raquo.router import BadConfiguration, Decision, Publisher, PublishError, PublishRefused, Router, Unroutable
from support import wire
from support.admin import Admin
from support.amqp import Amqp, Received, connected, header
from support.brokers import Broker
from support.proxy import Proxy
from support.publishing import HANG

T1 = {"tenant": "t1"}


@pytest.fixture
def publisher(vhost_url: str) -> Iterator[Publisher]:
    with Publisher(vhost_url) as publisher:
        yield publisher


def only(amqp: Amqp, queue: str) -> Received:
    """The one message in a queue."""
    (message,) = amqp.read_all(queue)
    return message


def test_a_message_goes_to_the_staging_queue_of_its_tenant(publisher: Publisher, amqp: Amqp) -> None:
    decision = publisher.publish("work", b"hello", headers={"tenant": "t1", "workflow": "ocr"})
    assert (decision.queue, decision.staged, decision.reason) == ("work»t1/ocr", True, "staged")
    assert only(amqp, "work»t1/ocr").body == b"hello"
    assert not amqp.exists("work")


def test_a_staging_queue_is_durable_and_a_message_persistent(
    publisher: Publisher, amqp: Amqp, admin: Admin, vhost: str
) -> None:
    publisher.publish("work", b"", headers=T1)
    queue = admin.get("queues", vhost, "work»t1")
    assert (queue["durable"], queue["auto_delete"], queue["exclusive"]) == (True, False, False)
    assert only(amqp, "work»t1").properties.delivery_mode == 2


def test_a_transient_message_is_transient(publisher: Publisher, amqp: Amqp) -> None:
    publisher.publish("work", b"", headers=T1, persistent=False)
    assert only(amqp, "work»t1").properties.delivery_mode in (None, 1)


def test_the_stamp_is_the_time_of_staging_in_milliseconds(publisher: Publisher, amqp: Amqp) -> None:
    before = int(time.time() * 1000)
    publisher.publish("work", b"", headers={**T1, "raquo-staged-at": 5})
    after = int(time.time() * 1000)
    message = only(amqp, "work»t1")
    assert before <= header(message, "raquo-staged-at") <= after
    assert header(message, "tenant") == "t1"


def test_the_stamp_can_be_left_out(vhost_url: str, amqp: Amqp) -> None:
    with Publisher(vhost_url, stamp=False) as publisher:
        publisher.publish("work", b"", headers=T1)
    assert only(amqp, "work»t1").properties.headers == T1


def test_a_message_without_a_tenant_goes_to_its_target_unchanged(publisher: Publisher, amqp: Amqp) -> None:
    amqp.declare("work")
    assert publisher.publish("work", b"direct", message_id="7") == Decision("work", False, "untenanted", None)
    message = only(amqp, "work")
    assert (message.body, message.properties.message_id, message.properties.headers) == (b"direct", "7", None)


def test_messages_without_a_tenant_may_share_a_staging_queue(vhost_url: str, amqp: Amqp) -> None:
    with Publisher(vhost_url, Router(untenanted="stage")) as publisher:
        publisher.publish("work", b"nobody's")
    assert only(amqp, "work»@none").body == b"nobody's"


def test_a_missing_target_is_unroutable_and_is_not_made(publisher: Publisher, amqp: Amqp) -> None:
    with pytest.raises(Unroutable, match="there is no queue 'work'"):
        publisher.publish("work", b"")
    assert not amqp.exists("work")
    assert publisher.stats()["confirmed"] == 0


def test_only_the_targets_named_are_staged(vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("other")
    with Publisher(vhost_url, Router(targets=["work-*"])) as publisher:
        assert publisher.publish("work-1", b"", headers=T1).queue == "work-1»t1"
        assert publisher.publish("other", b"", headers=T1).reason == "not_a_target"
    assert header(only(amqp, "other"), "raquo-staged-at") is None


@pytest.mark.parametrize("mode", ["shadow", "off"])
def test_shadow_and_off_publish_to_the_target_unchanged(vhost_url: str, amqp: Amqp, mode: str) -> None:
    amqp.declare("work")
    with Publisher(vhost_url, Router(mode=mode)) as publisher:
        decision = publisher.publish("work", b"body", headers=T1)
    assert (decision.queue, decision.staged, decision.reason) == ("work", False, mode)
    message = only(amqp, "work")
    assert (message.body, message.properties.headers) == (b"body", T1)
    assert not amqp.exists("work»t1")


@pytest.mark.parametrize("queue", ["work»t9/ocr", "work»/t9/ocr"])
def test_a_staging_name_as_target_is_taken_as_it_is(publisher: Publisher, amqp: Amqp, queue: str) -> None:
    decision = publisher.publish(queue, b"", headers=T1)
    assert (decision.queue, decision.staged, decision.reason) == (queue, True, "already_staged")
    assert header(only(amqp, queue), "raquo-staged-at")


@pytest.mark.parametrize("mode", ["stage", "off"])
@pytest.mark.parametrize("target", ["", "x" * 256, "a\nb"], ids=["empty", "too long", "line feed"])
def test_a_target_that_no_queue_can_be_called_is_refused(vhost_url: str, mode: str, target: str) -> None:
    with Publisher(vhost_url, Router(mode=mode)) as publisher:
        with pytest.raises(BadName):
            publisher.publish(target, b"")


@pytest.mark.parametrize(
    ("body", "arrives"),
    [
        (b"\x00\xff", b"\x00\xff"),
        ("été »", "été »".encode()),
        (bytearray(b"array"), b"array"),
        (memoryview(b"0123456789")[2:5], b"234"),
        (b"", b""),
        (b"x" * 5_000_000, b"x" * 5_000_000),
    ],
    ids=["bytes", "text", "bytearray", "memoryview", "nothing", "5 MB"],
)
def test_a_body_arrives_as_it_is(publisher: Publisher, amqp: Amqp, body: Any, arrives: bytes) -> None:
    publisher.publish("work", body, headers=T1)
    assert only(amqp, "work»t1").body == arrives


def test_all_properties_arrive_by_their_amqp_names(publisher: Publisher, amqp: Amqp) -> None:
    properties: dict[str, Any] = {
        "content_type": "application/json",
        "content_encoding": "gzip",
        "delivery_mode": 1,
        "priority": 7,
        "correlation_id": "c-1",
        "reply_to": "answers",
        "expiration": "6000000",
        "message_id": "m-1",
        "timestamp": 1_700_000_000,
        "type": "order",
        "user_id": "guest",
        "app_id": "shop",
        "cluster_id": "here",
    }
    publisher.publish("work", b"", headers={**T1, "more": "headers"}, **properties)
    arrived = only(amqp, "work»t1").properties
    assert {name: getattr(arrived, name) for name in properties} == properties
    assert arrived.headers.items() >= {"tenant": "t1", "more": "headers"}.items()


HEADERS: dict[str, tuple[object, bytes]] = {
    "float": (1.5, b"d" + pack(">d", 1.5)),
    "text": ("é", b"S\x00\x00\x00\x02" + "é".encode()),
    "true": (True, b"t\x01"),
    "small": (-7, b"I" + pack(">i", -7)),
    "big": (2**62, b"l" + pack(">q", 2**62)),
    "bytes": (b"\x00\xff", b"x\x00\x00\x00\x02\x00\xff"),
    "none": (None, b"V"),
    "date": (datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC), b"T" + pack(">Q", 1_700_000_000)),
    "decimal": (Decimal("1.50"), b"D\x02" + pack(">i", 150)),
    "list": ([1, [0.5]], b"A\x00\x00\x00\x13I\x00\x00\x00\x01A\x00\x00\x00\x09d" + pack(">d", 0.5)),
    "mapping": ({"k": {"deep": None}}, b"F\x00\x00\x00\x0d\x01kF\x00\x00\x00\x06\x04deepV"),
}


def test_a_header_of_every_type_arrives_as_that_type(publisher: Publisher, vhost_url: str) -> None:
    publisher.publish("work", b"", headers={**T1, **{name: value for name, (value, _) in HEADERS.items()}})
    with Proxy(vhost_url) as proxy, connected(proxy.url) as reader:
        assert len(reader.read_all("work»t1")) == 1
        (content,) = wire.contents_in(bytes(proxy.last.down), frames.BASIC_GET_OK)
    arrived = dict(wire.as_set(wire.header_table(content.properties)))
    expected = dict(wire.as_set(wire.table(*(wire.entry(name, raw) for name, (_, raw) in HEADERS.items()))))
    assert {key: arrived.get(key) for key in expected} == expected
    assert arrived[b"raquo-staged-at"][:1] == b"l"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"headers": {"tenant": "t1", "bad": object()}}, "'bad': AMQP carries no object"),
        ({"headers": {"tenant": "t1", "bad": 2**64}}, "'bad'.*64 bits"),
        ({"message_id": "x" * 256}, "message_id has 256 bytes"),
        ({"priority": 300}, "priority = 300"),
        ({"body": 5}, "a body is bytes or text"),
        ({"body": "\ud800"}, "UTF-8"),
        ({"mesage_id": "x"}, "did you mean message_id"),
        ({"headers": ["tenant"]}, "headers are a mapping"),
    ],
    ids=lambda given: repr(given)[:30],
)
def test_what_amqp_cannot_carry_is_refused_before_anything_connects(given: dict[str, Any], words: str) -> None:
    publisher = Publisher("amqp://nobody:listens@127.0.0.1:1/")
    with pytest.raises(BadMessage, match=words):
        publisher.publish("work", **given)
    assert publisher.stats()["waiting"] == 0


def test_headers_too_large_for_a_frame_are_refused_and_disturb_nobody(publisher: Publisher, amqp: Amqp) -> None:
    publisher.publish("work", b"before", headers=T1)
    with pytest.raises(PublishRefused, match=r"have 140\d+ bytes"):
        publisher.publish("work", b"", headers={**T1, "large": "x" * 140_000})
    publisher.publish("work", b"fits", headers={**T1, "large": "x" * 130_000})
    assert amqp.bodies("work»t1") == [b"before", b"fits"]
    assert publisher.stats()["reconnects"] == 0


def test_tenants_in_any_script_have_a_queue_each(publisher: Publisher, amqp: Amqp) -> None:
    for tenant in ("a/b", "ünïcödé 🦆", "t" * 300):
        queue = publisher.publish("work", tenant, headers={"tenant": tenant}).queue
        assert len(queue.encode()) <= 255
        assert only(amqp, queue).body == tenant.encode()


def test_it_connects_with_the_first_message_and_not_before(vhost_url: str) -> None:
    with Proxy(vhost_url) as proxy, Publisher(proxy.url) as publisher:
        assert not proxy.passages
        publisher.publish("work", b"", headers=T1)
        assert len(proxy.passages) == 1


def test_a_closed_publisher_can_be_used_again(vhost_url: str, amqp: Amqp) -> None:
    publisher = Publisher(vhost_url)
    publisher.close()
    publisher.publish("work", b"1", headers=T1)
    publisher.close()
    publisher.close()
    publisher.publish("work", b"2", headers=T1)
    publisher.close()
    assert amqp.bodies("work»t1") == [b"1", b"2"]


def test_a_with_block_closes_the_connection_also_after_an_error(vhost_url: str) -> None:
    with Proxy(vhost_url) as proxy:
        with pytest.raises(Unroutable), Publisher(proxy.url) as publisher:
            publisher.publish("missing", b"")
        assert proxy.last.over


def test_figures_tell_what_happened_and_outlive_the_connection(publisher: Publisher, amqp: Amqp) -> None:
    keys = set(publisher.stats())
    amqp.declare("work")
    publisher.publish("work", b"", headers=T1)
    publisher.publish("work", b"", headers={"tenant": "t2"})
    publisher.publish("work", b"")
    publisher.publish_many("work", [b"1", b"2"])
    publisher.flush()
    expected = {"staged": 2, "untenanted": 3, "confirmed": 5, "declared": 2, "in_flight": 0, "waiting": 0}
    assert publisher.stats().items() >= expected.items()
    publisher.close()
    assert publisher.stats().items() >= expected.items()
    publisher.publish("work", b"", headers=T1)
    assert publisher.stats().items() >= {"staged": 3, "confirmed": 6, "declared": 3, "reconnects": 0}.items()
    assert set(publisher.stats()) == keys


def test_flush_without_messages_returns_at_once(publisher: Publisher) -> None:
    publisher.flush(timeout=0.001)
    publisher.publish("work", b"", headers=T1)
    publisher.flush(timeout=HANG)


def test_several_brokers_are_tried_in_turn(vhost_url: str, amqp: Amqp) -> None:
    nobody = BrokerUrl.parse(vhost_url.rsplit("@", 1)[0] + "@127.0.0.1:1/" + vhost_url.rsplit("/", 1)[1])
    with Publisher([nobody, BrokerUrl.parse(vhost_url)]) as publisher:
        publisher.publish("work", b"", headers=T1, timeout=HANG)
    assert amqp.depth("work»t1") == 1


def test_everything_can_come_from_a_configuration_file(vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    amqp.declare("direct")
    file = tmp_path / "raquo.toml"
    file.write_text(
        f'[broker]\nurl = "{vhost_url}"\n'
        '[router]\nmutators = ["customer"]\ntargets = ["work"]\n'
        '[staging]\nqueue_type = "classic"\narguments = {x-max-length = 10}\n'
    )
    with Publisher.from_config(file, environ={}) as publisher:
        assert publisher.publish("work", b"", headers={"customer": "c1"}).queue == "work»c1"
        assert publisher.publish("direct", b"", headers={"customer": "c1"}).queue == "direct"
    amqp.declare("work»c1", x_max_length=10)  # other arguments would be an error


@pytest.mark.parametrize(
    "wrong",
    [
        {"queue_type": "stream"},
        {"max_in_flight": 0},
        {"arguments": {"x-max-length": 1.5}},
        {"arguments": {"x-max-length": 2**64}},
    ],
    ids=str,
)
def test_an_impossible_setting_is_an_error_before_anything_connects(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration):
        Publisher("amqp://nobody:listens@127.0.0.1:1/", **wrong)


def test_every_error_is_a_raquo_error() -> None:
    assert issubclass(PublishError, RaquoError)
    assert issubclass(BadMessage, RaquoError)
    assert issubclass(BadConfiguration, RaquoError)


def test_debug_logging_does_no_harm(publisher: Publisher, node: Broker, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        publisher.publish("work", b"", headers=T1)
    assert "guest:guest" not in caplog.text
