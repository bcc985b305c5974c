"""The worker: it acknowledges what it has done, takes no more than its prefetch, and gives back the rest."""

import asyncio

import pytest

from raquo.broker.errors import BrokerUnreachable, ChannelClosed
from raquo.broker.worker import Delivery, Worker
from support.amqp import Amqp
from support.waiting import wait_until


def test_it_does_one_after_the_other_and_gives_back_what_is_not_done(vhost_url: str, amqp: Amqp) -> None:
    bodies = amqp.publish_numbered(amqp.declare("input"), 20)
    assert asyncio.run(_done_before_it_is_cancelled(vhost_url, count=15)) == bodies[:15]
    wait_until(lambda: amqp.depth("input") == 5, what="the rest is ready again")


def test_it_takes_no_more_than_its_prefetch(vhost_url: str, amqp: Amqp) -> None:
    amqp.publish_numbered(amqp.declare("input"), 20)
    worker = Worker(vhost_url, "input", _never_done, prefetch=3)

    async def look_while_it_works() -> None:
        running = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until, lambda: amqp.depth("input") == 17, what="three are taken")
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(look_while_it_works())


def test_it_declares_its_queue(vhost_url: str, amqp: Amqp) -> None:
    async def run() -> None:
        worker = Worker(vhost_url, "input", _never_done)
        running = asyncio.create_task(worker.run())
        await asyncio.to_thread(wait_until, lambda: worker.consuming, what="it consumes")
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(run())
    assert amqp.exists("input")


def test_a_queue_that_the_broker_refuses_is_an_error(vhost_url: str, amqp: Amqp) -> None:
    amqp.channel.queue_declare("input", durable=False, exclusive=True)  # of another connection
    with pytest.raises(ChannelClosed, match="405"):
        asyncio.run(asyncio.wait_for(Worker(vhost_url, "input", _never_done).run(), 10))


def test_without_a_broker_it_says_so() -> None:
    with pytest.raises(BrokerUnreachable):
        asyncio.run(Worker("amqp://127.0.0.1:1/%2f", "input", _never_done).run())


def test_what_the_work_raises_ends_it(vhost_url: str, amqp: Amqp) -> None:
    amqp.publish_numbered(amqp.declare("input"), 1)

    async def fail(_delivery: Delivery) -> None:
        raise ValueError("no such page")

    with pytest.raises(ValueError, match="no such page"):
        asyncio.run(asyncio.wait_for(Worker(vhost_url, "input", fail).run(), 10))
    wait_until(lambda: amqp.depth("input") == 1, what="the message is there again")


async def _done_before_it_is_cancelled(url: str, count: int) -> list[bytes]:
    """The bodies of the first messages a worker has done; it is cancelled while it works on the next."""
    done: list[bytes] = []
    next_one = asyncio.Event()

    async def work(delivery: Delivery) -> None:
        if len(done) == count:
            next_one.set()
            await _never_done(delivery)
        done.append(delivery.body)

    running = asyncio.create_task(Worker(url, "input", work, prefetch=3).run())
    await asyncio.wait_for(next_one.wait(), 10)
    running.cancel()
    await asyncio.wait({running})
    return done


async def _never_done(_delivery: Delivery) -> None:
    await asyncio.Event().wait()
