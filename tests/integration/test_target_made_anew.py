"""A target that is made while it is served: its own limits are looked up before anything goes in."""

import pytest

from raquo.distributor.round import Switches
from raquo.distributor.telemetry import Warned
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.serving import Serving, config_for, serving
from support.waiting import wait_until

_STAGED = 200
_LIMIT = 10


def staged(amqp: Amqp, queue: str = "work»t1") -> None:
    amqp.declare(queue)
    amqp.publish_numbered(queue, _STAGED)


def everything_arrives(amqp: Amqp) -> None:
    """Nothing was thrown away, whatever the target's own limit."""
    arrived: list[bytes] = []
    wait_until(lambda: arrived.extend(amqp.bodies("work")) or len(arrived) >= _STAGED, 60, "everything arrives")
    assert sorted(map(int, arrived)) == list(range(_STAGED))


def held_as_missing(one: Serving) -> bool:
    return any(target.reason == "target_missing" for target in one.status().targets)


@pytest.mark.parametrize("by_policy", [True, False], ids=["policy", "argument"])
def test_a_target_that_comes_after_its_staging_queues_is_never_filled_beyond_its_own_limit(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, by_policy: bool
) -> None:
    if by_policy:
        admin.set_policy(vhost, "short", "^work$", max_length=_LIMIT)
    staged(amqp)
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: held_as_missing(one), what="it is known that there is no target")
        amqp.declare("work", **({} if by_policy else {"x_max_length": _LIMIT}))
        everything_arrives(amqp)


def test_a_target_that_the_distributor_declares_is_never_filled_beyond_its_own_limit(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp
) -> None:
    admin.set_policy(vhost, "short", "^work$", max_length=_LIMIT)
    staged(amqp)
    with serving(config_for(vhost_url, node.management_url, defaults={"declare_missing": True})):
        wait_until(lambda: amqp.exists("work"), what="the target is declared")
        everything_arrives(amqp)


def test_a_target_that_is_made_anew_with_a_limit_is_never_filled_beyond_it(
    node: Broker, vhost_url: str, amqp: Amqp
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish("work»t1", b"first")
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: amqp.depth("work") == 1, what="it is served")
        amqp.channel.queue_delete("work")
        amqp.publish("work»t1", b"0")
        wait_until(lambda: held_as_missing(one), what="it is known that there is no target")
        amqp.publish_numbered("work»t1", _STAGED - 1, first=1)
        amqp.declare("work", x_max_length=_LIMIT)
        everything_arrives(amqp)


def test_a_target_that_cannot_be_declared_does_not_keep_others_from_being_declared(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp
) -> None:
    user = f"limited-{vhost}"
    admin.make_user(user, "secret", tags="management")
    admin.permit(user, vhost, configure="^(?!aaa$).*$")
    for target in ("aaa", "bbb"):
        amqp.declare(f"{target}»t1")
        amqp.publish(f"{target}»t1", b"x")
    url = vhost_url.replace("guest:guest", f"{user}:secret")
    try:
        with serving(config_for(url, node.management_url, defaults={"declare_missing": True})) as one:
            wait_until(lambda: amqp.exists("bbb") and amqp.depth("bbb") == 1, 20, "the other is declared and filled")
            assert not amqp.exists("aaa")
            wait_until(lambda: any("aaa" in event.text for event in one.heard(Warned)), what="it says so")
    finally:
        admin.delete("users", user)


def test_a_wake_up_without_anything_to_do_is_over_at_once(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    """A flag that stays set would make the loop turn for ever."""
    amqp.declare("work")
    amqp.declare("work»t1")
    with serving(config_for(vhost_url, node.management_url), Switches()) as one:
        wait_until(lambda: one.staging("work»t1"), what="it is known")
        one.replica.wake_all()
        wait_until(lambda: not one.replica.targets["work"].woken.is_set(), what="it waits again")


def test_the_figures_of_an_idle_target_are_fresh(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 10)
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: one.status().targets and one.target("work").depth == 10, what="everything is moved")
        amqp.bodies("work")
        wait_until(lambda: one.target("work").depth == 0, what="it is seen that the target is empty")
        assert one.target("work").eligible == 0


def test_another_broker_in_the_file_is_not_used_before_the_next_start(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work»t1")
    amqp.publish("work»t1", b"x")
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: held_as_missing(one), what="the target is missing")
        one.reload(config_for(node.url, node.management_url, defaults={"declare_missing": True}))
        wait_until(lambda: amqp.exists("work") and amqp.depth("work") == 1, what="it is declared where it is served")
        assert any("start the daemon again" in event.text for event in one.heard(Warned))
