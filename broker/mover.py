"""Carries out grants over one connection: channels, deadlines, and what to do when one passes.

A mover serves one target. Flow control, an alarm or a hung queue stops a whole connection, so targets never share one.
Every wait has a deadline, because the broker does not always answer: RabbitMQ 3.10 never confirms what was on its way
to a quorum queue that somebody deletes, and stops reading that connection for good. Then the *connection* is dropped,
the broker gives back what was not acknowledged, and the next grant opens another.

While the broker has an alarm (`connection.blocked`) the deadlines stand still: it reads nothing from us, but what it
has been sent it will carry out. No grant starts meanwhile.

A grant that ends in a channel closed by the broker is repeated carefully, one message at a time: a message that closes
the channel whenever it is published would otherwise take its neighbours with it, again and again. When it is alone and
closes the channel once more, the grant ends as `unmovable`; the source is moved carefully from then on, until the
caller has done something about it.

A grant whose caller goes away (`cancel` on the task, `close` of the mover) is not left alone: it fetches no more,
settles what it has, and keeps its source until then.
"""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from raquo.broker.errors import BrokerError
from raquo.broker.grant import Grant, Outcome, Reason, Waiting
from raquo.broker.link import Link
from raquo.broker.mix import Mix
from raquo.broker.splice_channel import SpliceChannel
from raquo.broker.url import Urls, parse_urls

__all__ = ["Limits", "Mover", "Outcome"]

_REMEMBERED_SIZES = 10_000
_FIRST_SOURCES = 4  # so many unknown sources at once may have a whole first window each, more have less
_LEARN_ABOVE = 8  # first windows: smaller grants are carried out with a first window and no more
_NEVER = float("inf")
_LOOK_AT_MIX = 0.01
_ENDED_WITH_CONNECTION = (Reason.CONNECTION_LOST, Reason.NO_ANSWER)
_GAVE_BACK = (Reason.REFUSED, Reason.RETURNED, Reason.CHANNEL_CLOSED, Reason.UNMOVABLE)
_LET_GO = 0.02  # a quorum queue learns a moment after us that a channel is closed, and gives back only then


@dataclass(frozen=True)
class Limits:
    """How much may be on its way, and how long anything may take (seconds)."""

    channels: int = 64
    window: int = 1000
    window_bytes: int = 64 * 1024 * 1024
    first_window: int = 32  # while the size of a queue's messages is not known
    idle: float = 0.1
    confirm: float = 5.0
    answer: float = 2.0
    turn: float = 0.05  # how long a mix waits for a source that delivers nothing

    def __post_init__(self) -> None:
        if min(self.channels, self.window, self.first_window) < 1 or self.window > 65_535:
            raise ValueError("channels and windows are at least 1, and a window at most 65,535")

    def patience(self, waiting: Waiting) -> float:
        """How long a channel may wait for that."""
        seconds = {Waiting.DELIVERY: self.idle, Waiting.CONFIRM: self.confirm, Waiting.ANSWER: self.answer}
        return seconds.get(waiting, _NEVER)


