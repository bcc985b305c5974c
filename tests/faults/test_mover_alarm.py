"""A broker with a memory alarm reads nothing from who publishes: grants pause, no deadline passes, nothing is lost."""

import asyncio
from collections.abc import Iterator

import pytest

from raquo.broker.grant import Reason
from raquo.broker.local import LocalBroker
from raquo.broker.mover import Limits, Mover, Outcome
from support.amqp import Amqp, connected
from support.moving import bodies, drained, mover_for, numbers, redelivered, run, until, wait_for_depth
from support.publishing import fresh, memory_alarm

_IMPATIENT = Limits(confirm=0.5, answer=0.5, first_window=100)


@pytest.fixture
def amqp(private_node: LocalBroker) -> Iterator[Amqp]:
    with connected(private_node.url) as amqp:
        yield amqp


@pytest.fixture
def queues(amqp: Amqp, queue_type: str) -> Iterator[tuple[str, str, str]]:
    """Two staging queues and a target."""
    names = (fresh("staging"), fresh("other"), fresh("target"))
    for name in names:
        amqp.declare(name, queue_type)
    yield names
    for name in names:
        amqp.channel.queue_delete(name)


async def _blocked_for(mover: Mover, seconds: float) -> None:
    """Until the broker has not read for so long."""
    await until(lambda: mover.blocked, 20, "the mover is blocked")
    end = asyncio.get_running_loop().time() + seconds
    await until(lambda: asyncio.get_running_loop().time() > end, seconds + 10)
    assert mover.blocked


def test_a_grant_pauses_while_the_alarm_lasts_and_goes_on_afterwards(
    private_node: LocalBroker, amqp: Amqp, queues: tuple[str, str, str]
) -> None:
    staging, other, target = queues
    sent = amqp.publish_numbered(staging, 300)
    amqp.publish_numbered(other, 10)

    async def scenario() -> tuple[Outcome, Outcome, Outcome]:
        async with mover_for(private_node.url, target, _IMPATIENT) as mover:
            with memory_alarm(private_node):
                moving = asyncio.create_task(mover.move(staging, 250))
                await _blocked_for(mover, 1.5)  # three times what an answer may take
                not_started = await mover.move(other, 5, deadline=0.2)
                assert not moving.done()
            paused, started = await moving, await mover.move(other, 5)
            assert mover.dropped_connections == 0
            return paused, not_started, started

    paused, not_started, started = run(scenario())
    assert (paused.moved, paused.reason) == (250, Reason.COMPLETE)
    assert (not_started.moved, not_started.reason) == (0, Reason.BLOCKED)
    assert (started.moved, started.reason) == (5, Reason.COMPLETE)
    arrived, rest = drained(amqp, target), drained(amqp, staging)
    assert bodies(arrived)[:250] == sent[:250]
    assert bodies(rest) == sent[250:]
    assert redelivered(arrived) == redelivered(rest) == []


@pytest.mark.parametrize("queue_type", ["classic"])
def test_more_than_the_write_buffer_holds_survives_an_alarm_longer_than_the_heartbeat(
    private_node: LocalBroker, amqp: Amqp, queues: tuple[str, str, str]
) -> None:
    """With 8 MiB waiting to be written the mover reads no more; it must still hear heartbeats, and the alarm's end."""
    staging, _, target = queues
    amqp.publish_numbered(staging, 40, size=1_000_000)

    async def scenario() -> Outcome:
        async with mover_for(f"{private_node.url}?heartbeat=2", target, _IMPATIENT) as mover:
            with memory_alarm(private_node):
                moving = asyncio.create_task(mover.move(staging, 40))
                await _blocked_for(mover, 10)  # pika looks every seven seconds
            return await moving

    outcome = run(scenario())
    assert (outcome.moved, outcome.reason) == (40, Reason.COMPLETE)
    assert numbers(drained(amqp, target)) == list(range(40))
    assert amqp.depth(staging) == 0


def test_closing_during_an_alarm_ends_and_loses_nothing(
    private_node: LocalBroker, amqp: Amqp, queues: tuple[str, str, str]
) -> None:
    """The broker may carry out what it had been sent when the alarm is over: that much is repeated at the most."""
    staging, _, target = queues
    amqp.publish_numbered(staging, 200)

    async def scenario() -> Outcome:
        mover = mover_for(f"{private_node.url}?heartbeat=2", target, _IMPATIENT)
        with memory_alarm(private_node):
            moving = asyncio.create_task(mover.move(staging, 150))
            await _blocked_for(mover, 0.1)
            await asyncio.wait_for(mover.close(drain=0.5), 20)
            return await asyncio.wait_for(moving, 20)

    outcome = run(scenario())
    assert outcome.reason is Reason.CONNECTION_LOST
    wait_for_depth(amqp, staging, 200 - outcome.moved)
    arrived, rest = numbers(drained(amqp, target)), numbers(drained(amqp, staging))
    assert set(arrived) | set(rest) == set(range(200))
    assert len(arrived) <= 150
    assert rest == sorted(rest)
