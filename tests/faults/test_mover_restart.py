"""The broker goes away in the middle of a move and comes back: everything arrives."""

import asyncio
from collections.abc import Callable

import pytest

from raquo.broker.errors import BrokerError
from raquo.broker.grant import Reason
from raquo.broker.local import LocalBroker
from raquo.broker.mover import Limits, Mover, Outcome
from support.amqp import connected
from support.brokers import wait_until_on_disk
from support.moving import HANG, drained, mover_for, numbers, run, until
from support.publishing import fresh

_COUNT = 20_000
_WINDOW = 100


def restart(node: LocalBroker) -> None:
    """As an administrator would."""
    node.restart()


def kill(node: LocalBroker) -> None:
    """As a power cut would."""
    node.kill()
    node.start()


async def _move_on(mover: Mover, staging: str, broken: "asyncio.Future[None]") -> None:
    """Grant after grant until the broker is back and nothing is left."""
    while True:
        try:
            outcome = await mover.move(staging, _COUNT)
        except BrokerError:
            await until(broken.done, HANG, "the broker is back")
            continue
        if broken.done() and not outcome.moved and outcome.reason is Reason.UNDER_FULL:
            return


@pytest.mark.parametrize("outage", [restart, kill])
def test_nothing_is_missing_after_an_outage_in_the_middle_of_a_move(
    private_node: LocalBroker, outage: Callable[[LocalBroker], None], queue_type: str
) -> None:
    staging, target = fresh("staging"), fresh("target")
    with connected(private_node.url) as amqp:
        amqp.declare(staging, queue_type)
        amqp.declare(target, queue_type)
        amqp.publish_numbered(staging, _COUNT)
        for queue in (staging, target):
            wait_until_on_disk(private_node, queue, queue_type)

    async def scenario() -> Outcome:
        async with mover_for(private_node.url, target, Limits(window=_WINDOW)) as mover:
            moving = asyncio.create_task(mover.move(staging, _COUNT))
            with connected(private_node.url) as amqp:
                await until(lambda: amqp.depth(target) > 500)
            broken = asyncio.ensure_future(asyncio.to_thread(outage, private_node))
            interrupted = await moving
            await _move_on(mover, staging, broken)
            return interrupted

    interrupted = run(scenario(), deadline=100)
    assert interrupted.reason is Reason.CONNECTION_LOST
    with connected(private_node.url) as amqp:
        arrived = numbers(drained(amqp, target))
        assert amqp.depth(staging) == 0
        amqp.channel.queue_delete(staging)
        amqp.channel.queue_delete(target)
    assert set(arrived) == set(range(_COUNT))
    if outage is restart:
        assert list(dict.fromkeys(arrived)) == list(range(_COUNT))
        assert len(arrived) <= _COUNT + _WINDOW
