"""Publishing many messages: order, numbers, bounded memory, and what is true when it ends in an error."""

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from raquo.mutators import BadMessage, Message
from raquo.router import Publisher, PublishTimeout, Router, StagingFull, Unroutable, UnsupportedHeader
from support.amqp import Amqp
from support.proxy import Proxy
from support.publishing import HANG, meanwhile, missing, numbered, numbers, of, repeated, take, take_all
from support.waiting import wait_until

T1 = {"tenant": "t1"}


@pytest.fixture
def publisher(vhost_url: str) -> Iterator[Publisher]:
    with Publisher(vhost_url) as publisher:
        yield publisher


def test_all_arrive_once_and_each_queue_keeps_its_order(publisher: Publisher, amqp: Amqp) -> None:
    assert publisher.publish_many("work", numbered(5000, "a", "b", "c")) == 5000
    for first, queue in enumerate(("work»a", "work»b", "work»c")):
        assert numbers(take_all(amqp, queue)) == list(range(first, 5000, 3))


def test_quorum_queues_keep_their_order_too(vhost_url: str, amqp: Amqp) -> None:
    with Publisher(vhost_url, queue_type="quorum") as publisher:
        assert publisher.publish_many("work", numbered(2000, "a", "b")) == 2000
    for first, queue in enumerate(("work»a", "work»b")):
        assert numbers(take(amqp, queue, 1000)) == list(range(first, 2000, 2))


def test_nothing_to_publish_is_nothing(vhost_url: str) -> None:
    with Proxy(vhost_url) as proxy, Publisher(proxy.url) as publisher:
        assert publisher.publish_many("work", []) == 0
        assert not proxy.passages


def test_messages_and_bodies_may_be_mixed(vhost_url: str, amqp: Amqp) -> None:
    with Publisher(vhost_url, Router(untenanted="stage")) as publisher:
        bodies = [b"bytes", "text", bytearray(b"array"), memoryview(b"view")]
        mixed: list[Any] = [*bodies, Message(b"message"), b"", of("t1")]
        assert publisher.publish_many("work", mixed) == 7
    assert amqp.bodies("work»@none") == [b"bytes", b"text", b"array", b"view", b"message", b""]
    assert amqp.bodies("work»t1") == [b""]


def test_properties_of_each_message_arrive(publisher: Publisher, amqp: Amqp) -> None:
    publisher.publish_many("work", [of("t1", b"", message_id=str(number), priority=number) for number in range(9)])
    arrived = [message.properties for message in amqp.read_all("work»t1")]
    expected = [(str(number), number, 2) for number in range(9)]
    assert [(one.message_id, one.priority, one.delivery_mode) for one in arrived] == expected
    publisher.publish_many("work", [of("t1")], persistent=False)
    assert amqp.read_all("work»t1")[0].properties.delivery_mode in (None, 1)


def test_large_and_empty_bodies_arrive_whole(publisher: Publisher, amqp: Amqp) -> None:
    sizes = [0, 1, 131_064, 131_065, 5_000_000, 0, 3_000_000]
    publisher.publish_many("work", [of("t1", bytes([number]) * size) for number, size in enumerate(sizes)])
    for number, size in enumerate(sizes):
        (body,) = take(amqp, "work»t1", 1)
        assert body == bytes([number]) * size


def test_only_so_many_are_in_flight(vhost_url: str, amqp: Amqp) -> None:
    with Publisher(vhost_url, max_in_flight=3) as publisher:
        assert publisher.publish_many("work", numbered(500)) == 500
    assert numbers(take_all(amqp, "work»t1")) == list(range(500))


def run_ahead(publisher: Publisher, size: int) -> tuple[int, int]:
    """How many messages an endless iterable gives, and how many were confirmed, while nothing is confirmed."""
    given = 0

    def endless() -> Iterator[Message]:
        nonlocal given
        while True:
            given += 1
            yield of("t1", b"x" * size)

    with pytest.raises(PublishTimeout) as caught:
        publisher.publish_many("work", endless(), timeout=1.5)
    return given, caught.value.confirmed