class Mover:
    """Moves exact numbers of messages from staging queues into one target."""

    def __init__(self, url: Urls, target: str, limits: Limits | None = None) -> None:
        self.target = target
        self.limits = limits or Limits()
        self.dropped_connections = 0
        self._urls = parse_urls(url)
        self._link: Link | None = None
        self._opening = asyncio.Lock()
        self._failed_to_open: BrokerError | None = None  # why, the last time it failed
        self._slots = asyncio.Semaphore(self.limits.channels)
        self._ends: dict[str, float] = {}  # when to stop fetching, for every source that is being moved
        self._closed = False
        self._given_back: dict[str, int] = {}  # how many a source was given back, at most, when a grant failed
        self._suspected: set[str] = set()  # sources with a message that closes the channel
        self._watched: dict[Mix, asyncio.Task[None]] = {}
        self._average_size: OrderedDict[str, float] = OrderedDict()
        self._usual_size = 0.0  # of large messages in any queue; 0: nothing was moved yet

    async def __aenter__(self) -> "Mover":
        await self.open()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    @property
    def blocked(self) -> bool:
        """Whether the broker has stopped reading from us because of an alarm."""
        return self._link is not None and not self._link.unblocked.is_set()

    @property
    def in_flight_limit(self) -> int:
        """How many messages may be repeated if this process is killed."""
        return self.limits.channels * self.limits.window

    async def open(self) -> Link:
        """Connect, unless connected; raises what `connect` raises."""
        failed = self._failed_to_open
        async with self._opening:
            self._check_open()
            if self._link is not None and self._link.usable:
                return self._link
            if self._failed_to_open is not failed and self._failed_to_open is not None:
                raise self._failed_to_open  # the attempt that this one waited for
            try:
                self._link = await Link.open(self._urls, self.target)
            except BrokerError as error:
                self._failed_to_open = error
                raise
            self._check_open()  # it may have been closed meanwhile
            return self._link

    def _check_open(self) -> None:
        if self._closed:
            if self._link is not None and self._link.usable:
                self._link.drop("this mover is closed")
            raise BrokerError("this mover is closed")

    async def move(
        self,
        source: str,
        count: int,
        *,
        deadline: float | None = None,
        by_get: bool = False,
        mix: Mix | None = None,
    ) -> Outcome:
        """Move up to `count` messages from `source`, one grant per source at a time.

        Moves with the same `mix` publish in turns; it begins and ends with them.

        `deadline` (seconds) bounds the fetching; what is on its way then is still settled. `by_get` fetches without
        a consumer, for queues that are deleted with their last consumer (these are classic; a quorum queue gives
        back what was fetched so in no order).
        """
        if count < 1:
            raise ValueError(f"a grant is at least 1 message, not {count}")
        if source in self._ends:
            raise BrokerError(f"{source!r} is being moved already: one grant at a time keeps its order")
        self._ends[source] = _NEVER
        moving = asyncio.create_task(self._in_turn(source, count, deadline, by_get, mix))
        try:
            return await asyncio.shield(moving)
        except asyncio.CancelledError:
            self._stop(source)
            moving.add_done_callback(_ignored)
            raise

    async def close(self, drain: float = 2.0) -> None:
        """Stop fetching, settle what is on its way for at most `drain` seconds, then disconnect for good."""
        for source in self._ends:
            self._stop(source)
        self._closed = True
        if self._link is not None and self._link.usable:
            self._link.stop_all()
            await self._wait_until_idle(drain)
            await self._link.close(self.limits.answer)

    # One grant

    async def _in_turn(
        self, source: str, count: int, deadline: float | None, by_get: bool, mix: Mix | None
    ) -> Outcome:
        try:
            async with self._slots:
                if deadline is not None:
                    end = asyncio.get_running_loop().time() + deadline
                    self._ends[source] = min(end, self._ends[source])
                return _summed_up(source, count, await self._move(source, count, by_get, mix))
        finally:
            del self._ends[source]
            if mix is not None:
                self._leave(mix, source)

    async def _move(self, source: str, count: int, by_get: bool, mix: Mix | None) -> list[Grant]:
        grants: list[Grant] = []
        left = count
        while left:
            grant = self._next_grant(source, left, by_get)
            await self._carry_out(grant, bool(grants), mix)
            grants.append(grant)
            left -= grant.moved
            self._remember_given_back(grant)
            if not self._suspect(grant) and grant.reason is not Reason.COMPLETE:
                break
        return grants

    def _next_grant(self, source: str, left: int, by_get: bool) -> Grant:
        size = self._grant_size(source, left)
        window = min(size, self._window(source))
        if by_get:  # without a consumer there is no surplus, and a window of one is careful enough
            return Grant(source, size, 1 if source in self._suspected else window, by_get=True)
        window = max(window, self._given_back.get(source, 0))
        return Grant(source, size, window, careful=source in self._suspected)

    def _remember_given_back(self, grant: Grant) -> None:
        """What a quorum queue was given back keeps its order only if it is fetched together."""
        left = 0
        with_connection = grant.reason in _ENDED_WITH_CONNECTION
        if grant.reason is Reason.COMPLETE:
            left = self._given_back.get(grant.source, 0) - grant.moved
        elif (grant.begun and with_connection) or (grant.fetched and grant.reason in _GAVE_BACK):
            left = grant.window  # more may have been on its way than came
        elif with_connection or grant.reason is Reason.BLOCKED:
            return
        if left > 0:
            self._given_back[grant.source] = left
        else:
            self._given_back.pop(grant.source, None)

    def _suspect(self, grant: Grant) -> bool:
        """Whether a message of this grant closed the channel, and has to be found; if it is known, say so."""
        alone = grant.careful or grant.window == 1
        closed = grant.reason is Reason.CHANNEL_CLOSED and grant.delivered > grant.moved
        if closed and alone:
            grant.reason = Reason.UNMOVABLE
        if closed:
            self._suspected.add(grant.source)
        elif grant.moved:
            self._suspected.discard(grant.source)
        return closed and not alone

    async def _carry_out(self, grant: Grant, has_moved: bool, mix: Mix | None) -> None:
        """Carry it out on a link that is open; what can be told in the grant is told there, not raised."""
        if self._time_is_up(grant.source):
            grant.end(Reason.UNDER_FULL)
            return
        try:
            link = await self.open()
        except BrokerError as error:
            if not has_moved:
                raise
            grant.end(Reason.CONNECTION_LOST, str(error))
            return
        if not await self._unblocked(link, grant.source):
            grant.end(Reason.BLOCKED, "the broker has an alarm and accepts nothing")
        elif not link.usable:
            grant.end(Reason.CONNECTION_LOST, str(link.lost.result()))
        elif self._time_is_up(grant.source):
            grant.end(Reason.UNDER_FULL)
        else:
            await self._on(link, grant, mix)

    async def _on(self, link: Link, grant: Grant, mix: Mix | None) -> None:
        channel, over = link.start(grant, mix)
        if mix is not None and mix not in self._watched:
            self._watched[mix] = asyncio.create_task(self._watch_mix(mix))
        await self._watch(link, channel, over)
        self._remember_size(grant)
        if channel.closed and link.usable:
            await asyncio.sleep(_LET_GO)

    async def _watch(self, link: Link, channel: SpliceChannel, over: "asyncio.Future[Grant]") -> None:
        """Wait for the end of a grant; act when a deadline passes."""
        clock = asyncio.get_running_loop().time
        mark, written, since = channel.progress(), link.written, clock()
        source = channel.grant.source if channel.grant else ""
        while not (await asyncio.wait((over,), timeout=self._pause(source)))[0]:
            now, last, mark = clock(), mark, channel.progress()
            written_before, written = written, link.written
            slow_line = link.unwritten and written != written_before  # what is asked stands behind much else
            if not link.unblocked.is_set() or mark != last or slow_line:
                since = now
            elif now - since >= self.limits.patience(mark[0]):
                self._run_out_of_patience(link, channel, mark[0])
                since = now
            if self._time_is_up(source):
                link.stop(channel)

    def _run_out_of_patience(self, link: Link, channel: SpliceChannel, waiting: Waiting) -> None:
        if waiting is Waiting.DELIVERY:
            link.look_again(channel)
        else:
            self.dropped_connections += 1
            what = "a confirm" if waiting is Waiting.CONFIRM else "an answer"
            link.drop(f"waited {self.limits.patience(waiting):g} s for {what} from the broker")

    async def _watch_mix(self, mix: Mix) -> None:
        """Publish part after part; sources that deliver nothing for a moment are waited for no longer."""
        clock = asyncio.get_running_loop().time
        mark, since = mix.progress(), clock()
        try:
            while mix.attended and not mix.over:
                await asyncio.sleep(_LOOK_AT_MIX)
                if self._link is None or not self._link.usable:
                    continue
                if self._link.congested:  # nobody is read from, so nobody is late
                    mark, since = mix.progress(), clock()
                    continue
                self._link.release(mix)
                if mix.progress() != mark:
                    mark, since = mix.progress(), clock()
                elif clock() - since >= self.limits.turn:
                    self._link.hurry(mix)
        finally:
            del self._watched[mix]

    def _leave(self, mix: Mix, source: str) -> None:
        if self._link is not None and self._link.usable:
            self._link.leave(mix, source)
        else:
            mix.leave(source)

    # Sizes

    def _grant_size(self, source: str, left: int) -> int:
        """The first grant of an unknown queue is small, to learn how large its messages are."""
        known = source in self._average_size or left <= _LEARN_ABOVE * self.limits.first_window
        return left if known else min(left, self.limits.first_window)

    def _window(self, source: str) -> int:
        """As many as fit into the bytes allowed; of an unknown queue, by what is usual here, a few at first."""
        limits, sources = self.limits, max(1, len(self._ends))
        most = limits.window if source in self._average_size else min(limits.window, limits.first_window)
        size = self._average_size.get(source, self._usual_size)
        if not size:
            return max(1, min(most, _FIRST_SOURCES * most // sources))
        return max(1, min(most, int(limits.window_bytes / sources / size)))

    def _remember_size(self, grant: Grant) -> None:
        if grant.delivered:
            average = grant.size / grant.delivered
            self._usual_size = max(average, 0.9 * self._usual_size)
            self._average_size[grant.source] = max(average, 0.5 * self._average_size.get(grant.source, 0.0))
            self._average_size.move_to_end(grant.source)
            if len(self._average_size) > _REMEMBERED_SIZES:
                self._average_size.popitem(last=False)

    # Time

    def _stop(self, source: str) -> None:
        if source in self._ends:
            self._ends[source] = -_NEVER

    def _time_is_up(self, source: str) -> bool:
        return asyncio.get_running_loop().time() >= self._ends[source]

    def _pause(self, source: str) -> float:
        """Until the next look at a grant: its end is not missed by much."""
        half = self.limits.idle / 2
        left = self._ends[source] - asyncio.get_running_loop().time()
        return min(half, left) if left > 0 else half

    async def _unblocked(self, link: Link, source: str) -> bool:
        """Wait until the broker takes publishes again, or the end comes."""
        while not link.unblocked.is_set() and not self._time_is_up(source):
            with suppress(TimeoutError):
                await asyncio.wait_for(link.unblocked.wait(), self._pause(source))
        return link.unblocked.is_set()

    async def _wait_until_idle(self, drain: float) -> None:
        give_up = asyncio.get_running_loop().time() + drain
        while self._ends and asyncio.get_running_loop().time() < give_up:
            await asyncio.sleep(self.limits.idle / 10)


def _ignored(moving: "asyncio.Task[Outcome]") -> None:
    """Nobody waits for it any more, so nobody asks for its exception."""
    if not moving.cancelled():
        moving.exception()


def _summed_up(source: str, asked: int, grants: list[Grant]) -> Outcome:
    last = grants[-1]
    return Outcome(
        source=source,
        asked=asked,
        moved=sum(grant.moved for grant in grants),
        reason=last.reason or Reason.COMPLETE,
        text=last.text,
        code=last.code,
        size=sum(grant.size for grant in grants),
        redelivered=sum(grant.redelivered for grant in grants),
        staged_at=grants[0].staged_at,
        given_back=sum(max(0, grant.fetched - grant.moved) for grant in grants),
    )
