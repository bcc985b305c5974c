"""A replica on a real broker: what it finds, what it moves, and what it says."""

from collections import Counter

import pytest

from raquo.distributor.round import Switches
from raquo.distributor.status import QueueState
from raquo.distributor.telemetry import FloorGranted, Moved, Warned
from raquo.mutators import Message
from raquo.router import Publisher, Router
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.serving import config_for, serving
from support.waiting import wait_until


def staged(amqp: Amqp, queue: str, count: int, queue_type: str = "classic", first: int = 0) -> list[bytes]:
    amqp.declare(queue, queue_type)
    return amqp.publish_numbered(queue, count, first=first)


def test_everything_staged_arrives_in_order_and_no_more_than_fits(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    bodies = staged(amqp, "work»t1", 250, queue_type)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100})) as one:
        wait_until(lambda: amqp.depth("work") == 100, what="the target is full")
        arrived: list[bytes] = []
        while len(arrived) < 250:
            wait_until(lambda: 0 < amqp.depth("work") <= 100, what="the target is refilled, and never above its length")
            arrived += amqp.bodies("work")
        assert arrived == bodies
        wait_until(lambda: one.target("work").staging[0].state is QueueState.EMPTY, what="the queue is seen as empty")


def test_the_room_is_shared_by_weight(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    for tenant in ("gold", "t1", "t2"):
        staged(amqp, f"work»{tenant}", 100)
    config = config_for(
        vhost_url, node.management_url, defaults={"max_length": 70}, weight=[{"tenant": "gold", "weight": 5}]
    )
    with serving(config) as one:
        wait_until(lambda: sum(event.count for event in one.heard(Moved)) == 70, what="the target is full")
        shares = Counter(event.tenant for event in one.heard(Moved) for _ in range(event.count))
        assert shares == {"gold": 50, "t1": 10, "t2": 10}


def test_the_target_is_mixed_from_the_first_message_on(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    for tenant in range(10):
        staged(amqp, f"work»t{tenant}", 100, queue_type, first=1000 * tenant)
    with serving(config_for(vhost_url, node.management_url)):
        wait_until(lambda: amqp.depth("work") == 1000, what="everything is in the target")
    tenants = [int(body) // 1000 for body in amqp.bodies("work")]
    for start in range(0, 1000, 200):
        counts = Counter(tenants[start : start + 200])
        assert min(counts[tenant] for tenant in range(10)) >= 10, f"{start}: {counts}"


def test_a_message_published_through_the_router_is_in_the_target_soon(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    router = Router(by=("tenant", "workflow"))
    with serving(config_for(vhost_url, node.management_url)), Publisher(vhost_url, router) as publisher:
        for number in range(5):
            decision = publisher.publish("work", b"x", headers={"tenant": f"t{number}", "workflow": "w"})
            assert decision.staged
            wait_until(lambda number=number: amqp.depth("work") == number + 1, what="it is in the target")  # type: ignore[misc]


def test_a_small_tenant_does_not_wait_behind_a_flood(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    staged(amqp, "work»flood", 5000)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 50})) as one:
        wait_until(lambda: amqp.depth("work") == 50, what="the target is full of the flood")
        staged(amqp, "work»small", 10, first=90_000)
        wait_until(lambda: getattr(one.staging("work»small"), "depth", 0), what="the small one is seen to wait")
        seen: list[bytes] = []
        while len(places := [place for place, body in enumerate(seen) if body.startswith(b"9000")]) < 10:
            seen += wait_until(lambda: amqp.bodies("work"), what="the target is refilled")
        assert places[-1] < 500, "the small tenant waits behind the flood"


def test_a_missing_target_holds_its_messages_until_it_is_there(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    bodies = staged(amqp, "work»t1", 5)
    with serving(config_for(vhost_url, node.management_url)) as one:
        held = wait_until(lambda: one.staging("work»t1"), what="it is found")
        wait_until(lambda: getattr(one.staging("work»t1"), "reason", None) == "target_missing", what="it is held")
        assert held.depth in (0, 5, 1)
        amqp.declare("work")
        wait_until(lambda: amqp.depth("work") == 5, what="it moves once the target is there")
    assert amqp.bodies("work") == bodies


def test_a_missing_target_is_declared_where_that_is_wanted(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    staged(amqp, "work»t1", 5)
    with serving(config_for(vhost_url, node.management_url, defaults={"declare_missing": True})):
        wait_until(lambda: amqp.exists("work") and amqp.depth("work") == 5, what="the target is made and filled")


def test_a_stream_is_not_served_as_a_target(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work", "stream")
    staged(amqp, "work»t1", 5)
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: getattr(one.staging("work»t1"), "reason", None) == "stream_target", what="it is held")
        assert amqp.depth("work»t1") == 5


def test_odd_queues_are_left_alone_with_one_warning_each_and_the_others_go_on(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("»")
    amqp.declare("»x")
    amqp.declare("work»stream", "stream")
    staged(amqp, "work»t1", 5)
    with serving(config_for(vhost_url, node.management_url, distributor={"discover_every": "100ms"})) as one:
        wait_until(lambda: amqp.depth("work") == 5, what="the ordinary queue is served")
        texts = {event.text for event in one.heard(Warned)}
        assert sum("left alone" in text for text in texts) == 3


def test_an_auto_delete_staging_queue_is_emptied_and_not_deleted_with_what_it_holds(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.channel.queue_declare("work»t1", durable=True, auto_delete=True)
    amqp.publish_numbered("work»t1", 150)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100})):
        wait_until(lambda: amqp.depth("work") == 100, what="the target is full")
        assert amqp.depth("work»t1") == 50


def test_a_staging_queue_with_a_single_active_consumer_works(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    amqp.declare("work»t1", queue_type, x_single_active_consumer=True)
    bodies = amqp.publish_numbered("work»t1", 20)
    with serving(config_for(vhost_url, node.management_url)):
        wait_until(lambda: amqp.depth("work") == 20, what="everything moved")
    assert amqp.bodies("work") == bodies


@pytest.mark.parametrize("by_policy", [False, True], ids=["argument", "policy"])
def test_the_targets_own_length_is_respected(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, by_policy: bool
) -> None:
    if by_policy:
        admin.set_policy(vhost, "short", "^work$", max_length=30)
    amqp.declare("work", **({} if by_policy else {"x_max_length": 30}))
    bodies = staged(amqp, "work»t1", 100)
    with serving(config_for(vhost_url, node.management_url)):
        arrived: list[bytes] = []
        while len(arrived) < 100:
            arrived += wait_until(lambda: amqp.bodies("work"), what="the target is refilled")
    assert arrived == bodies, "the broker threw something away"


def test_weight_zero_holds_everything_back(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    staged(amqp, "work»held", 5)
    staged(amqp, "work»t1", 5)
    config = config_for(vhost_url, node.management_url, weight=[{"tenant": "held", "weight": 0}])
    with serving(config) as one:
        wait_until(lambda: amqp.depth("work") == 5, what="the other tenant moved")
        wait_until(lambda: getattr(one.staging("work»held"), "reason", None) == "weight_zero", what="it is held")
        one.reload(config_for(vhost_url, node.management_url))
        wait_until(lambda: amqp.depth("work") == 10, what="it moves after the weight is gone")


def test_only_chosen_targets_are_served(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    for target in ("work-a", "work-b", "else"):
        amqp.declare(target)
        staged(amqp, f"{target}»t1", 3)
    config = config_for(
        vhost_url, node.management_url, distributor={"serve": ["work-*"], "serve_not": ["work-b"]}
    )
    with serving(config) as one:
        wait_until(lambda: amqp.depth("work-a") == 3, what="the chosen target is served")
        assert [target.target for target in one.status().targets] == ["work-a"]


def test_a_dry_run_moves_nothing(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    staged(amqp, "work»t1", 5)
    with serving(config_for(vhost_url, node.management_url), Switches(dry_run=True)) as one:
        wait_until(lambda: getattr(one.staging("work»t1"), "depth", 0) == 5, what="it is seen")
        assert one.status().dry_run
        assert (amqp.depth("work"), amqp.depth("work»t1")) == (0, 5)


def test_a_bypass_lets_everything_flow_whatever_the_length(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    for tenant in ("t1", "t2"):
        staged(amqp, f"work»{tenant}", 300)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 50}), Switches(bypass=True)):
        wait_until(lambda: amqp.depth("work") == 600, what="everything is in the target")


def test_what_others_put_into_the_target_does_not_starve_what_is_staged(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.publish_numbered("work", 500)
    staged(amqp, "work»t1", 50)
    amqp.channel.basic_qos(prefetch_count=1)
    amqp.channel.basic_consume("work", lambda *_: None)  # somebody consumes, slowly
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100})) as one:
        wait_until(lambda: one.heard(FloorGranted), deadline=30, what="the floor opens")
        wait_until(lambda: amqp.depth("work»t1") < 50, what="something moved")
        assert getattr(one.staging("work»t1"), "reason", None) in ("direct_producers", None)


def test_many_idle_staging_queues_do_not_hide_a_message_that_nobody_rang_for(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    for number in range(300):
        amqp.declare(f"work»t{number}")
    with serving(config_for(vhost_url, node.management_url, distributor={"discover_every": "1h"})) as one:
        wait_until(lambda: one.status().targets and len(one.target("work").staging) == 300, what="all are found")
        amqp.publish("work»t211", b"x")
        wait_until(lambda: amqp.depth("work") == 1, what="the rotation found it")


def test_messages_of_a_publisher_carry_their_age_into_the_status(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    with Publisher(vhost_url, Router(by=("tenant",))) as publisher:
        publisher.publish_many("work", [Message(b"x", {"tenant": "t1"}) for _ in range(10)])
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: sum(event.count for event in one.heard(Moved)) == 10, what="all moved")
        assert all(event.waited is not None and event.waited >= 0 for event in one.heard(Moved))
