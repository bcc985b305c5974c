"""Grants on a real broker: the exact number, in order, nothing marked as redelivered, whatever the queue is like."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from raquo.broker.errors import BrokerError
from raquo.broker.grant import Reason
from raquo.broker.mover import Limits, Mover, Outcome
from support import wire
from support.admin import Admin
from support.amqp import Amqp, connected
from support.moving import bodies, drained, drained_each, move, mover_for, redelivered, run, until
from support.proxy import Proxy
from support.waiting import wait_until


@pytest.fixture(autouse=True)
def _queues(amqp: Amqp, queue_type: str) -> None:
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)


_CLASSIC_ONLY = pytest.mark.parametrize("queue_type", ["classic"])


def _assert_split(amqp: Amqp, sent: list[bytes], moved: int) -> None:
    """The first `moved` are in the target, the others in staging: in order, and as if nobody had touched them."""
    target, staging = drained(amqp, "target"), drained(amqp, "staging")
    assert bodies(target) == sent[:moved]
    assert bodies(staging) == sent[moved:]
    assert redelivered(target) == redelivered(staging) == []


# Exact


def test_a_grant_of_137_out_of_1000_moves_137(amqp: Amqp, vhost_url: str) -> None:
    sent = amqp.publish_numbered("staging", 1000)
    outcome = move(vhost_url, "staging", "target", 137)
    assert (outcome.moved, outcome.reason, outcome.redelivered) == (137, Reason.COMPLETE, 0)
    assert (amqp.depth("target"), amqp.depth("staging")) == (137, 863)
    _assert_split(amqp, sent, 137)


def test_200_staging_queues_at_once_give_exactly_their_grants(amqp: Amqp, vhost_url: str, queue_type: str) -> None:
    names = [amqp.declare(f"target»t{n}", queue_type) for n in range(200)]
    amqp.publish_each({name: [f"{name} {number}".encode() for number in range(50)] for name in names})

    async def scenario() -> list[Outcome]:
        async with mover_for(vhost_url, "target") as mover:
            return await asyncio.gather(*(mover.move(name, 37) for name in names))

    assert {(outcome.moved, outcome.reason) for outcome in run(scenario())} == {(37, Reason.COMPLETE)}
    target, rests = drained(amqp, "target"), drained_each(amqp, names)
    assert redelivered(target) == []
    for name in names:
        own = [body for body in bodies(target) if body.startswith(f"{name} ".encode())]
        assert own == [f"{name} {number}".encode() for number in range(37)]
        assert bodies(rests[name]) == [f"{name} {number}".encode() for number in range(37, 50)]
        assert redelivered(rests[name]) == []


@pytest.mark.parametrize("count", [1, 31, 32, 33, 50, 82, 83, 500, 1999])
def test_a_grant_larger_than_its_window_is_exact_and_in_order(amqp: Amqp, vhost_url: str, count: int) -> None:
    sent = amqp.publish_numbered("staging", count + 60)
    outcome = move(vhost_url, "staging", "target", count, Limits(window=50))
    assert (outcome.moved, outcome.reason) == (count, Reason.COMPLETE)
    _assert_split(amqp, sent, count)


def test_grants_that_follow_each_other_keep_the_order(amqp: Amqp, vhost_url: str) -> None:
    sent = amqp.publish_numbered("staging", 600)
    counts = [137, 1, 50, 2, 137, 200]

    async def scenario() -> list[int]:
        async with mover_for(vhost_url, "target") as mover:
            return [(await mover.move("staging", count)).moved for count in counts]

    assert run(scenario()) == counts
    _assert_split(amqp, sent, sum(counts))


def test_no_more_than_the_window_is_ever_on_its_way(amqp: Amqp, vhost_url: str) -> None:
    amqp.publish_numbered("staging", 100)
    with Proxy(vhost_url) as proxy:
        move(proxy.url, "staging", "target", 90, Limits(window=10))
        asked = [
            int.from_bytes(arguments[4:6])
            for _, number, arguments in wire.methods_in(proxy.last.up)
            if number == wire.BASIC_QOS
        ]
    assert asked
    assert max(asked) <= 10


def test_an_outcome_says_how_much_there_was(amqp: Amqp, vhost_url: str) -> None:
    amqp.publish_numbered("staging", 10, size=1000)
    outcome = move(vhost_url, "staging", "target", 10)
    assert (outcome.source, outcome.asked, outcome.staged_at) == ("staging", 10, None)
    assert 10_000 <= outcome.size <= 11_000


# Fewer than asked for, or not in time


@pytest.mark.parametrize("by_get", [False, True])
@pytest.mark.parametrize("there", [0, 1, 50])
def test_a_source_with_fewer_ends_the_grant_and_says_so(amqp: Amqp, vhost_url: str, there: int, by_get: bool) -> None:
    sent = amqp.publish_numbered("staging", there)
    outcome = move(vhost_url, "staging", "target", 137, by_get=by_get)  # no deadline: it ends by itself
    assert (outcome.moved, outcome.asked, outcome.reason) == (there, 137, Reason.UNDER_FULL)
    later = amqp.publish_numbered("staging", 10, first=there)
    assert bodies(drained(amqp, "target")) == sent
    assert bodies(drained(amqp, "staging")) == later


def test_a_source_that_fills_up_while_it_is_moved_gives_its_grant(amqp: Amqp, vhost_url: str) -> None:
    first = amqp.publish_numbered("staging", 50)

    async def scenario() -> Outcome:
        async with mover_for(vhost_url, "target", Limits(idle=2.0)) as mover:
            moving = asyncio.create_task(mover.move("staging", 100))
            await until(lambda: amqp.depth("target") == 50)
            amqp.publish_numbered("staging", 70, first=50)
            return await moving

    outcome = run(scenario())
    assert (outcome.moved, outcome.reason) == (100, Reason.COMPLETE)
    _assert_split(amqp, first + [str(number).encode() for number in range(50, 120)], 100)


@pytest.mark.parametrize("deadline", [0.0, 0.02, 0.06, 0.15])
def test_a_deadline_stops_a_grant_in_order_and_marks_nothing(amqp: Amqp, vhost_url: str, deadline: float) -> None:
    sent = amqp.publish_numbered("staging", 4000)
    outcome = move(vhost_url, "staging", "target", 4000, Limits(window=20), deadline=deadline)
    assert outcome.reason in (Reason.UNDER_FULL, Reason.COMPLETE)
    _assert_split(amqp, sent, outcome.moved)


def test_a_deadline_holds_for_a_source_that_never_falls_silent(amqp: Amqp, vhost_url: str) -> None:
    with _trickle(vhost_url, "staging", every=0.03):
        outcome = move(vhost_url, "staging", "target", 100_000, deadline=0.3)  # a window of 1,000 would take 30 s
    assert outcome.reason is Reason.UNDER_FULL
    assert outcome.moved < 500
    target, staging = bodies(drained(amqp, "target")), bodies(drained(amqp, "staging"))
    assert len(target) == outcome.moved
    assert target + staging == [str(number).encode() for number in range(len(target) + len(staging))]


@contextmanager
def _trickle(url: str, queue: str, every: float) -> Iterator[None]:
    """A producer in another thread that sends numbers, one at a time, until the block ends."""
    over = threading.Event()

    def produce() -> None:
        with connected(url) as producer:
            number = 0
            while not over.wait(every):
                producer.publish(queue, str(number).encode())
                number += 1

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# Without a consumer


@pytest.mark.parametrize("count", [1, 40, 137, 300])
def test_a_grant_by_get_is_exact_and_in_order(amqp: Amqp, vhost_url: str, count: int) -> None:
    sent = amqp.publish_numbered("staging", 320)
    outcome = move(vhost_url, "staging", "target", count, Limits(window=10), by_get=True)
    assert (outcome.moved, outcome.reason) == (count, Reason.COMPLETE)
    _assert_split(amqp, sent, count)


@_CLASSIC_ONLY  # a quorum queue cannot be auto-delete
def test_an_auto_delete_source_moved_by_get_is_still_there_with_the_rest(amqp: Amqp, vhost_url: str) -> None:
    amqp.channel.queue_declare("fleeting", auto_delete=True)
    sent = amqp.publish_numbered("fleeting", 1000)
    assert move(vhost_url, "fleeting", "target", 137, by_get=True).moved == 137
    assert bodies(drained(amqp, "target")) == sent[:137]
    assert amqp.bodies("fleeting") == sent[137:]


# Sources with consumers, owners and permissions


def test_a_source_with_a_single_active_consumer_is_moved_exactly(amqp: Amqp, vhost_url: str, queue_type: str) -> None:
    amqp.declare("single", queue_type, x_single_active_consumer=True)
    sent = amqp.publish_numbered("single", 200)
    assert move(vhost_url, "single", "target", 137).moved == 137
    assert bodies(drained(amqp, "target")) == sent[:137]
    assert bodies(drained(amqp, "single")) == sent[137:]


def test_a_source_whose_single_active_consumer_is_another_gives_nothing(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    amqp.declare("single", queue_type, x_single_active_consumer=True)
    amqp.channel.basic_qos(prefetch_count=1)
    amqp.channel.basic_consume("single", lambda *_: None)
    amqp.publish_numbered("single", 20)
    with connected(vhost_url) as observer:
        wait_until(lambda: observer.depth("single") == 19, what="one with its consumer")
        outcome = move(vhost_url, "single", "target", 10)
        assert (outcome.moved, outcome.reason) == (0, Reason.UNDER_FULL)
        assert (observer.depth("single"), observer.depth("target")) == (19, 0)


def test_a_source_with_another_consumer_gives_what_that_one_leaves(amqp: Amqp, vhost_url: str) -> None:
    with connected(vhost_url) as neighbour:
        neighbour.channel.basic_qos(prefetch_count=10)
        neighbour.channel.basic_consume("staging", lambda *_: None)
        sent = amqp.publish_numbered("staging", 100)
        wait_until(lambda: amqp.depth("staging") == 90, what="ten with the other consumer")
        assert move(vhost_url, "staging", "target", 60).moved == 60
        assert bodies(drained(amqp, "target")) == sent[10:70]
    wait_until(lambda: amqp.depth("staging") == 40, what="the other consumer's messages are back")
    assert sorted(bodies(drained(amqp, "staging"))) == sorted(sent[:10] + sent[70:])


def test_a_source_that_is_not_there_is_reported_with_the_brokers_words(amqp: Amqp, vhost_url: str) -> None:
    async def scenario() -> tuple[Outcome, Outcome]:
        async with mover_for(vhost_url, "target") as mover:
            return await mover.move("missing", 5), await mover.move("staging", 5)

    amqp.publish_numbered("staging", 5)
    missing, present = run(scenario())
    assert (missing.moved, missing.reason, missing.code) == (0, Reason.CHANNEL_CLOSED, 404)
    assert "missing" in missing.text
    assert (present.moved, present.reason) == (5, Reason.COMPLETE)


@_CLASSIC_ONLY  # a quorum queue cannot be exclusive
def test_a_source_that_belongs_to_another_connection_is_reported(amqp: Amqp, vhost_url: str) -> None:
    amqp.channel.queue_declare("exclusive", exclusive=True)
    outcome = move(vhost_url, "exclusive", "target", 5)
    assert (outcome.moved, outcome.reason, outcome.code) == (0, Reason.CHANNEL_CLOSED, 405)


@pytest.fixture
def limited_user(admin: Admin, vhost: str, vhost_url: str) -> Iterator[str]:
    """The URL of a user who may read what starts with `staging`, and publish; nothing else."""
    name = f"user-{vhost}"
    admin.make_user(name, "secret")
    admin.permit(name, vhost, configure="^$", write="^amq\\.default$", read="^staging")
    yield vhost_url.replace("guest:guest", f"{name}:secret")
    admin.delete("users", name)


def test_a_mover_needs_to_read_staging_and_to_publish_and_nothing_else(amqp: Amqp, limited_user: str) -> None:
    sent = amqp.publish_numbered("staging", 50)
    outcome = move(limited_user, "staging", "target", 100)
    assert (outcome.moved, outcome.reason) == (50, Reason.UNDER_FULL)
    _assert_split(amqp, sent, 50)


def test_a_source_that_we_may_not_read_is_reported(amqp: Amqp, limited_user: str, queue_type: str) -> None:
    amqp.declare("forbidden", queue_type)
    sent = amqp.publish_numbered("forbidden", 10)
    outcome = move(limited_user, "forbidden", "target", 5)
    assert (outcome.moved, outcome.reason, outcome.code) == (0, Reason.CHANNEL_CLOSED, 403)
    assert bodies(drained(amqp, "forbidden")) == sent


# Callers who go away, and their mistakes


def test_a_move_that_is_cancelled_settles_what_it_has_and_keeps_its_source_until_then(
    amqp: Amqp, vhost_url: str
) -> None:
    sent = amqp.publish_numbered("staging", 5000)

    async def scenario() -> int:
        async with mover_for(vhost_url, "target", Limits(window=20)) as mover:
            moving = asyncio.create_task(mover.move("staging", 5000))
            await until(lambda: amqp.depth("target") > 0)
            moving.cancel()
            with pytest.raises(asyncio.CancelledError):
                await moving
            with pytest.raises(BrokerError, match="'staging' is being moved already"):
                await mover.move("staging", 1)
            return await _first_that_is_not_refused(mover)

    assert run(scenario()) == 10
    moved = amqp.depth("target")
    assert moved < 5000
    _assert_split(amqp, sent, moved)


async def _first_that_is_not_refused(mover: Mover) -> int:
    """A grant of ten as soon as the source is free again."""
    while True:
        try:
            return (await mover.move("staging", 10)).moved
        except BrokerError:
            await asyncio.sleep(0.01)


@_CLASSIC_ONLY
def test_a_second_grant_on_the_same_source_is_refused(amqp: Amqp, vhost_url: str) -> None:
    amqp.publish_numbered("staging", 10)

    async def scenario() -> Outcome:
        async with mover_for(vhost_url, "target") as mover:
            first = asyncio.create_task(mover.move("staging", 5))
            await asyncio.sleep(0)
            with pytest.raises(BrokerError, match="'staging' is being moved already"):
                await mover.move("staging", 5)
            return await first

    assert run(scenario()).moved == 5
    assert amqp.depth("staging") == 5


@_CLASSIC_ONLY
@pytest.mark.parametrize("count", [0, -1])
def test_a_grant_of_nothing_is_a_mistake(vhost_url: str, count: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        move(vhost_url, "staging", "target", count)


@_CLASSIC_ONLY
def test_a_closed_mover_moves_no_more(amqp: Amqp, vhost_url: str) -> None:
    amqp.publish_numbered("staging", 10)

    async def scenario() -> None:
        mover = mover_for(vhost_url, "target")
        assert (await mover.move("staging", 5)).moved == 5
        await mover.close()
        with pytest.raises(BrokerError, match="closed"):
            await mover.move("staging", 5)

    run(scenario())
    assert amqp.depth("staging") == 5


@pytest.mark.parametrize("wrong", [{"channels": 0}, {"window": 0}, {"first_window": 0}, {"window": 65_536}])
def test_limits_that_would_be_none_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limits(**wrong)  # type: ignore[arg-type]
