"""Publishes through the router: confirmed, pipelined, from any thread, over one connection per process.

A background thread keeps the connection (heartbeats, reconnects) and settles messages; callers wait for theirs. It
starts with the first message and belongs to one process: after a fork the child starts its own, and never touches
the socket it inherited.
"""

import os
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from raquo.broker.declarer import check_arguments
from raquo.broker.envelope import Envelope, Tally, encode
from raquo.broker.errors import BrokerError, PublishTimeout
from raquo.broker.loop_thread import LoopThread
from raquo.broker.outbox import FIGURES, Outbox
from raquo.broker.url import BrokerUrl, Urls, parse_urls
from raquo.mutators.message import Message
from raquo.mutators.target import check_queue
from raquo.router.errors import BadConfiguration
from raquo.router.router import Decision, Router
from raquo.router.settings import load
from raquo.router.shapes import LIKE_TARGET, QUEUE_TYPES, Details, StagingShapes

Body = bytes | bytearray | memoryview | str

_BATCH = 128
_BATCH_BYTES = 1024 * 1024
_BYTES_ON_THEIR_WAY = 32 * 1024 * 1024
_GATHER_FOR = 0.02
_GRACE = 5.0  # the background thread settles by the deadline; this much later it must be dead


class Publisher:
    """Publishes messages for a target into the queue that the router names.

    Thread-safe. Use it as a context manager, or call `close`. Nothing is reported as sent before the broker has
    confirmed it; what fails raises a `RaquoError`.
    """

    def __init__(
        self,
        url: Urls = "amqp://guest:guest@localhost:5672/%2f",
        router: Router | None = None,
        *,
        management_url: str | Sequence[str] = (),
        queue_type: str = LIKE_TARGET,
        arguments: Mapping[str, Any] | None = None,
        stamp: bool = True,
        max_in_flight: int = 1000,
        name: str = "raquo publisher",
    ) -> None:
        """`management_url` lets staging queues take after their target; `arguments` are RabbitMQ's own."""
        if queue_type not in QUEUE_TYPES:
            raise BadConfiguration(f"queue_type = {queue_type!r}: expected one of {', '.join(QUEUE_TYPES)}")
        if max_in_flight < 1:
            raise BadConfiguration(f"max_in_flight = {max_in_flight}: expected at least 1")
        try:
            check_arguments(arguments or {})
        except BrokerError as error:
            raise BadConfiguration(f"arguments: {error}") from error
        self.router = router or Router()
        self._urls = parse_urls(url)
        self._shapes = StagingShapes(queue_type, arguments, self._look_up if management_url else None)
        self._management_url = management_url
        self._stamp = stamp
        self._max_in_flight = max_in_flight
        self._name = name
        self._engine: _Engine | None = None
        self._starting = threading.Lock()
        self._earlier = Counter(dict.fromkeys(FIGURES, 0))  # what engines did that are closed
        _publishers.add(self)

    @classmethod
    def from_config(cls, path: str | Path | None = None, *, environ: Mapping[str, str] = os.environ) -> Self:
        """A publisher as the configuration file and the environment say."""
        settings = load(path, environ)
        broker = settings.broker
        return cls(
            parse_urls(broker.url, broker.ca, broker.cert, broker.key, broker.verify),
            Router.from_config(path, environ=environ),
            management_url=broker.management_url or (),
            queue_type=settings.staging.queue_type,
            arguments=settings.staging.arguments,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def publish(
        self,
        target: str,
        body: Body = b"",
        *,
        headers: Mapping[str, Any] | None = None,
        timeout: float = 10.0,
        persistent: bool = True,
        **properties: Any,
    ) -> Decision:
        """Publish one message and wait until the broker has it; properties go by their AMQP names."""
        message = Message(body, headers, **properties)
        tally = Tally()
        decision, envelope = self._address(target, message, timeout, persistent, tally)
        self._accept([envelope])
        if not tally.wait_for(1, timeout + _GRACE):
            raise PublishTimeout("the background thread does not answer any more")
        if tally.error is not None:
            raise tally.error
        return decision

    def publish_many(
        self,
        target: str,
        messages: Iterable[Message | Body],
        *,
        timeout: float = 10.0,
        persistent: bool = True,
    ) -> int:
        """Publish them all, pipelined; returns how many, when all are confirmed.

        Memory stays bounded, however long the iterable is, and none waits for a slow one. `timeout` is for each
        message. At the first failure no more are sent, and the error's `confirmed` says how many are in the broker.
        Where the iterable itself raises, what it gave before is published first; a note on its error says how many.
        """
        call = _Call(self._accept, self._later, self._max_in_flight, timeout)
        try:
            for item in messages:
                message = item if isinstance(item, Message) else Message(item)
                _, envelope = self._address(target, message, timeout, persistent, call.tally)
                call.add(envelope)
                if call.tally.error is not None:
                    break
        except Exception as error:
            error.add_note(call.settle())
            raise
        return call.finish()

    def flush(self, timeout: float = 30.0) -> None:
        """Wait until nothing of any thread is on its way."""
        if self._engine is not None:
            self._engine.flush(timeout)

    def stats(self) -> dict[str, int]:
        """Counts since the start: the router's decisions by reason, and what the connection did."""
        engine, figures = self._engine, Counter(self._earlier)
        if engine is not None:
            figures.update(engine.outbox.figures())
        return {**self.router.counts, **figures}

    def close(self, timeout: float = 10.0) -> None:
        """Wait for what is on its way, then disconnect. The publisher can be used again."""
        with self._starting:
            engine, self._engine = self._engine, None
        if engine is not None:
            try:
                engine.close(timeout)
            finally:
                self._earlier.update(engine.outbox.figures())

    def _address(
        self, target: str, message: Message, timeout: float, persistent: bool, tally: Tally
    ) -> tuple[Decision, Envelope]:
        """Decide where it goes, and make the envelope."""
        decision = self.router.route(target, message)
        if decision.reason == "off":
            check_queue(target)  # the router did not even look at it
        staged_at = int(time.time() * 1000) if decision.staged and self._stamp else None
        arguments = self._shapes.arguments(decision.name.target) if decision.staged and decision.name else None
        content = encode(message, persistent=persistent, staged_at=staged_at)
        deadline = time.monotonic() + timeout
        return decision, Envelope(decision.queue, message.body, content, arguments, deadline, tally)

    def _look_up(self, target: str) -> Details:
        from raquo.broker.management import ManagementClient  # an extra, and only needed here

        with ManagementClient.for_broker(self._urls, self._management_url, timeout=(2.0, 3.0)) as client:
            return client.queue(target)

    def _running(self) -> "_Engine":
        engine = self._engine
        if engine is None:
            with self._starting:
                engine = self._engine = self._engine or _Engine(self._urls, self._name, self._max_in_flight)
        return engine

    def _accept(self, envelopes: list[Envelope]) -> None:
        """Hand them to the engine; one that another thread has just closed is followed by a new one."""
        while not self._running().accept(envelopes):
            pass

    def _later(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run a function in the background after a moment."""
        while not self._running().later(function, *arguments):
            pass

    def _forked(self) -> None:
        """In the child of a fork: the thread is gone, and the connection is the parent's."""
        _left_to_parents.append(self._engine)
        self._engine = None
        self._starting = threading.Lock()


class _Engine:
    """The background thread with its outbox."""

    def __init__(self, urls: Sequence[BrokerUrl], name: str, max_in_flight: int) -> None:
        self._thread = LoopThread(name)
        self._open = True
        self._handing_over = threading.Lock()
        self.outbox = self._thread.run(_outbox(urls, name, max_in_flight), timeout=30)

    def accept(self, envelopes: list[Envelope]) -> bool:
        """Whether the outbox takes charge of them; a closed one does not."""
        with self._handing_over:
            if self._open:
                self._thread.call(self.outbox.accept, envelopes)
            return self._open

    def later(self, function: Callable[..., None], *arguments: Any) -> bool:
        with self._handing_over:
            if self._open:
                self._thread.call_later(_GATHER_FOR, function, *arguments)
            return self._open

    def flush(self, timeout: float) -> None:
        try:
            self._thread.run(self.outbox.settled(), timeout)
        except TimeoutError:
            raise PublishTimeout(f"messages were still on their way after {timeout:g} s") from None

    def close(self, timeout: float) -> None:
        with self._handing_over:
            self._open = False
        try:
            self.flush(timeout)
        finally:
            self._thread.run(self.outbox.close(2.0), timeout=10)
            self._thread.stop()


async def _outbox(urls: Sequence[BrokerUrl], name: str, max_in_flight: int) -> Outbox:
    return Outbox(urls, name, max_in_flight)


class _Call:
    """One `publish_many`: hands over batches, and keeps what is on its way bounded in number and bytes.

    A batch is handed over when it is full, by the calling thread, or after a moment, by the background thread: an
    iterable may take its time. The lock is for these two.
    """

    def __init__(
        self,
        accept: Callable[[list[Envelope]], None],
        later: Callable[..., None],
        max_in_flight: int,
        timeout: float,
    ) -> None:
        self.tally = Tally()
        self._accept = accept
        self._later = later
        self._most = 2 * max_in_flight
        self._timeout = timeout
        self._gathering = threading.Lock()
        self._batch: list[Envelope] = []
        self._batch_bytes = 0
        self._handed_over = 0
        self._bytes_on_their_way = 0
        self._batches: deque[tuple[int, int]] = deque()  # (handed over up to and with it, its bytes)

    def add(self, envelope: Envelope) -> None:
        with self._gathering:
            batch = self._batch
            batch.append(envelope)
            self._batch_bytes += len(envelope.body)
            gathered = len(batch)
        if gathered >= _BATCH or self._batch_bytes >= _BATCH_BYTES:
            self._hand_over()
        elif gathered == 1:
            self._later(self._hand_over_late, batch)

    def finish(self) -> int:
        """Wait for all that was handed over; raise the first error."""
        outcome = self.settle()
        error = self.tally.error
        if error is None:
            return self.tally.confirmed
        if isinstance(error, BrokerError):
            error.confirmed = self.tally.confirmed
        error.add_note(outcome)
        raise error

    def settle(self) -> str:
        """Send the rest, unless something has failed; wait, and say how many were confirmed."""
        if self.tally.error is None:
            self._hand_over()
        else:
            self._taken()
        self._wait_for(self._handed_over)
        return f"{self.tally.confirmed} messages of this call were confirmed"

    def _hand_over(self) -> None:
        batch, size = self._taken()
        while self._batches and (
            self._handed_over + len(batch) - self.tally.settled > self._most
            or self._bytes_on_their_way + size > _BYTES_ON_THEIR_WAY
        ):
            settled, freed = self._batches.popleft()
            self._wait_for(settled)
            self._bytes_on_their_way -= freed
        self._pass_on(batch, size)

    def _hand_over_late(self, batch: list[Envelope]) -> None:
        with self._gathering:
            if batch is self._batch and self.tally.error is None:
                self._pass_on(*self._take())

    def _taken(self) -> tuple[list[Envelope], int]:
        with self._gathering:
            return self._take()

    def _take(self) -> tuple[list[Envelope], int]:
        taken = self._batch, self._batch_bytes
        self._batch, self._batch_bytes = [], 0
        return taken

    def _pass_on(self, batch: list[Envelope], size: int) -> None:
        if not batch:
            return
        deadline = time.monotonic() + self._timeout
        for envelope in batch:
            envelope.deadline = deadline
        self._handed_over += len(batch)
        self._bytes_on_their_way += size
        self._batches.append((self._handed_over, size))
        self._accept(batch)

    def _wait_for(self, settled: int) -> None:
        if not self.tally.wait_for(settled, self._timeout + _GRACE):
            raise PublishTimeout("the background thread does not answer any more")


_publishers: "weakref.WeakSet[Publisher]" = weakref.WeakSet()
_left_to_parents: list[_Engine | None] = []  # kept, so that no finalizer disturbs the parent's connection


def _after_fork_in_child() -> None:
    for publisher in list(_publishers):
        publisher._forked()


os.register_at_fork(after_in_child=_after_fork_in_child)
