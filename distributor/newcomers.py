"""Queues that somebody rang for and nobody knows: what are they?

A few are asked for by name, which takes some milliseconds and makes a new tenant's first message move at once. Anybody
who may ring can name queues that are not there, so the asking has a budget. What goes beyond it is left to a listing,
which finds all of them together.
"""

import asyncio
from collections.abc import Awaitable, Callable

_BURST = 20.0
_A_SECOND = 20.0


class Newcomers:
    """Collects names, and has them looked up."""

    def __init__(
        self, look_up: Callable[[str], Awaitable[None]], list_all: Callable[[], None], clock: Callable[[], float]
    ) -> None:
        self._look_up = look_up
        self._list_all = list_all
        self._clock = clock
        self._names: set[str] = set()
        self._heard = asyncio.Event()
        self._allowance = _BURST
        self._at = clock()

    def hear(self, queue: str) -> None:
        """Somebody rang for it."""
        if len(self._names) <= _BURST:  # beyond that a listing comes anyway
            self._names.add(queue)
        self._heard.set()

    async def run(self) -> None:
        """Look up what is heard, until cancelled."""
        while True:
            await self._heard.wait()
            self._heard.clear()
            names, self._names = self._names, set()
            if self._affords(len(names)):
                for name in sorted(names):
                    await self._look_up(name)
            else:
                self._list_all()

    def _affords(self, count: int) -> bool:
        now = self._clock()
        self._allowance = min(_BURST, self._allowance + (now - self._at) * _A_SECOND)
        self._at = now
        if count > self._allowance:
            return False
        self._allowance -= count
        return True
