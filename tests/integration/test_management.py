"""The management client against the real broker."""

import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from raquo.broker.errors import AccessRefused, ManagementError
from raquo.broker.management import ManagementClient, QueueInfo
from raquo.broker.url import BrokerUrl
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.waiting import wait_until

NAME = "worker-input»tenant one/100%"


@pytest.fixture
def outsider(admin: Admin) -> Iterator[str]:
    """A user with the management tag and no permission anywhere."""
    name = f"user-{uuid.uuid4().hex[:8]}"
    admin.make_user(name, "pw", tags="management")
    yield name
    admin.delete("users", name)


def _listed(client: ManagementClient, name: str) -> QueueInfo | None:
    return next((queue for queue in client.queues() if queue.name == name), None)


def test_the_broker_says_who_it_is(management: ManagementClient, node: Broker) -> None:
    overview = management.overview()
    assert overview.version == management.version == node.version
    assert overview.node


def test_a_queue_is_listed_with_its_kind_arguments_and_depth(
    management: ManagementClient, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare(NAME, queue_type, x_max_length=500)
    amqp.publish_numbered(NAME, 7)
    queue = wait_until(lambda: (found := _listed(management, NAME)) and found.messages == 7 and found)
    assert isinstance(queue, QueueInfo)
    assert (queue.type, queue.ready, queue.unacked) == (queue_type, 7, 0)
    assert queue.arguments["x-max-length"] == 500
    assert (queue.durable, queue.auto_delete, queue.exclusive) == (True, False, False)


def test_streams_auto_delete_and_exclusive_queues_are_told_apart(management: ManagementClient, amqp: Amqp) -> None:
    amqp.declare("a-stream", "stream")
    amqp.channel.queue_declare("goes-away", durable=True, auto_delete=True)
    amqp.channel.queue_declare("mine-alone", exclusive=True)
    queues = {queue.name: queue for queue in management.queues()}
    assert queues["a-stream"].type == "stream"
    assert queues["goes-away"].auto_delete
    assert queues["mine-alone"].exclusive
    assert not queues["goes-away"].exclusive


def test_only_this_virtual_host_is_listed(management: ManagementClient, amqp: Amqp) -> None:
    assert list(management.queues()) == []
    amqp.declare("here")
    assert [queue.name for queue in management.queues()] == ["here"]


def test_pages_give_the_same_as_one_listing(
    management: ManagementClient, amqp: Amqp, node: Broker, vhost_url: str
) -> None:
    names = {amqp.declare(f"q»{number:04}") for number in range(1, 1103)}
    broker = BrokerUrl.parse(vhost_url)
    with ManagementClient.for_broker(broker, node.management_url, page_above=100) as paged:
        found = [queue.name for queue in paged.queues()]
    assert len(found) == len(names)
    assert set(found) == names == {queue.name for queue in management.queues()}


def test_one_queue_shows_its_policy_and_consumers(
    management: ManagementClient, amqp: Amqp, admin: Admin, vhost: str, queue_type: str
) -> None:
    amqp.declare(NAME, queue_type)
    admin.set_policy(vhost, "short", "^worker-", max_length=10)
    amqp.channel.basic_consume(NAME, lambda *delivery: None)
    wait_until(lambda: management.queue(NAME).policy == "short", what="the policy shows")
    wait_until(lambda: management.queue(NAME).consumers == 1, deadline=20, what="the consumer shows")
    assert management.queue(NAME).policy_definition == {"max-length": 10}


def test_consumers_are_listed_with_their_prefetch(management: ManagementClient, amqp: Amqp) -> None:
    amqp.declare(NAME)
    amqp.channel.basic_qos(prefetch_count=17)
    amqp.channel.basic_consume(NAME, lambda *delivery: None, consumer_tag="worker")
    consumers = wait_until(management.consumers, deadline=20)
    assert [(one.queue, one.tag, one.prefetch) for one in consumers] == [(NAME, "worker", 17)]


def test_a_queue_that_is_not_there_is_a_404(management: ManagementClient) -> None:
    with pytest.raises(ManagementError) as caught:
        management.queue("no»such")
    assert caught.value.status == 404


def test_a_virtual_host_that_is_not_there_is_a_404(node: Broker) -> None:
    broker = BrokerUrl.parse(node.url).with_vhost("no/such")
    with ManagementClient.for_broker(broker, node.management_url) as client:
        with pytest.raises(ManagementError) as caught:
            list(client.queues())
    assert caught.value.status == 404


def test_a_wrong_password_is_refused_in_one_line(node: Broker, vhost_url: str) -> None:
    broker = replace(BrokerUrl.parse(vhost_url), password="wr0ng")
    with ManagementClient.for_broker(broker, node.management_url) as client:
        with pytest.raises(AccessRefused) as caught:
            client.overview()
    assert "wr0ng" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_user_without_permission_sees_no_queues(
    node: Broker, vhost_url: str, outsider: str, rabbitmq_version: tuple[int, ...]
) -> None:
    """A 4.x broker does not even admit that the virtual host is there."""
    refusal = AccessRefused if rabbitmq_version < (4,) else ManagementError
    broker = replace(BrokerUrl.parse(vhost_url), user=outsider, password="pw")
    with ManagementClient.for_broker(broker, node.management_url) as client:
        with pytest.raises(refusal):
            list(client.queues())
