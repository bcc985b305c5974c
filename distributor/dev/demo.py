"""The demo itself: one producer for all tenants, the workers, and the statistics of both, on one loop.

The producer publishes in a thread, because a publisher's calls wait for confirms; counting is done on the loop.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from raquo.broker.worker import Delivery, Worker
from raquo.distributor.dev.scenario import Pace, Scenario
from raquo.distributor.dev.statistics import Statistics
from raquo.distributor.ending import end
from raquo.mutators.message import Message
from raquo.router import Publisher, Router

_TICK = 0.05
_WATCH = 0.5
_PUBLISH_WITHIN = 5.0


class Demo:
    """Tenants and workers on one broker."""

    def __init__(self, url: str, scenario: Scenario) -> None:
        self.statistics = Statistics(tenant.name for tenant in scenario.tenants)
        self._url = url
        self._scenario = scenario
        self._paces = {tenant.name: Pace(tenant, scenario.most_waiting) for tenant in scenario.tenants}
        self._workers = [self._worker(number) for number in range(scenario.workers)]
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Publish no more, and end."""
        self._stop.set()

    async def run(self, seconds: float | None, watch: Callable[[], None]) -> None:
        """Publish and work until `stop`, or for so long; `watch` is called now and then, and may raise."""
        others = [asyncio.create_task(worker.run()) for worker in self._workers]
        others.append(asyncio.create_task(_again_and_again(watch)))
        producing = asyncio.create_task(self._produce())  # ends by itself when it is told to stop
        try:
            await asyncio.wait({producing, *others}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stop()
            await asyncio.wait({producing})
            outcomes = await end([*others, producing])  # a lost connection says more than a late confirm
        for error in (outcome for outcome in outcomes if isinstance(outcome, Exception)):
            raise error

    async def _produce(self) -> None:
        router = Router(by=("tenant",), environ={})
        publisher = Publisher(self._url, router, name="raquo dev")
        try:
            while not self._stop.is_set() and not all(worker.consuming for worker in self._workers):
                await _pause(self._stop, _TICK)  # they declare the target
            while not self._stop.is_set():
                await self._publish(publisher, list(self._due()))
                await _pause(self._stop, _TICK)
        finally:
            await asyncio.to_thread(publisher.close)

    def _due(self) -> Iterator[str]:
        """The tenants of the messages to publish now."""
        now = time.monotonic()
        for tenant, pace in self._paces.items():
            yield from [tenant] * pace.due(now, self.statistics.waiting(tenant))

    async def _publish(self, publisher: Publisher, tenants: list[str]) -> None:
        messages = [Message(b"a task", {"tenant": tenant}) for tenant in tenants]
        self.statistics.handed_over(tenants, time.monotonic())
        await asyncio.to_thread(
            publisher.publish_many, self._scenario.target, messages, timeout=_PUBLISH_WITHIN
        )
        self.statistics.published(tenants)

    def _worker(self, number: int) -> Worker:
        scenario = self._scenario
        name = f"raquo dev worker {number + 1}"
        return Worker(self._url, scenario.target, self._work, prefetch=scenario.prefetch, name=name)

    async def _work(self, delivery: Delivery) -> None:
        await asyncio.sleep(self._scenario.work_seconds)
        staged_at = delivery.headers.get("raquo-staged-at")
        if isinstance(staged_at, int):
            tenant = str(delivery.headers.get("tenant"))
            self.statistics.done(tenant, time.monotonic(), time.time() - staged_at / 1000)


async def _again_and_again(watch: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(_WATCH)
        watch()


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    """So long, unless it ends before."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)
