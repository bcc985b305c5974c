"""The project's own mover, with its default limits: one grant per staging queue, all at once.

A grant may end early on a broker so busy that a queue looks empty; what is left gets another, as the next round of a
distributor would give it.
"""

import asyncio

from benchmarks.apart import Stopwatch
from raquo.broker.mover import Mover
from raquo.broker.url import BrokerUrl


def run(stopwatch: Stopwatch, url: str, sources: list[str], target: str, each: int) -> None:
    asyncio.run(_move(stopwatch, url, sources, target, each))


async def _move(stopwatch: Stopwatch, url: str, sources: list[str], target: str, each: int) -> None:
    async with Mover([BrokerUrl.parse(url)], target) as mover:
        stopwatch.connected()
        await asyncio.gather(*(_empty(mover, source, each) for source in sources))
        stopwatch.done()


async def _empty(mover: Mover, source: str, left: int) -> None:
    while left:
        outcome = await mover.move(source, left)
        if not outcome.moved:
            raise RuntimeError(f"{left} stay in {source}: {outcome.reason} {outcome.text}")
        left -= outcome.moved
