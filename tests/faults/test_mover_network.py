"""Connections that are cut anywhere, reset again and again, or kept busy: nothing is missing, little is repeated."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from raquo.broker import frames
from raquo.broker.errors import BrokerError
from raquo.broker.grant import Reason
from raquo.broker.mover import Limits, Mover, Outcome
from support import wire
from support.amqp import Amqp
from support.moving import drained, mover_for, numbers, run, wait_for_depth
from support.proxy import Proxy
from support.waiting import wait_until

_COUNT = 600
_WINDOW = 50
_LIMITS = Limits(window=_WINDOW, first_window=_WINDOW)
_CUTS = 8


@pytest.fixture(autouse=True)
def _queues(amqp: Amqp, queue_type: str, rabbitmq_version: tuple[int, ...]) -> None:
    """As the publisher declares them: a quorum queue gives back as often as it must."""
    lifted = {"x_delivery_limit": -1} if queue_type == "quorum" and rabbitmq_version >= (4,) else {}
    amqp.declare("staging", queue_type, **lifted)
    amqp.declare("target", queue_type)


@pytest.fixture
def proxy(vhost_url: str) -> Iterator[Proxy]:
    with Proxy(vhost_url) as proxy:
        yield proxy


def _emptied(url: str, each: int) -> Iterator[Outcome | BrokerError]:
    """Grant after grant, each by a mover of its own, until one finds nothing."""
    while True:
        try:
            outcome = run(_one(url, each))
        except BrokerError as error:
            yield error
        else:
            yield outcome
            if not outcome.moved and outcome.reason is Reason.UNDER_FULL:
                return


async def _one(url: str, count: int) -> Outcome:
    async with mover_for(url, "target", _LIMITS) as mover:
        return await mover.move("staging", count)


def _lengths_of_a_whole_move(amqp: Amqp, proxy: Proxy, count: int) -> tuple[int, int]:
    """How many bytes go each way; afterwards the queues are as they were."""
    amqp.publish_numbered("staging", _COUNT)
    assert run(_one(proxy.url, count)).moved
    lengths = len(proxy.last.up), len(proxy.last.down)
    amqp.channel.queue_purge("staging")
    amqp.channel.queue_purge("target")
    return lengths


def _cut_somewhere(proxy: Proxy, up: int, down: int) -> None:
    if random.random() < 0.5:
        proxy.cut_next(up=random.randrange(up))
    else:
        proxy.cut_next(down=random.randrange(down))


def _wait_until_given_back(amqp: Amqp) -> None:
    """The broker has noticed that a connection is gone: with its consumer goes what it held."""
    asked = amqp.channel.queue_declare
    wait_until(lambda: asked("staging", passive=True).method.consumer_count == 0, what="no consumer is left")


def _first_times(found: list[int]) -> list[int]:
    return list(dict.fromkeys(found))


def test_wherever_the_connection_is_cut_the_rest_follows_in_order(amqp: Amqp, proxy: Proxy) -> None:
    """The grants are larger than the queue, so that a consumer is there as long as anything is held."""
    up, down = _lengths_of_a_whole_move(amqp, proxy, 10 * _COUNT)
    amqp.publish_numbered("staging", _COUNT)
    failed = 0
    _cut_somewhere(proxy, up, down)
    for outcome in _emptied(proxy.url, 10 * _COUNT):
        failed += isinstance(outcome, BrokerError) or outcome.reason is Reason.CONNECTION_LOST
        _wait_until_given_back(amqp)
        if failed < _CUTS:
            _cut_somewhere(proxy, up, down)
    arrived = numbers(drained(amqp, "target"))
    assert _first_times(arrived) == list(range(_COUNT))
    assert len(arrived) <= _COUNT + failed * _WINDOW
    assert amqp.depth("staging") == 0


def test_exact_grants_survive_cuts_at_any_byte(amqp: Amqp, proxy: Proxy) -> None:
    each = _COUNT // 5
    up, down = _lengths_of_a_whole_move(amqp, proxy, each)
    amqp.publish_numbered("staging", _COUNT)
    for _ in range(_CUTS):
        _cut_somewhere(proxy, up, down)
        try:
            outcome = run(_one(proxy.url, each))
            assert outcome.reason in (Reason.CONNECTION_LOST, Reason.COMPLETE, Reason.UNDER_FULL)
        except BrokerError:
            pass  # cut before it was open
    wait_until(lambda: all(passage.over for passage in proxy.passages), what="no connection is left")
    arrived: list[int] = []

    def everything_came() -> bool:
        """What the broker still counted as held comes with a later grant."""
        list(_emptied(proxy.url, each))
        arrived.extend(numbers(drained(amqp, "target")))
        return set(arrived) == set(range(_COUNT))

    wait_until(everything_came, 20, "every number is in the target")
    assert len(arrived) <= _COUNT + _CUTS * _WINDOW


@pytest.mark.parametrize("queue_type", ["quorum"])
def test_thirty_resets_over_a_quorum_queue_lose_nothing(amqp: Amqp, proxy: Proxy) -> None:
    """With RabbitMQ 4's own delivery limit the messages would be gone after the twenty-first."""
    amqp.publish_numbered("staging", 20)
    run(_one(proxy.url, 20))
    cut = _bytes_before_delivery(proxy.last.down, 8)
    amqp.channel.queue_purge("target")
    amqp.publish_numbered("staging", 20)
    for _ in range(30):
        proxy.cut_next(down=cut)
        outcome = run(_one(proxy.url, 20))
        assert (outcome.moved, outcome.reason) == (0, Reason.CONNECTION_LOST)
        wait_for_depth(amqp, "staging", 20)
    assert set(numbers(drained(amqp, "target"))) <= set(range(20))
    assert run(_one(proxy.url, 20)).moved == 20
    assert numbers(drained(amqp, "target")) == list(range(20))


def _bytes_before_delivery(recording: bytes, number: int) -> int:
    at = deliveries = 0
    for kind, _, payload in wire.frames_in(recording):
        deliveries += kind == frames.METHOD and frames.method_number.unpack_from(payload)[0] == frames.BASIC_DELIVER
        if deliveries == number:
            return at
        at += len(payload) + frames.OVERHEAD
    raise AssertionError(f"there were only {deliveries} deliveries")


@pytest.mark.parametrize("queue_type", ["classic"])
def test_a_connection_that_is_never_quiet_is_not_taken_for_dead(amqp: Amqp, proxy: Proxy) -> None:
    """A busy broker sends no heartbeats, and pika does not see what the splice takes: two movers in a circle."""
    amqp.publish_numbered("staging", 2000)
    beyond_two_checks = 14.0  # with a heartbeat of a second pika looks every six

    async def circle(mover: Mover, source: str, end: float) -> set[Reason]:
        reasons = set()
        while asyncio.get_running_loop().time() < end:
            reasons.add((await mover.move(source, 500)).reason)
        return reasons

    async def scenario() -> list[set[Reason]]:
        end = asyncio.get_running_loop().time() + beyond_two_checks
        url = f"{proxy.url}?heartbeat=1"
        async with mover_for(url, "target") as there, mover_for(url, "staging") as back:
            return await asyncio.gather(circle(there, "staging", end), circle(back, "target", end))

    for reasons in run(scenario()):
        assert reasons <= {Reason.COMPLETE, Reason.UNDER_FULL}
    assert len(proxy.passages) == 2
    assert sorted(numbers(drained(amqp, "staging") + drained(amqp, "target"))) == list(range(2000))
