"""Publishes envelopes with pipelined confirms, and settles every one of them: confirmed, or failed with the reason.

Runs on one asyncio loop, in which every method is called. An envelope is in one place at a time: waiting to be sent,
parked until its queue is declared, or in flight. What moves it:

* **confirmed**: settled, and nothing else ever settles it as sent.
* **returned** (its queue is gone). A return carries no number, so all that is in flight to that queue counts as
  returned; what reached the queue before it went, went with it. Nothing more is sent to the queue until all of them
  have had their confirms, because a late return would be taken for one of its successors; then the queue is declared
  and they are published again, in their order, once. A second time they are `Unroutable`, and so are messages to
  queues that are not ours to declare, at once.
* **refused** (nack). A queue that is being deleted may refuse too, before it is gone, so it is tried once more in the
  same way after a moment; then it is `StagingFull`.
* **the channel closes** under a message (too large, a foreign `user_id`): what was in flight is sent again one by one,
  and the one that closes the channel alone is `PublishRefused`. One whose properties do not fit into a frame would
  close the whole connection: it is never sent.
* **the connection is lost**, or gives no confirm for some seconds (more for large messages: they take their time on a
  slow line) while it is not blocked: another is opened, and what was in flight is sent again, which may repeat a
  message and never loses one.
* **its deadline passes**, or the outbox is closed: `PublishTimeout`, which says whether it ever left this process.
  What has not is never sent.
"""

import asyncio
import logging
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

from raquo.broker import connection as connections
from raquo.broker.bell import Bell
from raquo.broker.declarer import Declarer
from raquo.broker.envelope import Envelope
from raquo.broker.errors import (
    AccessRefused,
    BrokerError,
    BrokerUnreachable,
    ConnectionLost,
    PublishError,
    PublishRefused,
    PublishTimeout,
    StagingFull,
    Unroutable,
)
from raquo.broker.gathering_connection import GatheringConnection
from raquo.broker.url import BrokerUrl

_log = logging.getLogger(__name__)

_LOOK_EVERY = 0.05
_CONFIRM_WITHIN = 5.0
_SLOWEST_LINE = 1_000_000  # bytes a second
_DECLARE_WITHIN = 10.0
_AFTER_REFUSAL = 0.25
_NOT_PERMITTED = 403
_AROUND_PROPERTIES = 20  # what a frame has besides them


FIGURES = ("confirmed", "in_flight", "waiting", "declared", "returned", "resent", "reconnects", "bells")


