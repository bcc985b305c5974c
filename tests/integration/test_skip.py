"""`raquo skip`: the first message of a staging queue is parked, or stays where it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from raquo.broker.local import LocalBroker
from support.admin import Admin
from support.amqp import Amqp, connected
from support.brokers import Broker
from support.publishing import fresh
from support.serving import raquo, raquo_json
from support.waiting import wait_until
from support.way_out import DONE, configured, refusal


@pytest.fixture
def folder(tmp_path: Path, node: Broker, vhost_url: str) -> Path:
    """Where commands are run, with a configuration for this test's virtual host."""
    configured(tmp_path, node, vhost_url)
    return tmp_path


def test_the_first_message_is_parked_and_the_others_keep_their_order(
    vhost: str, admin: Admin, amqp: Amqp, folder: Path, queue_type: str
) -> None:
    amqp.declare("work»t1", queue_type)
    bodies = amqp.publish_numbered("work»t1", 3)
    told = raquo_json(folder, "skip", "work>>t1", *DONE)
    assert told == {"dry_run": False, "queue": "work»t1", "parked_in": "raquo.parked", "waiting": 3}
    wait_until(lambda: amqp.depth("work»t1") == 2, what="one is gone")
    parked = admin.get("queues", vhost, "raquo.parked")
    assert (parked["type"], parked["durable"]) == (queue_type, True)
    assert amqp.bodies("raquo.parked") == bodies[:1]
    assert amqp.bodies("work»t1") == bodies[1:]


def test_one_more_is_parked_beside_it_whatever_its_type(amqp: Amqp, folder: Path) -> None:
    for queue, queue_type in (("work»t1", "classic"), ("work»t2", "quorum")):
        amqp.declare(queue, queue_type)
        amqp.publish(queue, queue.encode())
        raquo_json(folder, "skip", queue, *DONE)
    assert amqp.bodies("raquo.parked") == ["work»t1".encode(), "work»t2".encode()]


def test_a_dry_run_moves_nothing(amqp: Amqp, folder: Path) -> None:
    amqp.declare("work»t1")
    amqp.publish("work»t1", b"x")
    assert "would go to raquo.parked" in raquo(folder, "skip", "work»t1", "--dry-run").stdout
    assert amqp.depth("work»t1") == 1
    assert not amqp.exists("raquo.parked")


def test_it_asks_why_and_whether(amqp: Amqp, folder: Path) -> None:
    amqp.declare("work»t1")
    amqp.publish("work»t1", b"x")
    assert "--reason" in refusal(folder, "skip", "work»t1", code=2)
    assert "--yes" in refusal(folder, "skip", "work»t1", "--reason", "a test", code=2)
    assert amqp.depth("work»t1") == 1


def test_of_an_empty_queue_there_is_nothing_to_skip(amqp: Amqp, folder: Path, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type)
    assert "no message waits in 'work»t1'" in refusal(folder, "skip", "work»t1", *DONE)
    assert not amqp.exists("raquo.parked")


def test_only_a_staging_queue_that_is_there_has_something_to_skip(amqp: Amqp, folder: Path) -> None:
    amqp.declare("work")
    amqp.publish("work", b"x")
    amqp.declare("work»stream", "stream")
    assert "there is no queue 'work»t1'" in refusal(folder, "skip", "work»t1", *DONE)
    assert "'work' is no staging queue" in refusal(folder, "skip", "work", *DONE)
    assert "is a stream" in refusal(folder, "skip", "work»stream", *DONE)
    assert amqp.depth("work") == 1


def test_an_auto_delete_queue_is_not_deleted_with_what_it_holds(amqp: Amqp, folder: Path) -> None:
    amqp.channel.queue_declare("work»t1", durable=True, auto_delete=True)
    amqp.publish_numbered("work»t1", 3)
    raquo_json(folder, "skip", "work»t1", *DONE)
    wait_until(lambda: amqp.depth("work»t1") == 2, what="one is gone")


def test_a_message_that_is_too_large_stays_and_it_is_said_what_to_do(
    private_node: LocalBroker, tmp_path: Path, queue_type: str
) -> None:
    configured(tmp_path, private_node, private_node.url)
    queue = f"{fresh('work')}»t1"
    with connected(private_node.url) as amqp:
        amqp.declare(queue, queue_type)
        amqp.publish(queue, b"x" * 2000)
        amqp.publish(queue, b"small")
        with messages_of_at_most(1000, private_node):
            line = refusal(tmp_path, "skip", queue, *DONE)
            assert "406" in line
            assert "message size 2000 is larger than configured max size 1000" in line
            assert "raise max_message_size" in line
            wait_until(lambda: amqp.depth(queue) == 2, what="it is where it was")
        raquo_json(tmp_path, "skip", queue, *DONE)
        assert amqp.bodies("raquo.parked") == [b"x" * 2000]
        assert amqp.bodies(queue) == [b"small"]
        for one in (queue, "raquo.parked"):
            amqp.channel.queue_delete(one)


@contextmanager
def messages_of_at_most(size: int, node: LocalBroker) -> Iterator[None]:
    """A broker with another limit, as after an upgrade; releases keep it in different places."""
    setting = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
    node.ctl("eval", setting.format(size))
    try:
        yield
    finally:
        node.ctl("eval", setting.format(16 * 1024 * 1024))
