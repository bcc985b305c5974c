"""The way out that needs no Raquo: the lines of docs/runbook.md, on a real broker."""

import base64
import json
from collections.abc import Callable

import pika
import pytest

from raquo.broker.local import LocalBroker
from support import runbook
from support.admin import Admin
from support.amqp import Amqp, Received, connected, header
from support.waiting import wait_until

TENANTS = ("t1", "t2/w1")


def stage(amqp: Amqp, queue_type: str, count: int) -> dict[str, list[bytes]]:
    """The target, and `count` numbered messages over the staging queues of two tenants, by queue."""
    amqp.declare("worker-input", queue_type)
    amqp.declare("worker-inputs", queue_type)
    each = count // len(TENANTS)
    return {
        (queue := amqp.declare(f"worker-input»{tenant}", queue_type)): amqp.publish_numbered(
            queue, each, first=place * each
        )
        for place, tenant in enumerate(TENANTS)
    }


def arrived(amqp: Amqp, count: int) -> list[Received]:
    wait_until(lambda: amqp.depth("worker-input") == count, what=f"{count} are in the target")
    return amqp.read_all("worker-input")


@pytest.fixture
def policy(admin: Admin, vhost: str) -> Callable[[str], None]:
    """Applies or removes the policy by the documented line for the management API, in this test's virtual host."""

    def call(method: str) -> None:
        line = runbook.http(method)
        kind, _vhost, name = line.path
        if method == "PUT":
            admin.put(kind, vhost, name, **line.body)
        else:
            admin.delete(kind, vhost, name)

    return call


def test_the_policy_pushes_everything_staged_into_the_target(
    amqp: Amqp, policy: Callable[[str], None], queue_type: str, rabbitmq_version: tuple[int, ...]
) -> None:
    staged = stage(amqp, queue_type, 500)
    policy("PUT")
    messages = arrived(amqp, 500)
    bodies = [message.body for message in messages]
    assert sorted(bodies) == sorted(body for own in staged.values() for body in own)
    assert [amqp.depth(queue) for queue in staged] == [0, 0]
    assert all(header(message, "x-death")[0]["reason"] == "maxlen" for message in messages)
    if queue_type == "classic" or rabbitmq_version >= (4,):
        for own in staged.values():
            assert [body for body in bodies if body in set(own)] == own, "order is kept"


def test_what_is_staged_while_the_policy_stands_is_pushed_on_and_afterwards_waits_again(
    amqp: Amqp, policy: Callable[[str], None], queue_type: str
) -> None:
    stage(amqp, queue_type, 10)
    policy("PUT")
    arrived(amqp, 10)
    amqp.publish_numbered("worker-input»t1", 5)
    arrived(amqp, 5)
    policy("DELETE")

    def waits() -> bool:
        amqp.publish("worker-input»t1", b"later")
        return amqp.depth("worker-input»t1") > 0

    wait_until(waits, what="a message waits in staging again")


def test_the_policy_touches_no_other_target(amqp: Amqp, policy: Callable[[str], None], queue_type: str) -> None:
    stage(amqp, queue_type, 10)
    other = amqp.declare("worker-inputs»t1", queue_type)
    amqp.publish_numbered(other, 5)
    policy("PUT")
    arrived(amqp, 10)
    assert (amqp.depth(other), amqp.depth("worker-inputs")) == (5, 0)


def test_the_policy_displaces_another_of_the_same_queues_while_it_stands(
    admin: Admin, vhost: str, amqp: Amqp, policy: Callable[[str], None]
) -> None:
    def in_force() -> object:
        return admin.get("queues", vhost, "worker-input»t1").get("policy")

    admin.set_policy(vhost, "own", "^worker-", max_length=100_000)
    stage(amqp, "classic", 2)
    wait_until(lambda: in_force() == "own", what="the user's own policy is in force")
    policy("PUT")
    wait_until(lambda: in_force() == "raquo-way-out-worker-input", what="ours displaces it")
    policy("DELETE")
    wait_until(lambda: in_force() == "own", what="the user's own is in force again")


def test_a_message_that_is_pushed_loses_its_expiration_and_is_not_routed_again_by_its_cc(
    amqp: Amqp, policy: Callable[[str], None], queue_type: str
) -> None:
    stage(amqp, queue_type, 0)
    amqp.declare("elsewhere")
    properties = pika.BasicProperties(delivery_mode=2, expiration="600000", headers={"CC": ["elsewhere"], "kept": "x"})
    amqp.publish("worker-input»t1", b"x", properties)
    assert len(amqp.read_all("elsewhere")) == 1
    policy("PUT")
    [message] = arrived(amqp, 1)
    assert message.properties.expiration is None
    assert header(message, "kept") == "x"
    assert amqp.depth("elsewhere") == 0


def test_the_lines_for_rabbitmqctl_do_the_same(private_node: LocalBroker, queue_type: str) -> None:
    with connected(private_node.url) as amqp:
        staged = stage(amqp, queue_type, 500)
        try:
            private_node.ctl(*runbook.rabbitmqctl("set_policy"))
            bodies = [message.body for message in arrived(amqp, 500)]
            assert sorted(bodies) == sorted(body for own in staged.values() for body in own)
            private_node.ctl(*runbook.rabbitmqctl("clear_policy"))
            assert "raquo-way-out" not in private_node.ctl("list_policies")
        finally:
            for queue in (*staged, "worker-input", "worker-inputs"):
                amqp.channel.queue_delete(queue)


def test_one_message_is_taken_out_of_its_queue_by_the_documented_line(
    admin: Admin, vhost: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("worker-input»tenant1", queue_type)
    amqp.publish_numbered("worker-input»tenant1", 3)
    line = runbook.http("POST")
    _queues, _vhost, queue, get = line.path
    assert queue == "worker-input»tenant1"
    [message] = admin.post("queues", vhost, queue, get, **line.body)
    assert base64.b64decode(message["payload"]) == b"0"
    wait_until(lambda: amqp.depth(queue) == 2, what="it is out of the queue")


def test_both_lines_say_the_same() -> None:
    set_policy, put = runbook.rabbitmqctl("set_policy"), runbook.http("PUT")
    *_options, name, pattern, definition = set_policy
    assert (name, pattern) == (put.path[-1], put.body["pattern"])
    assert json.loads(definition) == put.body["definition"]
    assert set_policy[set_policy.index("--priority") + 1] == str(put.body["priority"])
    assert set_policy[set_policy.index("--apply-to") + 1] == put.body["apply-to"]
