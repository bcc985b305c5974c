"""Ends tasks for sure: a single cancel may be lost.

`asyncio.wait_for` swallows a cancel that comes together with what it waited for, and the task goes on as if nothing had
been said. So whoever ends a task says it again until it is heard.
"""

import asyncio
from collections.abc import Collection
from typing import Any

_AGAIN_AFTER = 0.2


async def end(tasks: "Collection[asyncio.Task[Any]]") -> list[BaseException | None]:
    """Cancel them until they have ended; what each of them ended with."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_AFTER)
    return [None if task.cancelled() else task.exception() for task in tasks]
