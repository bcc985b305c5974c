"""Publishes numbered messages through the project's publisher: tenants in turn, at a steady rate or all at once.

Routed (`stage`) or straight into the target (`off`), by the same code: whatever differs is the router's doing. A body
begins with `tenant number `; `consumers/ledger.py` reads it. The answer says how many of each were confirmed; where one
was not, this fails, because nobody could say whether the broker has it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from raquo.mutators import Message
from raquo.router import Publisher, Router

_TICK = 0.02
_CONFIRM_WITHIN = 30.0


async def run(
    ready: Callable[[], None],
    stop: asyncio.Event,
    url: str,
    target: str,
    tenants: list[str],
    size: int,
    mode: str = "stage",
    rate: float = 0.0,
    each: int | None = None,
) -> dict[str, Any]:
    """Until everybody has published `each`, or it is told to stop; `rate` is of all together, 0: at once."""
    flow = Flow(tenants, size, each, rate, stop.is_set)
    with Publisher(url, Router(mode=mode), queue_type="classic") as publisher:
        ready()
        confirmed = await asyncio.to_thread(publisher.publish_many, target, flow, timeout=_CONFIRM_WITHIN)
    if confirmed != sum(flow.given.values()):
        raise RuntimeError(f"{confirmed} of {sum(flow.given.values())} confirmed")
    return {"published": dict(flow.given)}


class Flow:
    """The messages, each given when it is due."""

    def __init__(
        self, tenants: list[str], size: int, each: int | None, rate: float, stopped: Callable[[], bool]
    ) -> None:
        self.given: Counter[str] = Counter()
        self._tenants = tenants
        self._padding = b"." * size
        self._size = size
        self._most = None if each is None else each * len(tenants)
        self._rate = rate
        self._stopped = stopped

    def __iter__(self) -> Iterator[Message]:
        begun, count = time.monotonic(), 0
        while count != self._most and not self._stopped():
            if self._rate and count >= (time.monotonic() - begun) * self._rate:
                time.sleep(_TICK)
                continue
            yield self._message(self._tenants[count % len(self._tenants)])
            count += 1

    def _message(self, tenant: str) -> Message:
        self.given[tenant] += 1
        body = f"{tenant} {self.given[tenant]} ".encode() + self._padding
        return Message(body[: self._size], {"tenant": tenant, "workflow": "workflow-1"})
