"""Fresh depths within a budget: busy staging queues in every round, idle ones in rotation.

A passive declare costs the broker 16 to 30 µs, so all of them together stay below 2,000 a second. A round that would
need more reads the queues that were read longest ago, and trusts its own count for the others.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from raquo.broker.depths import DepthReader, Reading
from raquo.distributor.staging_queue import StagingQueue

READINGS_A_SECOND = 2000
_BURST = 500
_RESERVED = 0.25  # of the budget, for the rotation
_TICK = 0.1


class Freshness:
    """Reads depths for all targets."""

    def __init__(self, reader: DepthReader, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._clock = clock
        self._allowance = float(_BURST)
        self._reserve = 0.0
        self._at = clock()

    async def read(self, target: str, staging: Sequence[StagingQueue]) -> dict[str, Reading]:
        """The depth of the target, always, and of these as far as the budget goes."""
        affordable = self._take(len(staging))
        if affordable < len(staging):
            staging = sorted(staging, key=lambda own: own.read_at)[:affordable]
        return await self._reader.read([target, *(own.staging.queue for own in staging)])

    async def rotate(self, idle: Callable[[], Iterator[tuple[str, list[str]]]], found: "Found") -> None:
        """Go round the idle queues of all targets, with half of the budget, until cancelled."""
        while True:
            next_pass = self._clock() + _TICK
            for target, queues in idle():
                for start in range(0, len(queues), _BURST):
                    part = queues[start : start + _BURST]
                    while not self._rotation_affords(len(part)):
                        await asyncio.sleep(_TICK)
                    found(target, await self._reader.read(part))
            await asyncio.sleep(max(0.0, next_pass - self._clock()))  # a few queues need not be read all the time

    def _take(self, wanted: int) -> int:
        """How many of so many readings a round may have now."""
        self._earn()
        taken = max(0, min(wanted, int(self._allowance)))
        self._allowance -= taken
        return taken

    def _rotation_affords(self, wanted: int) -> bool:
        """A part of the budget is the rotation's own, else busy rounds could shut it out; it may have the rest too."""
        self._earn()
        if self._reserve + max(0.0, self._allowance - _BURST / 2) < wanted:
            return False
        from_reserve = min(self._reserve, wanted)
        self._reserve -= from_reserve
        self._allowance -= wanted - from_reserve
        return True

    def _earn(self) -> None:
        now = self._clock()
        earned = (now - self._at) * READINGS_A_SECOND
        self._at = now
        self._reserve = min(float(_BURST), self._reserve + earned * _RESERVED)
        self._allowance = min(2.0 * _BURST, self._allowance + earned * (1 - _RESERVED))


Found = Callable[[str, dict[str, Reading]], None]
