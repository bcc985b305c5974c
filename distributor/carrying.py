"""Carries a plan out, slice after slice, without waiting for the slowest.

Every staging queue has its own chain of grants, one after the other, because a queue's order is kept by one grant at a
time. The chains are held together loosely: nobody begins a slice before everybody is done with the last but one. So the
target stays mixed, and while one queue waits for a confirm the others already fetch.

A chain that hangs holds the others for a moment only. When nothing has ended for that long the plan counts as carried
out; the chain finishes its grant by itself, and gives back the rest of its part.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from raquo.distributor.policy import Grants

_log = logging.getLogger(__name__)

_PATIENCE = 0.5
_AHEAD = 2

Move = Callable[[str, int, int], Awaitable[bool]]
"""Carry out one grant, of a queue, so many, in slice number …; false: the rest is not to be tried now."""

GiveBack = Callable[[str, int], None]
"""What of a queue's part was not tried."""


class Carrying:
    """One plan on its way."""

    def __init__(self, parts: Sequence[Grants], move: Move, give_back: GiveBack) -> None:
        self._parts = parts
        self._move = move
        self._give_back = give_back
        self._missing = [len(part) for part in parts]  # of each slice: who is not done with it
        self._done = [asyncio.Event() for _ in parts]
        self._over = False

    async def run(self) -> "set[asyncio.Task[None]]":
        """Until everything is carried out, or nothing has ended for a while; what is still under way then."""
        counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for number, part in enumerate(self._parts):
            for queue, count in part.items():
                counts[queue][number] = count
        pending = {asyncio.create_task(self._chain(queue, own)) for queue, own in counts.items()}
        mark = self._left()
        while pending:
            done, pending = await asyncio.wait(pending, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if error := task.exception():  # a mistake of ours, which must not cost the others their part
                    _log.error("a part of a plan failed", exc_info=error)
            if not done and self._left() == mark:
                break
            mark = self._left()
        self._over = True
        return pending

    def _left(self) -> int:
        return sum(self._missing)

    async def _chain(self, queue: str, counts: dict[int, int]) -> None:
        left = dict(counts)
        try:
            for number, count in counts.items():
                if not self._over:
                    await self._turn_of(number)
                if self._over:
                    break
                del left[number]
                try:
                    going = await self._move(queue, count, number)
                finally:
                    self._enter(number)
                if not going:
                    break
        finally:
            for number, count in left.items():
                self._give_back(queue, count)
                self._enter(number)

    def _enter(self, number: int) -> None:
        """One more queue is done with this slice."""
        self._missing[number] -= 1
        if not self._missing[number]:
            self._done[number].set()

    async def _turn_of(self, number: int) -> None:
        if number >= _AHEAD and not self._done[number - _AHEAD].is_set():
            waiting = asyncio.ensure_future(self._done[number - _AHEAD].wait())
            await asyncio.wait((waiting,), timeout=_PATIENCE)
            waiting.cancel()

