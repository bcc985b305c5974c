"""Running a mover in a test, with a deadline against hangs."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import pika

from raquo.broker.mover import Limits, Mover, Outcome
from support.amqp import Amqp, Received
from support.waiting import wait_until

Result = TypeVar("Result")

HANG = 60.0


def mover_for(url: str, target: str, limits: Limits | None = None) -> Mover:
    """A mover for `target` on the broker at `url`; made inside a running loop."""
    return Mover(url, target, limits)


def run(scenario: Coroutine[Any, Any, Result], deadline: float = HANG) -> Result:
    """Run it to its end; more than `deadline` seconds is a hang."""
    return asyncio.run(asyncio.wait_for(scenario, deadline))


def move(url: str, source: str, target: str, count: int, limits: Limits | None = None, **options: Any) -> Outcome:
    """One grant by a mover of its own."""

    async def scenario() -> Outcome:
        async with mover_for(url, target, limits) as mover:
            return await mover.move(source, count, **options)

    return run(scenario())


async def until(condition: Callable[[], object], deadline: float = 10.0, what: str = "") -> None:
    """Ask again and again, letting the mover work meanwhile; fail after `deadline` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline
    while not (answer := condition()):
        assert loop.time() < end, f"not within {deadline:g} s: {what}, last answer {answer!r}"
        await asyncio.sleep(0.005)


def drained(amqp: Amqp, queue: str) -> list[Received]:
    """Everything that is ready now, acknowledged, through one consumer."""
    expected = amqp.depth(queue)
    channel = amqp.connection.channel()
    messages: list[Received] = []
    if expected:
        for method, properties, body in channel.consume(queue, auto_ack=True, inactivity_timeout=10):
            assert method is not None, f"{queue} gave {len(messages)} of {expected}"
            messages.append(Received(body, properties, method.redelivered, method.exchange, method.routing_key))
            if len(messages) == expected:
                break
    channel.close()
    return messages


def drained_each(amqp: Amqp, queues: Sequence[str]) -> dict[str, list[Received]]:
    """The same for many queues at once, through one channel."""
    channel = amqp.connection.channel()
    messages: dict[str, list[Received]] = {queue: [] for queue in queues}
    expected = sum(amqp.depth(queue) for queue in queues)

    def consume(queue: str) -> None:
        def take(_channel: object, method: Any, properties: pika.BasicProperties, body: bytes) -> None:
            messages[queue].append(Received(body, properties, method.redelivered, method.exchange, method.routing_key))

        channel.basic_consume(queue, take, auto_ack=True)

    for queue in queues:
        consume(queue)
    wait_until(lambda: _turn(amqp) or sum(map(len, messages.values())) == expected, what="everything read")
    channel.close()
    return messages


def _turn(amqp: Amqp) -> None:
    amqp.connection.process_data_events(time_limit=0)


def bodies(messages: list[Received]) -> list[bytes]:
    return [message.body for message in messages]


def redelivered(messages: list[Received]) -> list[bytes]:
    """The bodies of those that came marked so."""
    return [message.body for message in messages if message.redelivered]


def wait_for_depth(amqp: Amqp, queue: str, depth: int, deadline: float = 20.0) -> None:
    """Until so many are ready: what was given back is counted a moment later."""
    wait_until(lambda: amqp.depth(queue) == depth or None, deadline, what=f"{depth} in {queue}")


def numbers(messages: list[Received]) -> list[int]:
    """Of messages that `publish_numbered` made."""
    return [int(message.body.rstrip(b".")) for message in messages]
