"""Queues that somebody deletes in the middle of a move.

What a queue holds when it is deleted is gone, and so is what was on its way into it: a classic queue confirms that all
the same. So the tests say precisely what may be missing, and that nothing else is.
"""

import asyncio

from raquo.broker.grant import Reason
from raquo.broker.mover import Limits, Outcome
from support import wire
from support.amqp import Amqp
from support.moving import drained, mover_for, numbers, run, until
from support.proxy import Proxy
from support.waiting import wait_until

_QUICK = Limits(window=100, confirm=3.0, answer=2.0)

# RabbitMQ 3.10 confirms nothing that was on its way to a quorum queue and stops reading, or breaks (541)
_AFTER_DELETION = (Reason.RETURNED, Reason.REFUSED, Reason.NO_ANSWER, Reason.CONNECTION_LOST)


def _sent(proxy: Proxy) -> set[int]:
    """The numbers of everything that a mover published, on all its connections."""
    contents = [wire.contents_in(passage.up, wire.BASIC_PUBLISH) for passage in proxy.passages]
    return {int(content.body) for own in contents for content in own}


def test_of_a_source_that_is_deleted_everything_received_is_in_the_target(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)
    amqp.publish_numbered("staging", 20_000)

    async def scenario(url: str) -> Outcome:
        async with mover_for(url, "target", Limits(window=50)) as mover:
            moving = asyncio.create_task(mover.move("staging", 20_000))
            await until(lambda: amqp.depth("target") > 100)
            await asyncio.to_thread(amqp.channel.queue_delete, "staging")
            return await moving

    with Proxy(vhost_url) as proxy:
        outcome = run(scenario(proxy.url))
        received = _sent(proxy)
    target = numbers(drained(amqp, "target"))
    assert outcome.reason is Reason.SOURCE_GONE
    assert 100 < outcome.moved < 20_000
    assert target == list(range(len(target)))
    assert received == set(target)
    assert len(target) == outcome.moved


def test_a_source_that_is_deleted_and_made_anew_is_moved_again(amqp: Amqp, vhost_url: str, queue_type: str) -> None:
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)
    amqp.publish_numbered("staging", 20_000)

    async def scenario() -> tuple[Outcome, Outcome, Outcome]:
        async with mover_for(vhost_url, "target", Limits(window=50)) as mover:
            moving = asyncio.create_task(mover.move("staging", 20_000))
            await until(lambda: amqp.depth("target") > 100)
            await asyncio.to_thread(amqp.channel.queue_delete, "staging")
            first, gone = await moving, await mover.move("staging", 10)
            amqp.declare("staging", queue_type)
            amqp.publish_numbered("staging", 10, first=50_000)
            return first, gone, await mover.move("staging", 10)

    first, gone, again = run(scenario())
    assert (gone.moved, gone.reason, gone.code) == (0, Reason.CHANNEL_CLOSED, 404)
    assert (again.moved, again.reason) == (10, Reason.COMPLETE)
    assert numbers(drained(amqp, "target")) == [*range(first.moved), *range(50_000, 50_010)]


def test_a_target_that_is_deleted_takes_with_it_only_what_it_was_sent(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    """What is not in staging any more was sent to it; staging keeps its order."""
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)
    amqp.publish_numbered("staging", 5000)

    async def scenario(url: str) -> list[Outcome]:
        async with mover_for(f"{url}?heartbeat=2", "target", _QUICK) as mover:
            moving = asyncio.create_task(mover.move("staging", 5000))
            await until(lambda: amqp.depth("target") > 100)
            await asyncio.to_thread(amqp.channel.queue_delete, "target")
            return [await moving, await mover.move("staging", 10)]

    with Proxy(vhost_url) as proxy:
        first, second = run(scenario(proxy.url))
        sent = _sent(proxy)
    assert first.reason in _AFTER_DELETION
    assert (second.moved, second.reason in {Reason.RETURNED, Reason.UNDER_FULL}) == (0, True)
    wait_until(lambda: amqp.depth("staging") >= 5000 - first.moved, 20, what="what was held is given back")
    staging = numbers(drained(amqp, "staging"))
    assert staging == list(range(staging[0], 5000))
    assert set(range(staging[0])) <= sent


def test_a_deleted_target_that_is_declared_again_gets_the_rest_in_order(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)
    amqp.publish_numbered("staging", 3000)

    async def scenario() -> tuple[Outcome, Outcome]:
        async with mover_for(f"{vhost_url}?heartbeat=2", "target", _QUICK) as mover:
            moving = asyncio.create_task(mover.move("staging", 3000))
            await until(lambda: amqp.depth("target") > 100)
            await asyncio.to_thread(amqp.channel.queue_delete, "target")
            first = await moving
            amqp.declare("target", queue_type)
            await until(lambda: amqp.depth("staging") >= 3000 - first.moved, 20, "what was held is given back")
            return first, await mover.move("staging", 3000)

    first, second = run(scenario())
    assert first.reason in _AFTER_DELETION
    assert second.reason in (Reason.COMPLETE, Reason.UNDER_FULL)
    target = numbers(drained(amqp, "target"))
    assert target == list(range(target[0], 3000))
    assert target[0] <= first.moved
    assert amqp.depth("staging") == 0


def test_a_target_deleted_under_a_whole_window_holds_nothing_up_beyond_the_deadlines(
    amqp: Amqp, vhost_url: str, queue_type: str
) -> None:
    """Nothing is published after the deletion, so RabbitMQ 3.10 never answers for a quorum queue."""
    amqp.declare("staging", queue_type)
    amqp.declare("target", queue_type)
    amqp.publish_numbered("staging", 1500, size=2000)
    limits = Limits(window=1000, first_window=1000, confirm=2.0)

    async def scenario() -> tuple[Outcome, int, Outcome]:
        async with mover_for(f"{vhost_url}?heartbeat=2", "target", limits) as mover:
            moving = asyncio.create_task(mover.move("staging", 1000))
            await until(lambda: amqp.depth("target") > 0)
            await asyncio.to_thread(amqp.channel.queue_delete, "target")
            first = await moving
            dropped = mover.dropped_connections
            amqp.declare("target", queue_type)
            await until(lambda: amqp.depth("staging") >= 1500 - first.moved, 20, "what was held is given back")
            return first, dropped, await mover.move("staging", 1500)

    first, dropped, second = run(scenario())
    assert first.reason in (*_AFTER_DELETION, Reason.COMPLETE)
    assert dropped == 1 or (dropped == 0 and first.reason is not Reason.NO_ANSWER)
    assert second.reason in (Reason.COMPLETE, Reason.UNDER_FULL)
    target = numbers(drained(amqp, "target"))
    assert target == list(range(target[0], 1500))
    assert target[0] <= first.moved
