"""Deletes staging queues that were empty for a long time (`[staging] idle_ttl`), by the rules of `pruning`.

How long a queue is quiet is what this replica saw: nothing waits in it, nothing is unacked, nothing is on its way, and
nothing was moved from it between two looks. A replica that starts anew begins to count anew, so that a queue goes late
rather than early.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping

from raquo.broker.errors import BrokerError
from raquo.distributor.api_thread import ApiThread
from raquo.distributor.config import Config
from raquo.distributor.discovery import Discovery
from raquo.distributor.pruning import AT_ONCE, Pruned, choose, delete_empty, listed
from raquo.distributor.round import Switches, Target

_log = logging.getLogger(__name__)

_LOOKS_IN_A_TTL = 4
_SOONEST, _LATEST = 0.25, 60.0


class Idleness:
    """Since when each queue is quiet. Pure."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[int, float]] = {}

    def look(self, empty: Iterable[str], moved: Mapping[str, int], now: float) -> None:
        """These are empty now; `moved` is how many went through each so far."""
        seen: dict[str, tuple[int, float]] = {}
        for queue in empty:
            count = moved.get(queue, 0)
            before = self._since.get(queue)
            seen[queue] = before if before and before[0] == count else (count, now)
        self._since = seen

    def longer_than(self, seconds: float, now: float) -> list[str]:
        """Those that are quiet for so long, the longest first."""
        idle = [(since, queue) for queue, (_, since) in self._since.items() if now - since >= seconds]
        return [queue for _, queue in sorted(idle)]

    def forget(self, queues: Iterable[str]) -> None:
        """Count anew for these: one that could not be deleted is in use."""
        for queue in queues:
            self._since.pop(queue, None)


class Reaper:
    """The loop; `targets` are those of a replica, whose moves are watched."""

    def __init__(
        self, config: Callable[[], Config], targets: Mapping[str, Target], discovery: Discovery, switches: Switches
    ) -> None:
        self._config = config
        self._targets = targets
        self._discovery = discovery
        self._switches = switches
        self._idleness = Idleness()
        self._thread = ApiThread("raquo-reaper")

    async def run(self) -> None:
        """Look until cancelled; raises `BrokerError` where the broker does not answer."""
        while True:
            ttl = self._config().staging.idle_ttl
            await asyncio.sleep(_pause(ttl))
            if ttl is not None and not (self._switches.dry_run or self._switches.stopping):
                while await self._reap(ttl):
                    pass

    async def _reap(self, ttl: float) -> bool:
        """Delete some of those that are idle; whether there are more."""
        listing = await self._thread.call(lambda: listed(self._config()))
        choice = choose(listing, self._discovery.serves, self._on_their_way())
        now = time.monotonic()
        self._idleness.look(choice.prunable, self._moved(), now)
        idle = self._idleness.longer_than(ttl, now)
        if idle:
            await self._delete(idle[:AT_ONCE])
        return len(idle) > AT_ONCE

    async def _delete(self, queues: list[str]) -> None:
        pruned = Pruned()
        self._idleness.forget(queues)
        try:
            await delete_empty(self._config().broker.urls(), queues, pruned)
        except BrokerError as error:  # a right that is missing is no reason not to serve
            _log.warning("idle staging queues could not be deleted: %s", error)
        if pruned.deleted:
            _log.info("%d idle staging queues were deleted, e.g. %r", len(pruned.deleted), pruned.deleted[0])

    def _on_their_way(self) -> set[str]:
        return {queue for target in self._targets.values() for queue, own in target.queues.items() if own.granted}

    def _moved(self) -> dict[str, int]:
        return {queue: own.moved for target in self._targets.values() for queue, own in target.queues.items()}


def _pause(ttl: float | None) -> float:
    return _LATEST if ttl is None else min(_LATEST, max(_SOONEST, ttl / _LOOKS_IN_A_TTL))