@pytest.mark.parametrize(("size", "most"), [(10, 2000 + 128 + 1), (1_000_000, 40)])
def test_an_endless_iterable_runs_ahead_by_a_bounded_number_and_bytes(vhost_url: str, size: int, most: int) -> None:
    with Proxy(vhost_url) as proxy, Publisher(proxy.url) as publisher:
        publisher.publish("work", b"", headers=T1)
        proxy.stall("down")
        given, confirmed = run_ahead(publisher, size)
        proxy.resume()
        assert confirmed == 0
        assert most / 2 < given <= most


def test_an_iterable_that_waits_holds_nothing_back(publisher: Publisher, amqp: Amqp) -> None:
    go_on = threading.Event()

    def slow() -> Iterator[Message]:
        yield from numbered(3)
        assert go_on.wait(HANG)
        yield of("t1", b"3")

    with meanwhile(publisher.publish_many, "work", slow()) as call:
        wait_until(lambda: publisher.stats()["confirmed"] == 3, deadline=HANG)
        assert not call.done()
        go_on.set()
        assert call.result(HANG) == 4
    assert numbers(amqp.bodies("work»t1")) == [0, 1, 2, 3]


def test_an_iterable_that_raises_leaves_what_it_gave_before(publisher: Publisher, amqp: Amqp) -> None:
    def broken() -> Iterator[Message]:
        yield from numbered(300)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        publisher.publish_many("work", broken())
    assert caught.value.__notes__ == ["300 messages of this call were confirmed"]
    assert numbers(amqp.bodies("work»t1")) == list(range(300))
    assert publisher.stats()["in_flight"] == 0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(Message(b"", {"tenant": "t1", "odd": object()}), UnsupportedHeader), (5, BadMessage)],
    ids=["header", "body"],
)
def test_a_message_that_cannot_be_sent_ends_it_and_what_came_before_is_there(
    publisher: Publisher, amqp: Amqp, wrong: Message, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        publisher.publish_many("work", [*numbered(200), wrong, of("t1", b"never")])
    assert caught.value.__notes__ == ["200 messages of this call were confirmed"]
    assert numbers(amqp.bodies("work»t1")) == list(range(200))


def test_a_missing_target_ends_it_and_the_staged_ones_are_counted(publisher: Publisher, amqp: Amqp) -> None:
    with pytest.raises(Unroutable) as caught:
        publisher.publish_many("work", [*numbered(50), Message(b"direct"), *numbered(50)])
    assert caught.value.confirmed == amqp.depth("work»t1")
    assert 50 <= caught.value.confirmed <= 100


def test_a_full_queue_ends_it_and_confirmed_is_what_is_in_the_broker(publisher: Publisher, amqp: Amqp) -> None:
    amqp.declare("work»t1", x_max_length=1000, x_overflow="reject-publish")
    endless = (of("t1", str(number)) for number in count())
    with pytest.raises(StagingFull, match="'work»t1': the queue is full") as caught:
        publisher.publish_many("work", endless)
    arrived = numbers(take_all(amqp, "work»t1"))
    assert len(arrived) == caught.value.confirmed >= 1000
    assert not repeated(arrived)
    assert f"{caught.value.confirmed} messages of this call were confirmed" in caught.value.__notes__
    assert publisher.publish_many("work", numbered(10)) == 10


def test_several_calls_at_once_know_their_own_figures(publisher: Publisher, amqp: Amqp) -> None:
    amqp.declare("work»full", x_max_length=1, x_overflow="reject-publish")
    with meanwhile(publisher.publish_many, "work", numbered(3000, "a")) as call:
        with pytest.raises(StagingFull) as caught:
            publisher.publish_many("work", numbered(3000, "full"))
        assert call.result(HANG) == 3000
    assert caught.value.confirmed == amqp.depth("work»full")
    assert not missing(range(3000), numbers(take_all(amqp, "work»a")))
