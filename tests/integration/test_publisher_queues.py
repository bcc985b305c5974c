"""Which arguments staging queues get, seen through the management API, on a real broker."""

import logging
from typing import Any

import pytest

from raquo.router import Publisher, Unroutable
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.publishing import arguments_of, of

T1 = {"tenant": "t1"}


@pytest.fixture
def unlimited(rabbitmq_version: tuple[int, ...]) -> dict[str, Any]:
    """What a quorum staging queue has besides its type."""
    return {"x-delivery-limit": -1} if rabbitmq_version >= (4,) else {}


def test_a_configured_type_is_declared(
    vhost_url: str, admin: Admin, vhost: str, queue_type: str, unlimited: dict[str, Any]
) -> None:
    with Publisher(vhost_url, queue_type=queue_type) as publisher:
        publisher.publish("work", b"", headers=T1)
    queue = admin.get("queues", vhost, "work»t1")
    limit = unlimited if queue_type == "quorum" else {}
    assert (queue["type"], queue["durable"]) == (queue_type, True)
    assert queue["arguments"] == {"x-queue-type": queue_type, **limit}


def test_staging_takes_after_its_target(
    node: Broker, vhost_url: str, amqp: Amqp, admin: Admin, vhost: str, queue_type: str, unlimited: dict[str, Any]
) -> None:
    amqp.declare("work", queue_type)
    with Publisher(vhost_url, management_url=node.management_url) as publisher:
        publisher.publish("work", b"", headers=T1)
    limit = unlimited if queue_type == "quorum" else {}
    assert arguments_of(admin, vhost, "work»t1") == {"x-queue-type": queue_type, **limit}


def test_priorities_of_a_classic_target_work_in_staging(
    node: Broker, vhost_url: str, amqp: Amqp, admin: Admin, vhost: str
) -> None:
    amqp.declare("work", x_max_priority=5)
    with Publisher(vhost_url, management_url=node.management_url) as publisher:
        publisher.publish("work", b"low", headers=T1, priority=1)
        publisher.publish("work", b"high", headers=T1, priority=5)
    assert arguments_of(admin, vhost, "work»t1") == {"x-queue-type": "classic", "x-max-priority": 5}
    assert amqp.bodies("work»t1") == [b"high", b"low"]


def test_priorities_are_left_out_where_staging_is_quorum(
    node: Broker, vhost_url: str, amqp: Amqp, admin: Admin, vhost: str, unlimited: dict[str, Any]
) -> None:
    amqp.declare("work", x_max_priority=5)
    with Publisher(vhost_url, management_url=node.management_url, queue_type="quorum") as publisher:
        publisher.publish("work", b"", headers=T1)
    assert arguments_of(admin, vhost, "work»t1") == {"x-queue-type": "quorum", **unlimited}


def test_nothing_else_of_the_target_is_copied(
    node: Broker, vhost_url: str, amqp: Amqp, admin: Admin, vhost: str
) -> None:
    amqp.declare(
        "work",
        x_max_length=10,
        x_max_length_bytes=1_000_000,
        x_overflow="reject-publish",
        x_message_ttl=60_000,
        x_expires=600_000,
        x_dead_letter_exchange="",
        x_dead_letter_routing_key="dead",
        x_single_active_consumer=True,
    )
    with Publisher(vhost_url, management_url=node.management_url) as publisher:
        publisher.publish("work", b"", headers=T1)
    assert arguments_of(admin, vhost, "work»t1") == {"x-queue-type": "classic"}


def test_without_knowledge_of_the_target_the_broker_chooses(
    vhost_url: str, amqp: Amqp, admin: Admin, vhost: str
) -> None:
    amqp.declare("work", "quorum")
    with Publisher(vhost_url) as publisher:
        publisher.publish("work", b"", headers=T1)
    queue = admin.get("queues", vhost, "work»t1")
    assert queue["type"] == "classic"
    assert queue["arguments"].keys() <= {"x-queue-type"}


