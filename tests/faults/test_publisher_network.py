"""Connections that break, stall, or never come up: every call ends, and nothing that was confirmed is missing."""

import math
import random
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from raquo.mutators import Message
from raquo.router import Publisher, PublishTimeout
from support.admin import Admin
from support.amqp import Amqp
from support.proxy import Proxy
from support.publishing import (
    HANG,
    assert_nothing_broke,
    meanwhile,
    missing,
    numbered,
    numbers,
    of,
    take_all,
    wait_for_connections,
)
from support.waiting import wait_until

T1 = {"tenant": "t1"}


@pytest.fixture(autouse=True)
def _nothing_breaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert_nothing_broke(caplog.records)


@pytest.fixture
def proxy(vhost_url: str) -> Iterator[Proxy]:
    with Proxy(vhost_url) as proxy:
        yield proxy


@pytest.fixture
def nobody() -> Iterator[int]:
    """A port on which nobody listens, and nobody will."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def test_where_nobody_listens_a_message_was_not_sent_and_the_address_is_named(nobody: int) -> None:
    with Publisher(f"amqp://guest:guest@127.0.0.1:{nobody}/") as publisher:
        with pytest.raises(PublishTimeout, match=f"no broker answers at .*127.0.0.1:{nobody}.*was not sent") as caught:
            publisher.publish("work", b"", headers=T1, timeout=0.7)
        assert not caught.value.may_have_arrived
        with pytest.raises(PublishTimeout) as caught:
            publisher.publish_many("work", numbered(500), timeout=0.7)
        assert not caught.value.may_have_arrived
        assert caught.value.confirmed == 0


def test_a_broker_that_comes_up_later_gets_the_message(vhost_url: str, nobody: int, amqp: Amqp) -> None:
    with Proxy(vhost_url) as proxy, Publisher(proxy.url) as publisher:
        proxy.stall()
        with meanwhile(publisher.publish, "work", b"", headers=T1, timeout=HANG) as call:
            wait_until(lambda: proxy.passages, what="a connection")
            proxy.last.cut()
            proxy.resume()
            assert call.result(HANG).queue == "work»t1"
    assert amqp.depth("work»t1") == 1


def lengths(proxy: Proxy) -> tuple[int, int]:
    """How many bytes a whole call sends and receives."""
    with Publisher(proxy.url) as publisher:
        publisher.publish_many("work", numbered(300, "whole", size=200))
        publisher.flush()
        return len(proxy.last.up), len(proxy.last.down)


def test_a_connection_cut_anywhere_costs_no_message(proxy: Proxy, amqp: Amqp) -> None:
    up, down = lengths(proxy)
    dice = random.Random(20)
    for number in range(20):
        cut = {"up": dice.randrange(up)} if number % 2 else {"down": dice.randrange(down)}
        tenant = f"cut {cut}"
        proxy.cut_next(**cut)
        with Publisher(proxy.url) as publisher:
            assert publisher.publish_many("work", numbered(300, tenant, size=200), timeout=HANG) == 300, cut
        arrived = numbers(take_all(amqp, f"work»{tenant}"))
        assert not missing(range(300), arrived), cut
        assert len(arrived) <= 600, cut


def test_a_connection_cut_while_it_opens_is_no_refusal(proxy: Proxy, amqp: Amqp) -> None:
    with Publisher(proxy.url) as publisher:
        publisher.publish("work", b"", headers=T1)
        opening = len(proxy.last.up)
    for after in range(0, opening, max(1, opening // 25)):
        proxy.cut_next(up=after)
        with Publisher(proxy.url) as publisher:
            publisher.publish("work", b"", headers=T1, timeout=HANG)


def test_a_connection_closed_by_an_administrator_is_opened_again(
    vhost_url: str, vhost: str, admin: Admin, amqp: Amqp
) -> None:
    given = 0

    def messages(closing: "Future[None]") -> Iterator[Message]:
        """As many as it takes: some before, some while, and some after it is closed."""
        nonlocal given
        end = math.inf
        while given < end:
            yield of("t1", str(given))
            given += 1
            if closing.done() and end == math.inf:
                end = given + 1000

    with Publisher(vhost_url, name="closed") as publisher:
        publisher.publish("work", b"0", headers=T1)
        (name,) = wait_for_connections(admin, vhost, "closed", 1)
        with meanwhile(admin.delete, "connections", name) as closing:
            assert publisher.publish_many("work", messages(closing), timeout=HANG) == given
        assert publisher.stats()["reconnects"] == 1
    assert not missing(range(given), numbers(take_all(amqp, "work»t1")))


def test_a_broker_that_stalls_times_out_by_the_deadline_and_recovers(proxy: Proxy, amqp: Amqp) -> None:
    with Publisher(proxy.url) as publisher:
        publisher.publish("work", b"before", headers=T1)
        proxy.stall()
        started = time.monotonic()
        with pytest.raises(PublishTimeout, match="was sent, and may have arrived") as caught:
            publisher.publish("work", b"stalled", headers=T1, timeout=1.0)
        assert caught.value.may_have_arrived
        assert time.monotonic() - started < 10
        with pytest.raises(PublishTimeout, match="was not sent") as caught:  # its queue was never declared
            publisher.publish("work", b"never", headers={"tenant": "t2"}, timeout=1.0)
        assert not caught.value.may_have_arrived
        proxy.resume()
        publisher.publish("work", b"after", headers=T1, timeout=HANG)
        publisher.publish("work", b"after", headers={"tenant": "t2"}, timeout=HANG)
    assert {b"before", b"after"} <= set(amqp.bodies("work»t1")) <= {b"before", b"stalled", b"after"}
    assert amqp.bodies("work»t2") == [b"after"]


def test_a_broker_that_stalls_while_it_is_connected_to_is_named(proxy: Proxy) -> None:
    proxy.stall()
    port = proxy.url.rsplit(":", 1)[1].split("/")[0]
    with Publisher(proxy.url) as publisher:
        with pytest.raises(PublishTimeout, match=f"127.0.0.1:{port}.* was not sent") as caught:
            publisher.publish("work", b"", headers=T1, timeout=1.0)
    assert not caught.value.may_have_arrived


def test_a_connection_that_confirms_nothing_is_dropped_for_another(proxy: Proxy, amqp: Amqp) -> None:
    with Publisher(proxy.url) as publisher:
        publisher.publish("work", b"before", headers=T1)
        proxy.stall("down")
        with meanwhile(publisher.publish, "work", b"patience", headers=T1, timeout=HANG) as call:
            wait_until(lambda: len(proxy.passages) == 2, deadline=HANG, what="another connection")
            proxy.resume()
            call.result(HANG)
        assert publisher.stats()["reconnects"] == 1
    assert set(amqp.bodies("work»t1")) == {b"before", b"patience"}


@pytest.mark.parametrize("way", ["up", "down"])
def test_closing_a_stalled_publisher_takes_no_longer_than_it_may(proxy: Proxy, way: str) -> None:
    publisher = Publisher(proxy.url)
    publisher.publish("work", b"", headers=T1)
    proxy.stall(way)
    with meanwhile(publisher.publish, "work", b"", headers=T1, timeout=HANG) as call:
        wait_until(lambda: publisher.stats()["in_flight"] == 1, what="a message in flight")
        started = time.monotonic()
        with pytest.raises(PublishTimeout, match="still on their way"):
            publisher.close(timeout=0.5)
        with pytest.raises(PublishTimeout, match="the publisher was closed") as caught:
            call.result(HANG)
        assert caught.value.may_have_arrived
        assert time.monotonic() - started < 20
    proxy.resume()
    publisher.publish("work", b"", headers=T1, timeout=HANG)
    publisher.close()
