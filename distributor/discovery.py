"""Which staging queues there are: the slow, cheap look at the whole broker, through the management API.

Discovery finds *new* queues; how deep they are is read elsewhere, fresh. A listing may cost a large broker half a
second, so at most a twentieth of the time goes into listing; on a small one it comes several times in a discovery
period. An API that fails or answers nonsense changes nothing: the last snapshot stays, the next try comes later each
time.

The API is called in a thread, one call at a time.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from raquo.broker.errors import BrokerError
from raquo.broker.management import ManagementClient, QueueInfo
from raquo.distributor.api_thread import ApiThread
from raquo.distributor.snapshot import Snapshot, Staging, snapshot_of, staging_of
from raquo.distributor.telemetry import Discovered, DiscoveryFailed, Telemetry, Warned

_PART_OF_THE_TIME = 20
_PART_AT_MOST = 4
_SOONEST = 0.25  # of the discovery period
_LONGEST_BACK_OFF = 30.0
_STALE_AFTER = 60.0


class Discovery:
    """Lists the queues again and again, and hands on each snapshot."""

    def __init__(
        self,
        management: ManagementClient,
        serves: Callable[[str], bool],
        every: float,
        telemetry: Telemetry,
        clock: Callable[[], float],
    ) -> None:
        self.snapshot = Snapshot()
        self.problem: str | None = "the queues were not listed yet"
        self.serves = serves
        self.every = every
        self._management = management
        self._telemetry = telemetry
        self._clock = clock
        self._soon = asyncio.Event()
        self._failures = 0
        self._planned = 0.0  # seconds until the next listing, as far as nobody rings
        self.asked_at = self.listed_at = clock()  # when the last listing was begun, and when it was there
        self._thread = ApiThread("raquo-discovery")

    async def run(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        """List until cancelled."""
        while True:
            started = self._clock()
            self._soon.clear()  # before the look: what is heard during it may come too late for it
            if await self.look():
                on_snapshot(self.snapshot)
            await self._pause(self._clock() - started)

    def staleness(self) -> str | None:
        """That the last listing is too long ago, where a failure does not say so already: it may hang."""
        age = self._clock() - self.listed_at
        if self.problem or age < self._planned + _STALE_AFTER:
            return None
        return f"the queues were listed {age:.0f} s ago"

    def soon(self) -> None:
        """Look again at once: somebody spoke of a queue that is not known."""
        self._soon.set()

    async def look(self) -> bool:
        """List once; whether there is a new snapshot."""
        started = self._clock()
        try:
            listing = await self._thread.call(lambda: list(self._management.queues()))
            self.asked_at = started
            snapshot = snapshot_of(listing, self.serves, self.snapshot)
        except BrokerError as error:
            self._fail(str(error))
            return False
        self._succeed(snapshot, self._clock() - started)
        return True

    def learn(self, info: QueueInfo) -> Staging | None:
        """A queue that somebody else found; the staging queue it is, if it is one that is served."""
        found = staging_of(info)
        if found is None or not self.serves(found.name.target):
            return None
        self.snapshot = replace(self.snapshot, staging={**self.snapshot.staging, found.queue: found})
        return found

    def close(self) -> None:
        """End the thread; a call that hangs is left to its own deadline."""
        self._thread.close()
        self._management.close()

    def _succeed(self, snapshot: Snapshot, seconds: float) -> None:
        self.snapshot = snapshot
        self.problem, self._failures = None, 0
        self.listed_at = self._clock()
        self._telemetry.emit(Discovered(len(snapshot.staging), seconds))
        for oddity in snapshot.oddities:
            self._telemetry.emit(Warned(oddity))

    def _fail(self, text: str) -> None:
        self._failures += 1
        self.problem = text
        self._telemetry.emit(DiscoveryFailed(text))

    async def _pause(self, took: float) -> None:
        if self._failures:
            pause = min(_LONGEST_BACK_OFF, self.every * 2.0 ** min(self._failures - 1, 10))
            await asyncio.sleep(pause)
            return
        self._planned = pause = max(_PART_OF_THE_TIME * took, _SOONEST * self.every)
        try:
            await asyncio.wait_for(self._soon.wait(), pause)
        except TimeoutError:
            return
        await asyncio.sleep(min(pause, _PART_AT_MOST * took))  # bells without end do not make it list without end