def test_where_the_brokers_own_choice_is_quorum_it_never_drops_either(
    node: Broker, vhost_url: str, admin: Admin, vhost: str, rabbitmq_version: tuple[int, ...], unlimited: dict[str, Any]
) -> None:
    if rabbitmq_version < (4,):
        pytest.skip("3.x drops nothing by itself")
    admin.put("vhosts", vhost, default_queue_type="quorum")
    with Publisher(vhost_url) as publisher:
        for tenant in ("t1", "t2"):
            publisher.publish("work", b"", headers={"tenant": tenant})
        assert publisher.stats()["declared"] == 2
    for queue in ("work»t1", "work»t2"):
        assert admin.get("queues", vhost, queue)["type"] == "quorum"
        assert arguments_of(admin, vhost, queue).items() >= unlimited.items()


def test_more_arguments_are_declared(vhost_url: str, admin: Admin, vhost: str) -> None:
    extra = {"x-max-length": 7, "x-overflow": "reject-publish"}
    with Publisher(vhost_url, queue_type="classic", arguments=extra) as publisher:
        publisher.publish("work", b"", headers=T1)
    assert arguments_of(admin, vhost, "work»t1") == {"x-queue-type": "classic", **extra}


def test_queues_that_exist_with_other_arguments_are_used_as_they_are_with_one_warning(
    vhost_url: str, amqp: Amqp, caplog: pytest.LogCaptureFixture
) -> None:
    for queue in ("work»t1", "work»t2"):
        amqp.declare(queue, x_max_length=50)
    with Publisher(vhost_url, queue_type="quorum") as publisher:
        for tenant in ("t1", "t2", "t3"):
            publisher.publish("work", tenant, headers={"tenant": tenant})
            publisher.publish("work", tenant, headers={"tenant": tenant})
    for queue, body in (("work»t1", b"t1"), ("work»t2", b"t2"), ("work»t3", b"t3")):
        assert amqp.bodies(queue) == [body, body]
    warnings = [record for record in caplog.records if record.name.startswith("raquo")]
    assert [record.levelno for record in warnings if record.levelno >= logging.WARNING] == [logging.WARNING]
    assert "exists with other arguments" in caplog.text


def test_arguments_that_the_broker_refuses_are_told_in_its_words(
    vhost_url: str, amqp: Amqp, caplog: pytest.LogCaptureFixture
) -> None:
    amqp.declare("work")
    with Publisher(vhost_url, arguments={"x-message-ttl": -5}) as publisher:
        with pytest.raises(Unroutable, match="invalid arg 'x-message-ttl'"):
            publisher.publish("work", b"", headers=T1)
        publisher.publish("work", b"direct")
    assert amqp.bodies("work") == [b"direct"]
    assert "exists with other arguments" not in caplog.text


def test_a_missing_target_gives_the_brokers_choice_with_a_warning(
    node: Broker, vhost_url: str, amqp: Amqp, caplog: pytest.LogCaptureFixture
) -> None:
    with Publisher(vhost_url, management_url=node.management_url) as publisher:
        publisher.publish("work", b"", headers=T1)
    assert amqp.depth("work»t1") == 1
    assert "staging queues of 'work' get the broker's default type" in caplog.text


def test_publishing_needs_no_management_api(vhost_url: str, amqp: Amqp, caplog: pytest.LogCaptureFixture) -> None:
    with Publisher(vhost_url, management_url="http://127.0.0.1:1") as publisher:
        publisher.publish("work", b"", headers=T1)
    assert amqp.depth("work»t1") == 1
    assert "staging queues of 'work' get the broker's default type" in caplog.text


def test_a_queue_is_declared_once_for_many_messages(vhost_url: str) -> None:
    with Publisher(vhost_url) as publisher:
        publisher.publish_many("work", [of(f"t{number % 5}") for number in range(500)])
        publisher.publish("work", b"", headers=T1)
        assert publisher.stats()["declared"] == 5


def test_an_exclusive_queue_of_somebody_else_is_used_as_it_is(vhost_url: str, amqp: Amqp) -> None:
    amqp.channel.queue_declare("work»t1", exclusive=True)
    with Publisher(vhost_url) as publisher:
        publisher.publish("work", b"", headers=T1)
    assert amqp.depth("work»t1") == 1
