"""The bell on a real broker: who hears it, and that publishing never depends on it."""

import time
from collections.abc import Iterator

import pytest

from raquo.broker.bell import EXCHANGE
from raquo.router import Publisher
from support.admin import Admin
from support.amqp import Amqp
from support.publishing import HANG, fresh, numbered, wait_for_connections
from support.waiting import wait_until

T1 = {"tenant": "t1"}


@pytest.fixture
def ears(amqp: Amqp) -> str:
    """A queue that hears every bell, as a distributor's would."""
    amqp.channel.exchange_declare(EXCHANGE, "fanout", durable=True)
    amqp.channel.queue_declare("ears", exclusive=True)
    amqp.channel.queue_bind("ears", EXCHANGE)
    return "ears"


@pytest.fixture
def publisher(vhost_url: str) -> Iterator[Publisher]:
    with Publisher(vhost_url, name="rings") as publisher:
        yield publisher


def heard(amqp: Amqp, ears: str, count: int) -> list[str]:
    """The queues that bells named, once there were so many."""
    wait_until(lambda: amqp.depth(ears) >= count, deadline=HANG, what=f"{count} bells")
    return [message.routing_key for message in amqp.read_all(ears)]


def test_the_first_message_rings_with_an_empty_transient_message_that_names_the_queue(
    publisher: Publisher, amqp: Amqp, ears: str
) -> None:
    publisher.publish("work", b"", headers=T1)
    wait_until(lambda: amqp.depth(ears), deadline=HANG, what="a bell")
    (bell,) = amqp.read_all(ears)
    assert (bell.exchange, bell.routing_key, bell.body) == (EXCHANGE, "work»t1", b"")
    assert bell.properties.delivery_mode == 1
    assert amqp.depth("work»t1") == 1


def test_further_messages_without_a_quiet_second_ring_no_more(publisher: Publisher, amqp: Amqp, ears: str) -> None:
    publisher.publish_many("work", numbered(1000, "t1", "t2"))
    publisher.publish("work", b"", headers={"tenant": "t3"})  # its bell comes behind the others'
    assert heard(amqp, ears, 3) == ["work»t1", "work»t2", "work»t3"]
    assert publisher.stats()["bells"] == 3


def test_a_message_after_a_quiet_second_rings_again(publisher: Publisher, amqp: Amqp, ears: str) -> None:
    publisher.publish("work", b"", headers=T1)
    assert heard(amqp, ears, 1) == ["work»t1"]
    quiet_until = time.monotonic() + 1.2
    wait_until(lambda: time.monotonic() > quiet_until)
    publisher.publish("work", b"", headers=T1)
    assert heard(amqp, ears, 1) == ["work»t1"]


def test_messages_straight_to_a_target_do_not_ring(publisher: Publisher, amqp: Amqp, ears: str) -> None:
    amqp.declare("work")
    publisher.publish("work", b"direct")
    publisher.publish("work", b"", headers=T1)
    assert heard(amqp, ears, 1) == ["work»t1"]


def test_without_an_exchange_messages_go_on(publisher: Publisher, amqp: Amqp) -> None:
    for tenant in range(5):
        publisher.publish("work", b"", headers={"tenant": f"t{tenant}"})
        wait_until(lambda: publisher.stats()["bells"], deadline=HANG)
    assert publisher.publish_many("work", numbered(500)) == 500
    assert publisher.stats()["bells"] == 1
    assert publisher.stats()["reconnects"] == 0
    assert amqp.depth("work»t1") == 501


def test_without_the_right_to_ring_messages_go_on(
    vhost_url: str, vhost: str, admin: Admin, amqp: Amqp, ears: str
) -> None:
    user = fresh("mute")
    admin.make_user(user, "secret")
    try:
        admin.permit(user, vhost, write=r"^amq\.default$|^work.*")
        with Publisher(vhost_url.replace("guest:guest@", f"{user}:secret@")) as publisher:
            publisher.publish("work", b"", headers=T1)
            wait_until(lambda: publisher.stats()["bells"], deadline=HANG)
            assert publisher.publish_many("work", numbered(500)) == 500
            assert publisher.stats()["reconnects"] == 0
        assert amqp.depth("work»t1") == 501
        assert amqp.depth(ears) == 0
    finally:
        admin.delete("users", user)


def test_after_a_lost_connection_it_rings_again(
    publisher: Publisher, amqp: Amqp, ears: str, admin: Admin, vhost: str
) -> None:
    publisher.publish("work", b"", headers=T1)
    assert heard(amqp, ears, 1) == ["work»t1"]
    (connection,) = wait_for_connections(admin, vhost, "rings", 1)
    admin.delete("connections", connection)
    publisher.publish("work", b"", headers={"tenant": "t2"}, timeout=HANG)
    assert heard(amqp, ears, 1) == ["work»t2"]