class Outbox:
    """What a publisher's process has on its way to the broker, over one connection."""

    def __init__(self, urls: Sequence[BrokerUrl], name: str, max_in_flight: int) -> None:
        self.confirmed = self.reconnects = self.resent = self.returned = 0
        self._urls = urls
        self._name = name
        self._max_in_flight = max_in_flight
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Envelope] = deque()
        self._parked: dict[str, list[Envelope]] = {}
        self._held: dict[str, int] = {}  # queues to declare again -> how many are still in flight to them
        self._in_flight: OrderedDict[int, Envelope] = OrderedDict()
        self._declarer = Declarer(self._on_declared, self._loop.time)
        self._bell = Bell(self._loop.time)
        self._connection: GatheringConnection | None = None
        self._channel: Any = None
        self._room = 0  # for a message's properties in one frame
        self._lost: asyncio.Future[BrokerError] | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._was_connected = False
        self._sequence = 0
        self._blocked = False
        self._one_by_one = 0  # this many are sent alone, to find the one that closes the channel
        self._trouble: BrokerError | None = None
        self._progress_at = 0.0
        self._looking: asyncio.TimerHandle | None = None

    def accept(self, envelopes: Iterable[Envelope]) -> None:
        """Take charge of these; each will be settled by its deadline at the latest."""
        self._waiting.extend(envelopes)
        self._look_later()
        self._pump()

    def figures(self) -> dict[str, int]:
        """What has happened so far."""
        waiting = len(self._waiting) + sum(map(len, self._parked.values()))
        settling = (self.confirmed, len(self._in_flight), waiting)
        counts = (self._declarer.declared_count, self.returned, self.resent, self.reconnects, self._bell.rings)
        return dict(zip(FIGURES, settling + counts, strict=True))

    async def settled(self) -> None:
        """Wait until nothing is on its way any more; deadlines see to it that this ends."""
        while self._unsettled():
            await asyncio.sleep(_LOOK_EVERY / 5)

    async def close(self, timeout: float) -> None:
        """Disconnect, and give up what is not settled."""
        if self._looking is not None:
            self._looking.cancel()
        self._fail_all(lambda envelope: self._not_confirmed(envelope, "the publisher was closed"))
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._connection is not None and self._lost is not None:
            await connections.close(self._connection, self._lost, timeout)

    # Sending

    def _pump(self) -> None:
        """Send what may be sent now."""
        if self._channel is None:
            self._connect()
            return
        limit = 1 if self._one_by_one else self._max_in_flight
        while self._waiting and not self._blocked and len(self._in_flight) < limit and self._channel is not None:
            envelope = self._waiting.popleft()
            if envelope.settled:
                self._one_by_one = max(0, self._one_by_one - 1)
            elif envelope.queue in self._held:
                self._parked.setdefault(envelope.queue, []).append(envelope)
            elif envelope.arguments is not None and not self._declarer.knows(envelope.queue):
                self._parked.setdefault(envelope.queue, []).append(envelope)
                self._declarer.want(envelope.queue, envelope.arguments)
            else:
                self._send(envelope)

    def _send(self, envelope: Envelope) -> None:
        size = envelope.content.size
        if size > self._room:
            words = f"its headers and properties have {size} bytes, and a frame has room for {self._room}"
            envelope.settle(PublishRefused(f"the broker takes no such message: {words}"))
            return
        if not self._in_flight:
            self._progress_at = self._loop.time()
        self._sequence += 1
        self._in_flight[self._sequence] = envelope
        envelope.sequence = self._sequence
        self.resent += envelope.sent
        envelope.sent, envelope.returned = True, False
        self._channel.basic_publish("", envelope.queue, envelope.body, envelope.content, mandatory=True)

    def _on_declared(self, queue: str) -> None:
        self._waiting.extendleft(reversed(self._parked.pop(queue, [])))
        self._loop.call_soon(self._pump)

    # Answers

    def _on_confirm(self, frame: Any) -> None:
        """An ack or a nack, for one publish or for all up to it."""
        method = frame.method
        refused = method.NAME == "Basic.Nack"
        self._progress_at = self._loop.time()
        taken = self._take(method.delivery_tag, method.multiple)
        for envelope in taken if self._held else ():
            if envelope.queue in self._held:
                self._held[envelope.queue] -= 1
        for envelope in taken:
            self._one_by_one = max(0, self._one_by_one - 1)
            if refused or envelope.returned:
                self._try_again(envelope, refused)
            else:
                self._confirm(envelope)
        for queue in {envelope.queue for envelope in taken} if self._held else ():
            if self._held.get(queue) == 0:
                pause = _AFTER_REFUSAL if any(envelope.refusals for envelope in self._parked[queue]) else 0
                self._loop.call_later(pause, self._release, queue)
        self._pump()

    def _confirm(self, envelope: Envelope) -> None:
        self.confirmed += not envelope.settled
        envelope.settle()
        if envelope.arguments is not None:
            self._bell.confirmed(envelope.queue)

    def _take(self, sequence: int, multiple: bool) -> list[Envelope]:
        if not multiple:
            envelope = self._in_flight.pop(sequence, None)
            return [envelope] if envelope is not None else []
        taken = []
        while self._in_flight and next(iter(self._in_flight)) <= sequence:
            taken.append(self._in_flight.popitem(last=False)[1])
        return taken

    def _on_return(self, _channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        """A queue is gone; the confirms that follow decide what becomes of its messages."""
        self.returned += 1
        for envelope in self._in_flight.values():
            if envelope.queue == method.routing_key:
                envelope.returned = True

    def _try_again(self, envelope: Envelope, refused: bool) -> None:
        """It came back or was refused: once, its queue is declared and it is sent again."""
        queue = envelope.queue
        if envelope.arguments is None or (envelope.refusals if refused else envelope.returns):
            envelope.settle(self._not_taken(queue, refused))
            return
        if queue not in self._held:
            self._held[queue] = sum(other.queue == queue for other in self._in_flight.values())
        envelope.refusals += refused
        envelope.returns += not refused
        self._parked.setdefault(queue, []).append(envelope)

    def _release(self, queue: str) -> None:
        """Nothing is in flight to it any more: declare it, and send what is parked."""
        if self._held.get(queue) == 0:
            del self._held[queue]
            self._declarer.forget(queue)
            parked = self._parked[queue]  # confirms come in any order, and what was never sent came between them
            parked.sort(key=_position)
            self._declarer.want(queue, parked[0].arguments or {})

    def _not_taken(self, queue: str, refused: bool) -> PublishError:
        if refused:
            return StagingFull(f"the broker refused a message for {queue!r}: the queue is full")
        refusal = self._declarer.why_refused(queue)
        hint = f" (declaring it was refused: {refusal})" if refusal else ""
        return Unroutable(f"there is no queue {queue!r}, and the message came back{hint}")

    # The connection

    def _connect(self) -> None:
        if self._connecting is None and self._connection is None:
            self._connecting = self._loop.create_task(self._connect_for_long())

    async def _connect_for_long(self) -> None:
        """Try until it works, the broker refuses us, or nobody waits any more."""
        try:
            await self._connect_somehow()
        except (BrokerUnreachable, ConnectionLost) as error:
            self._note_trouble(error)
        except BrokerError as error:
            self._refused(error)
        except Exception as error:
            _log.exception("connecting failed in a way nobody thought of")
            self._refused(BrokerError(f"connecting failed: {error!r}"))
        finally:
            self._connecting = None
        if self._unsettled():
            self._pump()

    async def _connect_somehow(self) -> None:
        attempts = AsyncRetrying(
            retry=retry_if_exception_type((BrokerUnreachable, ConnectionLost)),
            wait=wait_random_exponential(multiplier=0.2, max=3.0),
            stop=lambda _: not self._unsettled(),
            before_sleep=lambda state: self._note_trouble(state.outcome.exception() if state.outcome else None),
            reraise=True,
        )
        async for attempt in attempts:
            with attempt:
                await self._connect_once()

    async def _connect_once(self) -> None:
        self._lost = self._loop.create_future()
        connection = await connections.connect(self._urls, GatheringConnection, self._name, self._on_lost)
        if self._lost.done():  # lost before we could look at it
            raise self._lost.result()
        self.reconnects += self._was_connected
        self._was_connected = True
        self._connection = connection
        connection.add_on_connection_blocked_callback(lambda *_: self._on_blocked(True))
        connection.add_on_connection_unblocked_callback(lambda *_: self._on_blocked(False))
        self._declarer.attach(connection)
        self._bell.attach(connection)
        self._open_channel()

    def _open_channel(self) -> None:
        self._progress_at = self._loop.time()
        if self._connection is not None:
            self._connection.channel(on_open_callback=self._on_channel_open)

    def _on_channel_open(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_return_callback(self._on_return)
        channel.confirm_delivery(self._on_confirm, callback=lambda _: self._on_ready(channel))

    def _on_ready(self, channel: Any) -> None:
        self._channel, self._sequence = channel, 0
        self._room = channel.connection.params.frame_max - _AROUND_PROPERTIES
        self._pump()

    def _on_channel_closed(self, channel: Any, reason: Any) -> None:
        """The broker did not like a message, or the whole connection is gone (`_on_lost` follows)."""
        if channel is not self._channel or self._connection is None or not self._connection.is_open:
            return
        self._channel = None
        code, text = getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason))
        if code == _NOT_PERMITTED and "ACCESS_REFUSED" in text:
            self._settle_in_flight(lambda: AccessRefused(f"the broker refuses publishing: {code} {text}"))
        elif len(self._in_flight) == 1:
            self._settle_in_flight(lambda: PublishRefused(f"the broker refuses this message: {code} {text}"))
            self._one_by_one = max(0, self._one_by_one - 1)
        else:
            self._one_by_one = len(self._in_flight)
        self._take_back()
        self._open_channel()

    def _on_blocked(self, blocked: bool) -> None:
        self._blocked = blocked
        self._progress_at = self._loop.time()
        self._pump()

    def _on_lost(self, error: BrokerError) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(error)
        if self._connection is None:
            return
        self._connection = self._channel = None
        self._blocked = False
        self._declarer.detach()
        self._bell.detach()
        self._note_trouble(error)
        self._take_back()
        if self._unsettled():
            self._connect()

    def _note_trouble(self, error: BaseException | None) -> None:
        if isinstance(error, BrokerError):
            self._trouble = error
            _log.info("publishing waits: %s", error)

    def _take_back(self) -> None:
        """What was in flight goes first when there is a channel again, in its old order."""
        for queue in self._held:
            self._declarer.forget(queue)
            self._waiting.extendleft(reversed(self._parked.pop(queue, [])))
        self._held.clear()
        self._waiting.extendleft(reversed(self._in_flight.values()))
        self._in_flight.clear()

    def _settle_in_flight(self, error: Callable[[], BrokerError]) -> None:
        for envelope in self._in_flight.values():
            envelope.settle(error())
        self._in_flight.clear()

    def _refused(self, error: BrokerError) -> None:
        self._fail_all(lambda _: _another(error))

    def _fail_all(self, error: Callable[[Envelope], BrokerError]) -> None:
        for envelope in self._everything():
            envelope.settle(error(envelope))
        self._waiting.clear()
        self._in_flight.clear()
        self._parked.clear()
        self._held.clear()

    # Deadlines

    def _look_later(self) -> None:
        if self._looking is None:
            self._looking = self._loop.call_later(_LOOK_EVERY, self._look)

    def _look(self) -> None:
        """Give up what is too late, and a connection that does not answer."""
        self._looking = None
        now = self._loop.time()
        for envelope in self._everything():
            if not envelope.settled and now >= envelope.deadline:
                envelope.settle(self._too_late(envelope))
        if self._connection is not None and not self._blocked and self._is_silent(now):
            connections.abort(self._connection, "the broker does not answer")
        if self._unsettled():
            self._look_later()

    def _is_silent(self, now: float) -> bool:
        """Whether an answer is overdue: a confirm, a channel, or a declare."""
        silence = now - self._progress_at - _CONFIRM_WITHIN
        if silence > 0 and (self._in_flight or self._channel is None):
            return silence > sum(len(envelope.body) for envelope in self._in_flight.values()) / _SLOWEST_LINE
        return self._declarer.overdue(_DECLARE_WITHIN)

    def _too_late(self, envelope: Envelope) -> PublishTimeout:
        if self._blocked:
            return self._not_confirmed(envelope, "the broker has an alarm (memory or disk) and accepts nothing")
        if self._channel is None:
            return self._not_confirmed(envelope, str(self._trouble or f"{self._urls[0]} has not answered yet"))
        return self._not_confirmed(envelope, "the broker did not confirm it")

    def _not_confirmed(self, envelope: Envelope, why: str) -> PublishTimeout:
        fate = "it was sent, and may have arrived" if envelope.sent else "it was not sent"
        return PublishTimeout(f"no confirm in time for a message to {envelope.queue!r}: {why}; {fate}", envelope.sent)

    def _everything(self) -> list[Envelope]:
        parked = [envelope for envelopes in self._parked.values() for envelope in envelopes]
        return [*self._in_flight.values(), *parked, *self._waiting]

    def _unsettled(self) -> bool:
        return any(not envelope.settled for envelope in self._everything())


def _position(envelope: Envelope) -> float:
    """What came back goes first, in the order in which it was sent."""
    return envelope.sequence if envelope.returns or envelope.refusals else math.inf


def _another(error: BrokerError) -> BrokerError:
    """An error of its own for each who waits: they are raised in different threads, each with its own figures."""
    copy = type(error)(str(error))
    copy.__cause__ = error.__cause__
    return copy
