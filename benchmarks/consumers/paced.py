"""Workers that need a fixed time for every message, and say when they had nothing to do.

**A worker** is a channel with a prefetch limit. It begins its next message the moment the last one is finished, if one
is in hand, and acknowledges what is finished. Nothing is computed: time passes on paper. A message is finished when it
is due, not when this process notices, so a pace of 5,000 a second is kept although the process wakes up every two
milliseconds.

**Idle** is the time from the moment a worker is seen to have finished with nothing in hand until the next message is
read from the socket. When this process wakes up late, that is not counted: what has come meanwhile was there in time,
as far as anybody can tell. And when it was so late that all it had in hand was overdue, it has asked for more too late:
the gap behind that is its own too, and is summed up apart.

**With a ledger** every finished message is entered by what its body says (`ledger.py`).

**Holders** take a number of messages and never acknowledge them, as Celery does with tasks that are due later.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from benchmarks.consumers.deliveries import connect, consume
from benchmarks.consumers.ledger import Ledger

_AT_LEAST_EVERY = 0.002
_FOR_THE_LAST_ACKS = 0.2
_LATE = 0.5  # of the time that a full prefetch lasts


async def run(
    ready: Callable[[], None],
    stop: asyncio.Event,
    url: str,
    queue: str,
    workers: int,
    prefetch: int,
    seconds: float,
    held: int = 0,
    numbered: bool = False,
) -> dict[str, Any]:
    """Work until told to stop; every worker's idle times, and the ledger where messages are numbered."""
    crew: dict[int, Worker] = {}
    ledger = Ledger() if numbered else None
    holder: list[int] = []

    def take(channel: int, tag: int, body: bytes) -> None:
        if channel not in holder:
            crew[channel].take(tag, body, time.monotonic())

    def join(channel: Any) -> None:
        crew[channel.channel_number] = Worker(channel, seconds, prefetch, ledger)

    connection = await connect(url, take)
    if held:
        await consume(connection, queue, held, lambda channel: holder.append(channel.channel_number))
    for _ in range(workers):
        await consume(connection, queue, prefetch, join)
    ready()
    while not stop.is_set():
        now = time.monotonic()
        due = min(worker.work(now) for worker in crew.values())
        await asyncio.sleep(max(0.0002, due - time.monotonic()))
    answer: dict[str, Any] = {"workers": [worker.report(time.monotonic()) for worker in crew.values()]}
    if ledger is not None:
        answer["ledger"] = ledger.as_json()
    await asyncio.sleep(_FOR_THE_LAST_ACKS)
    return answer


class Worker:
    """One channel, and its time on paper."""

    def __init__(self, channel: Any, seconds: float, prefetch: int, ledger: Ledger | None) -> None:
        self._channel = channel
        self._ledger = ledger
        self._seconds = seconds
        self._too_late = _LATE * prefetch * seconds
        self._in_hand: deque[tuple[int, bytes]] = deque()
        self._due: float | None = None  # when the first in hand is finished
        self._wake_at = float("inf")
        self._idle_from: float | None = None
        self._own_gap = False
        self._first: float | None = None
        self._done = 0
        self._idle: list[tuple[float, float]] = []
        self._own = 0.0

    def take(self, tag: int, body: bytes, now: float) -> None:
        """A message has come."""
        self._in_hand.append((tag, body))
        if self._first is None:
            self._first = now
        if self._due is None:
            self._due = now + self._seconds
            self._end_gap(now)

    def work(self, now: float) -> float:
        """Finish what is due; when to look again."""
        late = now - self._wake_at
        finished = None
        while self._due is not None and self._due <= now:
            finished, body = self._in_hand.popleft()
            self._done += 1
            if self._ledger is not None:
                self._ledger.enter(body, self._due)
            self._due = self._due + self._seconds if self._in_hand else None
        if finished is not None:
            self._channel.basic_ack(finished, multiple=True)
            if self._due is None:
                self._idle_from, self._own_gap = now, late > self._too_late
        if self._due is None:
            self._wake_at = float("inf")
            return now + _AT_LEAST_EVERY
        runs_out = self._due + (len(self._in_hand) - 1) * self._seconds
        self._wake_at = min(runs_out, max(self._due, now + _AT_LEAST_EVERY))
        return self._wake_at

    def report(self, now: float) -> dict[str, Any]:
        """When it began, how much it did, and when it was idle."""
        self._end_gap(now)
        return {"first": self._first, "done": self._done, "idle": self._idle, "own": self._own}

    def _end_gap(self, now: float) -> None:
        if self._idle_from is None:
            return
        if self._own_gap:
            self._own += now - self._idle_from
        else:
            self._idle.append((self._idle_from, now))
        self._idle_from = None
