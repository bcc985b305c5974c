"""Messages that the target does not take: nothing is lost, nothing is moved twice, nothing is tried for ever."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from raquo.broker.grant import Reason
from raquo.broker.local import LocalBroker
from raquo.broker.mover import Limits, Outcome
from support import wire
from support.admin import Admin
from support.amqp import Amqp, connected
from support.moving import bodies, drained, move, mover_for, numbers, run, wait_for_depth
from support.proxy import Proxy
from support.publishing import fresh


@pytest.fixture(autouse=True)
def _staging(amqp: Amqp, queue_type: str) -> None:
    amqp.declare("staging", queue_type)


# No target


@pytest.mark.parametrize("by_get", [False, True])
def test_without_a_target_everything_stays_in_order(amqp: Amqp, vhost_url: str, queue_type: str, by_get: bool) -> None:
    if by_get and queue_type == "quorum":
        pytest.skip("a quorum queue gives back in no order what was fetched by get")
    sent = amqp.publish_numbered("staging", 100)
    outcome = move(vhost_url, "staging", "target", 50, by_get=by_get)
    assert (outcome.moved, outcome.reason, outcome.code) == (0, Reason.RETURNED, 312)
    assert outcome.text == "NO_ROUTE"
    wait_for_depth(amqp, "staging", 100)
    assert bodies(drained(amqp, "staging")) == sent


def test_when_the_target_is_there_again_everything_arrives_in_order(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    sent = amqp.publish_numbered("staging", 200)

    async def scenario() -> list[Outcome]:
        async with mover_for(vhost_url, "target") as mover:
            outcomes = [await mover.move("staging", 150) for _ in range(3)]
            amqp.declare("target", queue_type)
            return [*outcomes, await mover.move("staging", 200)]

    *without, with_target = run(scenario())
    assert {(outcome.moved, outcome.reason) for outcome in without} == {(0, Reason.RETURNED)}
    assert (with_target.moved, with_target.reason) == (200, Reason.COMPLETE)
    assert bodies(drained(amqp, "target")) == sent


def test_a_missing_target_disturbs_no_other_grant_on_the_connection_but_those_of_the_target(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    sources = [amqp.declare(f"staging{number}", queue_type) for number in range(5)]
    for source in sources:
        amqp.publish_numbered(source, 20)

    async def scenario() -> list[Outcome]:
        async with mover_for(vhost_url, "target") as mover:
            outcomes = await asyncio.gather(*(mover.move(source, 20) for source in sources))
            assert mover.dropped_connections == 0
            return outcomes

    with Proxy(vhost_url) as proxy:
        vhost_url = proxy.url
        outcomes = run(scenario())
        assert len(proxy.passages) == 1
    assert {(outcome.moved, outcome.reason) for outcome in outcomes} == {(0, Reason.RETURNED)}
    for source in sources:
        wait_for_depth(amqp, source, 20)


# A target that is full


def _declare_full_target(amqp: Amqp, queue_type: str, most: int) -> None:
    amqp.declare("target", queue_type, x_max_length=most, x_overflow="reject-publish")


@pytest.mark.parametrize("window", [1, 7, 1000])
def test_a_full_target_gets_what_it_takes_and_the_rest_stays(
    amqp: Amqp, vhost_url: str, queue_type: str, window: int
) -> None:
    _declare_full_target(amqp, queue_type, 30)
    sent = amqp.publish_numbered("staging", 200)
    outcome = move(vhost_url, "staging", "target", 200, Limits(window=window, first_window=200))
    soft = queue_type == "quorum" and outcome.moved == 200  # a quorum queue notices its limit a little later
    assert outcome.reason is (Reason.COMPLETE if soft else Reason.REFUSED)
    wait_for_depth(amqp, "staging", 200 - outcome.moved)
    target, staging = bodies(drained(amqp, "target")), bodies(drained(amqp, "staging"))
    assert len(target) == outcome.moved >= 30
    assert sorted(target + staging) == sorted(sent)
    assert staging == [body for body in sent if body in set(staging)]
    if window == 1:
        assert target + staging == sent


def test_a_target_that_is_full_again_and_again_gets_everything_once(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    _declare_full_target(amqp, queue_type, 40)
    amqp.publish_numbered("staging", 400)
    arrived: list[int] = []

    async def scenario() -> None:
        async with mover_for(vhost_url, "target") as mover:
            while len(arrived) < 400:
                outcome = await mover.move("staging", 100)
                assert outcome.reason in (Reason.REFUSED, Reason.COMPLETE, Reason.UNDER_FULL)
                arrived.extend(numbers(drained(amqp, "target")))

    run(scenario())
    assert sorted(arrived) == list(range(400))
    assert amqp.depth("staging") == 0


# Messages that close the channel


@pytest.fixture
def reader(admin: Admin, vhost: str, vhost_url: str) -> Iterator[str]:
    """The URL of a user who may read everything, and publish nothing."""
    name = f"reader-{vhost}"
    admin.make_user(name, "secret")
    admin.permit(name, vhost, write="^$")
    yield vhost_url.replace("guest:guest", f"{name}:secret")
    admin.delete("users", name)


def test_who_may_not_publish_is_told_so_and_nothing_moves(amqp: Amqp, reader: str, queue_type: str) -> None:
    amqp.declare("target", queue_type)
    sent = amqp.publish_numbered("staging", 100)
    with Proxy(reader) as proxy:
        outcome = move(proxy.url, "staging", "target", 80)
        published = wire.contents_in(proxy.last.up, wire.BASIC_PUBLISH)
    assert (outcome.moved, outcome.reason, outcome.code) == (0, Reason.UNMOVABLE, 403)
    assert "amq.default" in outcome.text or "default exchange" in outcome.text
    assert len(published) <= 32 + 1, "one window, and then that message alone"
    wait_for_depth(amqp, "staging", 100)
    assert bodies(drained(amqp, "staging")) == sent


def test_a_message_that_is_too_large_is_unmovable_and_its_neighbours_keep_their_order(
    private_node: LocalBroker, queue_type: str
) -> None:
    """It is the first, among the first window, or far behind; it got there before the limit was lowered."""
    places = {fresh("staging"): place for place in (0, 10, 60)}
    target = fresh("target")
    with connected(private_node.url) as amqp:
        amqp.declare(target, queue_type)
        for staging, place in places.items():
            amqp.declare(staging, queue_type)
            bodies = [str(number).encode().ljust(2000 if number == place else 4, b".") for number in range(100)]
            amqp.publish_all(staging, bodies)
        with _messages_of_at_most(1000, private_node):
            for staging, place in places.items():
                outcomes = run(_moves(private_node.url, staging, target, 3))
                assert {(outcome.reason, outcome.code) for outcome in outcomes} == {(Reason.UNMOVABLE, 406)}
                assert "message size 2000 is larger" in outcomes[0].text
                wait_for_depth(amqp, staging, 100 - place)
                moved = numbers(drained(amqp, target))
                assert sorted(set(moved)) == list(range(place))
                assert len(moved) <= place + 32, "repeated: at most what was on its way when the channel closed"
                assert place <= outcomes[0].moved <= len(moved), "acks that the closing channel lost count twice"
                assert [outcome.moved for outcome in outcomes[1:]] == [0, 0]
                assert numbers(drained(amqp, staging)) == list(range(place, 100))


@contextmanager
def _messages_of_at_most(size: int, node: LocalBroker) -> Iterator[None]:
    """A broker with another limit, as after an upgrade; releases keep it in different places."""
    setting = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
    node.ctl("eval", setting.format(size))
    try:
        yield
    finally:
        node.ctl("eval", setting.format(16 * 1024 * 1024))


async def _moves(url: str, staging: str, target: str, times: int) -> list[Outcome]:
    async with mover_for(url, target) as mover:
        return [await mover.move(staging, 100) for _ in range(times)]
