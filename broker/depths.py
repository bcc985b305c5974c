"""Reads how many messages wait in queues, fresh, by pipelined passive declares.

A passive declare is answered at once with what is ready and who consumes, where the management API lags. Asked one
after the other each costs a trip to the broker; here a whole list goes out in one write and the answers come back in
order. pika's own `queue_declare` waits for the answer before it sends the next, so the frames are sent by a member of
pika that is not public.

A queue that is missing, or that we may not see, closes the channel, and with it goes every question behind it: they
are asked again on another channel.

This connection never publishes: an alarm, flow control or a hung queue stops connections that do.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from pika import spec
from pika.exceptions import ChannelClosedByBroker

from raquo.broker import connection as connections
from raquo.broker.errors import BrokerError, ConnectionLost
from raquo.broker.gathering_connection import GatheringConnection
from raquo.broker.url import Urls, parse_urls

NOT_FOUND = 404
_ANSWER_WITHIN = 2.0
_MOST_IN_ONE_GO = 2000
_CHANNELS = 100


class Depth(NamedTuple):
    """What a queue holds, ready to be delivered, and how many consume it."""

    ready: int
    consumers: int


class Refused(NamedTuple):
    """The broker did not say; the code and text are its own."""

    code: int
    text: str

    @property
    def missing(self) -> bool:
        """Whether there is no such queue."""
        return self.code == NOT_FOUND


Reading = Depth | Refused


class DepthReader:
    """One connection on which depths are asked; opened when it is needed, opened again when it was lost."""

    def __init__(self, url: Urls, name: str = "raquo depths") -> None:
        self.asked = 0
        self.problem: str | None = None  # why depths cannot be read; None: they can, as far as is known
        self._urls = parse_urls(url)
        self._name = name
        self._connection: GatheringConnection | None = None
        self._opening = asyncio.Lock()
        self._channels = asyncio.Semaphore(_CHANNELS)
        self._lost: asyncio.Future[BrokerError]
        self._idle: list[_Asker] = []
        self._askers: set[_Asker] = set()
        self._closed = False

    async def read(self, queues: Iterable[str]) -> dict[str, Reading]:
        """The depth of each of these, or why there is none; raises `BrokerError` where the broker does not answer."""
        try:
            readings = await self._read(deque(dict.fromkeys(queues)))
        except BrokerError as error:
            self.problem = str(error)
            raise
        if readings:
            self.problem = None
        return readings

    async def check(self) -> None:
        """Be connected; raises `BrokerError` where the broker does not answer."""
        try:
            await self._open()
        except BrokerError as error:
            self.problem = str(error)
            raise
        self.problem = None

    async def _read(self, left: deque[str]) -> dict[str, Reading]:
        readings: dict[str, Reading] = {}
        most = _MOST_IN_ONE_GO
        async with self._channels:
            while left:
                asker = await self._asker()
                some = [left.popleft() for _ in range(min(len(left), most))]
                self.asked += len(some)
                answers = await self._answers(asker, some)
                readings |= zip(some, answers, strict=False)
                left.extendleft(reversed(some[len(answers) :]))
                refused = len(answers) < len(some) or not asker.open
                most = max(1, most // 4) if refused else min(_MOST_IN_ONE_GO, most * 4)  # each refusal costs the rest
        return readings

    async def close(self) -> None:
        """Disconnect for good."""
        self._closed = True
        async with self._opening:
            if self._connection is not None and not self._lost.done():
                await connections.close(self._connection, self._lost, _ANSWER_WITHIN)

    async def _answers(self, asker: "_Asker", queues: list[str]) -> list[Reading]:
        answered = asker.ask(queues)
        try:
            while not (await asyncio.wait((answered,), timeout=_ANSWER_WITHIN))[0]:
                if not asker.progressed():
                    self._drop(f"waited {_ANSWER_WITHIN:g} s for the depth of {queues[asker.answered]!r}")
        except asyncio.CancelledError:
            self._askers.discard(asker)
            asker.leave()
            raise
        answers = answered.result()
        if asker.open:
            self._idle.append(asker)
        else:
            self._askers.discard(asker)
        return answers

    async def _asker(self) -> "_Asker":
        connection = await self._open()
        if self._idle:
            return self._idle.pop()
        asker = _Asker()
        self._askers.add(asker)
        try:
            await asker.start(connection, _ANSWER_WITHIN)
        except TimeoutError:
            self._drop(f"the broker opened no channel within {_ANSWER_WITHIN:g} s")
        except asyncio.CancelledError:
            self._askers.discard(asker)
            asker.leave()
            raise
        if self._lost.done():
            raise self._lost.result()
        return asker

    async def _open(self) -> GatheringConnection:
        async with self._opening:
            if self._closed:
                raise BrokerError("this reader of depths is closed")
            if self._connection is None or self._lost.done():
                self._connection = None  # also if the next one cannot be had
                lost: asyncio.Future[BrokerError] = asyncio.get_running_loop().create_future()
                self._lost = lost

                def on_lost(error: BrokerError) -> None:
                    if self._lost is lost:  # an old connection may end when there is a new one
                        self._on_lost(error)

                self._connection = await connections.connect(self._urls, GatheringConnection, self._name, on_lost)
            return self._connection

    def _drop(self, why: str) -> None:
        self._on_lost(ConnectionLost(why))
        if self._connection is not None:
            connections.abort(self._connection, why)

    def _on_lost(self, error: BrokerError) -> None:
        if not self._lost.done():
            self._lost.set_result(error)
        for asker in self._askers:
            asker.fail(error)
        self._askers.clear()
        self._idle.clear()


class _Asker:
    """One channel, and the questions that are open on it."""

    def __init__(self) -> None:
        self.open = False
        self._left = False
        self._channel: Any = None
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked: list[str] = []
        self._answers: list[Reading] = []
        self._done: asyncio.Future[list[Reading]] | None = None
        self._seen = 0

    @property
    def answered(self) -> int:
        return len(self._answers)

    async def start(self, connection: GatheringConnection, timeout: float) -> None:
        connection.channel(on_open_callback=self._on_open)
        await asyncio.wait_for(self._started, timeout)

    def ask(self, queues: list[str]) -> "asyncio.Future[list[Reading]]":
        """All of them at once; fewer answers than questions mean that the channel was closed by the last one."""
        self._asked, self._answers, self._seen = queues, [], 0
        self._done = asyncio.get_running_loop().create_future()
        for queue in queues:
            self._channel._send_method(spec.Queue.Declare(queue=queue, passive=True))
        return self._done

    def progressed(self) -> bool:
        """Whether something was answered since the last look."""
        before, self._seen = self._seen, len(self._answers)
        return self._seen > before

    def leave(self) -> None:
        """Nobody waits for its answers any more."""
        self._left = True
        if self.open:
            self.open = False
            self._channel.close()

    def fail(self, error: BrokerError) -> None:
        self.open = False
        for future in (self._started, self._done):
            if future is not None and not future.done():
                future.set_exception(error)

    def _on_open(self, channel: Any) -> None:
        self._channel = channel
        self.open = True
        if self._left:
            self.leave()
            return
        channel.add_callback(self._on_answer, [spec.Queue.DeclareOk], one_shot=False)
        channel.add_on_close_callback(self._on_close)
        if not self._started.done():
            self._started.set_result(None)

    def _on_answer(self, frame: Any) -> None:
        self._answers.append(Depth(frame.method.message_count, frame.method.consumer_count))
        if len(self._answers) == len(self._asked):
            self._finish()

    def _on_close(self, _channel: Any, reason: Any) -> None:
        """The broker refused the first question that has no answer yet."""
        self.open = False
        if self._done is not None and not self._done.done() and isinstance(reason, ChannelClosedByBroker):
            self._answers.append(Refused(reason.reply_code, str(reason.reply_text)))
            self._finish()

    def _finish(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(self._answers)
