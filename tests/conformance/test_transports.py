"""What every transport keeps to; a new one is done when it passes."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from raquo.broker.errors import BrokerError
from raquo.distributor.snapshot import Staging
from raquo.distributor.transport import Outcome, Reason, Transport
from raquo.distributor.transports import ClientTransport, MemoryQueues, MemoryTransport
from raquo.mutators.names import StagingName
from support.amqp import Amqp
from support.moving import run

LONG = 10.0


@dataclass
class Bench:
    """A transport into `work`, and its queues from outside."""

    make: Callable[[], Transport]
    publish: Callable[[str, list[bytes]], None]
    bodies: Callable[[str], list[bytes]]
    delete: Callable[[str], None]
    queue_type: str

    def staging(self, tenant: str) -> Staging:
        queue = f"work»{tenant}"
        name = StagingName.parse(queue)
        assert name is not None
        return Staging(queue, name, self.queue_type)

    def fill(self, tenant: str, count: int) -> tuple[Staging, list[bytes]]:
        staging = self.staging(tenant)
        bodies = [f"{tenant}-{number}".encode() for number in range(count)]
        self.publish(staging.queue, bodies)
        return staging, bodies

    def move(self, *grants: tuple[Staging, int]) -> list[Outcome]:
        """Carry these out at once, by one transport."""

        async def scenario() -> list[Outcome]:
            transport = self.make()
            try:
                return list(await asyncio.gather(*(transport.move(one, count, LONG) for one, count in grants)))
            finally:
                await transport.close(2.0)

        return run(scenario())


def _in_memory() -> Bench:
    queues = MemoryQueues()

    def taken(queue: str) -> list[bytes]:
        bodies = list(queues.messages[queue])
        queues.messages[queue].clear()
        return bodies

    def publish(queue: str, bodies: list[bytes]) -> None:
        queues.publish(queue, *bodies)

    return Bench(lambda: MemoryTransport(queues, "work"), publish, taken, queues.missing.add, "classic")


def _on_broker(url: str, amqp: Amqp, queue_type: str) -> Bench:
    amqp.declare("work", queue_type)

    def publish(queue: str, bodies: list[bytes]) -> None:
        amqp.declare(queue, queue_type)
        amqp.publish_all(queue, bodies)

    def delete(queue: str) -> None:
        amqp.channel.queue_delete(queue)

    return Bench(lambda: ClientTransport(url, "work"), publish, amqp.bodies, delete, queue_type)


@pytest.fixture(params=["memory", "client classic", "client quorum"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    if request.param == "memory":
        yield _in_memory()
    else:
        url, amqp = request.getfixturevalue("vhost_url"), request.getfixturevalue("amqp")
        yield _on_broker(url, amqp, request.param.split()[1])


def test_a_grant_moves_exactly_as_many_as_it_says_in_order(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 300)
    [outcome] = bench.move((staging, 137))
    assert (outcome.moved, outcome.reason) == (137, Reason.COMPLETE)
    assert bench.bodies("work") == bodies[:137]
    assert bench.bodies(staging.queue) == bodies[137:]


def test_grants_one_after_the_other_keep_the_order(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 100)
    for count in (1, 30, 69):
        bench.move((staging, count))
    assert bench.bodies("work") == bodies


def test_a_grant_above_what_is_there_moves_all_of_it_and_says_so(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 20)
    [outcome] = bench.move((staging, 50))
    assert (outcome.asked, outcome.moved, outcome.reason) == (50, 20, Reason.UNDER_FULL)
    assert bench.bodies("work") == bodies


def test_many_staging_queues_are_moved_at_once_each_exactly(bench: Bench) -> None:
    filled = [bench.fill(f"t{number}", 20) for number in range(10)]
    outcomes = bench.move(*((staging, 7) for staging, _ in filled))
    assert [outcome.moved for outcome in outcomes] == [7] * 10
    arrived = bench.bodies("work")
    for staging, bodies in filled:
        tenant = staging.tenant.encode() + b"-"
        assert [body for body in arrived if body.startswith(tenant)] == bodies[:7]
        assert bench.bodies(staging.queue) == bodies[7:]


def test_what_is_reported_as_moved_is_all_that_has_moved_when_the_target_is_gone(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 10)
    bench.delete("work")
    [outcome] = bench.move((staging, 10))
    assert (outcome.moved, outcome.reason) == (0, Reason.RETURNED)
    assert bench.bodies(staging.queue) == bodies


def test_a_missing_source_costs_the_others_nothing(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 10)
    gone = bench.staging("gone")
    bench.delete(gone.queue)
    lost, moved = bench.move((gone, 10), (staging, 10))
    assert (lost.moved, lost.reason) == (0, Reason.SOURCE_GONE)
    assert moved.moved == 10
    assert bench.bodies("work") == bodies


def test_two_grants_of_one_staging_queue_at_a_time_are_refused(bench: Bench) -> None:
    staging, _ = bench.fill("t1", 10)
    with pytest.raises(BrokerError, match="one grant at a time"):
        bench.move((staging, 5), (staging, 5))


def test_a_transport_that_rested_moves_again(bench: Bench) -> None:
    staging, bodies = bench.fill("t1", 10)

    async def scenario() -> list[int]:
        transport = bench.make()
        moved = [(await transport.move(staging, 4, LONG)).moved]
        await transport.rest()
        moved.append((await transport.move(staging, 6, LONG)).moved)
        await transport.close(2.0)
        return moved

    assert run(scenario()) == [4, 6]
    assert bench.bodies("work") == bodies
