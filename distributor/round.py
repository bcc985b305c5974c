"""One target and its rounds: fresh depths → room → policy → grants, again and again.

**A round** reads the depths of the target and of its busy staging queues, works out how much fits, lets the policy
divide that, and starts the grants. It then waits for them, but not for ever: a grant that takes longer goes on by
itself, its queue is left out of the next rounds, and what it may still bring is subtracted from the room. So a queue
that hangs costs the others a moment, and the target is never filled twice.

**Depths between readings.** What was moved is subtracted at once. A queue that holds far more than could be granted is
not read in every round, because its exact depth changes nothing.

**When the target itself cannot take anything** (it is missing, a stream, the broker has an alarm, the connection is
gone) the round grants nothing and says why; everything stays in staging. A target that was missing and is there again
may be another queue than before, with limits of its own: it takes nothing until somebody has looked at it.

**A queue that gave trouble** is granted one message, and nobody waits for it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from raquo.broker.depths import Depth, DepthReader, Reading, Refused
from raquo.broker.errors import BrokerError
from raquo.distributor import capacity
from raquo.distributor.capacity import Bounds, Consumption, Floor
from raquo.distributor.carrying import Carrying
from raquo.distributor.freshness import Freshness
from raquo.distributor.policy import Demand, Grants, Policy, State
from raquo.distributor.slices import slices
from raquo.distributor.snapshot import Staging
from raquo.distributor.staging_queue import StagingQueue, Weights
from raquo.distributor.status import PlannedTarget, TargetStatus
from raquo.distributor.telemetry import FloorGranted, Moved, MoveFailed, RoundDone, Telemetry, Warned
from raquo.distributor.transport import Mix, Outcome, Reason, Transport

_GRANT_WITHIN = 5.0
_AT_ONCE = 50_000  # messages in one round; the next follows without a pause, and hears what has changed
_BYPASS_AT_ONCE = 10_000  # so that "off" is heeded soon
_TOO_SHORT_TO_SEE = 0.05  # what workers take in so many seconds need not be mixed
_FRESH_ENOUGH = 1.0
_FLOOR_EVERY = 0.25  # what others keep full gets its part in small steps
_FIRST_BACK_OFF, _LONGEST_BACK_OFF = 0.2, 5.0
_ENDED_WITH_CONNECTION = (Reason.CONNECTION_LOST, Reason.NO_ANSWER)


@dataclass(slots=True)
class Switches:
    """What the whole distributor does or leaves, at present."""

    bypass: bool = False
    dry_run: bool = False
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What does not change from round to round."""

    bounds: Bounds
    type: str = "classic"
    floor_share: float = 0.5
    by_queue: bool = False
    unlimited_prefetch: bool = False
    unacked: int | None = None
    total: int | None = None  # ready and unacked at the same moment
    drops_bytes: bool = False  # the broker throws its oldest messages away beyond a number of bytes


@dataclass(frozen=True, slots=True)
class Hold:
    """Why the target takes nothing from staging; no reason: it does."""

    reason: str | None = None
    text: str | None = None


class Target:
    """A target with its staging queues."""

    def __init__(
        self,
        name: str,
        facts: TargetFacts,
        policy: Policy,
        transport: Transport,
        freshness: Freshness,
        telemetry: Telemetry,
        switches: Switches,
        clocks: tuple[Callable[[], float], Callable[[], float]],
    ) -> None:
        """`clocks` are the monotonic one and the wall's."""
        self.name = name
        self.facts = facts
        self.policy = policy
        self.transport = transport
        self.woken = asyncio.Event()
        self.queues: dict[str, StagingQueue] = {}
        self.depth = Depth(0, 0)
        self.hold = Hold()
        self.consumption = Consumption()
        self.floor = Floor(facts.floor_share)
        self.moved = 0
        self.given_back = 0  # fetched by grants that failed, and in staging again
        self.inspected = False  # whether its own limits are known
        self._freshness = freshness
        self._telemetry = telemetry
        self._switches = switches
        self._now, self._wall = clocks
        self._busy: dict[str, StagingQueue] = {}
        self._belief = capacity.Belief()
        self._held = capacity.Held()
        self._in_flight_then = 0
        self._state = State()
        self._late: set[asyncio.Task[None]] = set()
        self._started_at = float("-inf")  # the last round
        self._capped = False  # the last round was as large as one may be
        self._failures = 0
        self._retry_at = float("-inf")

    # What others tell it

    def know(self, staging: Iterable[Staging], weights: Callable[[Staging], Weights]) -> None:
        """These are its staging queues now; what is on its way of others is finished all the same."""
        known = {one.queue: one for one in staging}
        for queue in [queue for queue, own in self.queues.items() if queue not in known and not own.granted]:
            self._forget(queue)
        for one in known.values():
            own = self.learn(one, weights)
            if one.depth and not own.depth:
                self.ring(one.queue)

    def listed(self, facts: TargetFacts, asked_at: float) -> None:
        """A new listing, and what it says of the target."""
        self.facts = facts
        self._held.listed(facts.total, asked_at, facts.type)

    def learn(self, staging: Staging, weights: Callable[[Staging], Weights]) -> StagingQueue:
        """One of its staging queues, maybe a new one."""
        own = self.queues.get(staging.queue)
        if own is None:
            own = self.queues[staging.queue] = StagingQueue(staging, weights(staging), self.facts.by_queue)
        own.staging = staging
        return own

    def weigh(self, weights: Callable[[Staging], Weights]) -> None:
        """Weights have changed."""
        for own in self.queues.values():
            own.weights, own.by_queue = weights(own.staging), self.facts.by_queue

    def ring(self, queue: str) -> bool:
        """A staging queue is said to have a message; whether it is known here."""
        own = self.queues.get(queue)
        if own is None:
            return False
        own.rung(self._now())
        self._busy[queue] = own
        self.woken.set()
        return True

    def read_idle(self, readings: Mapping[str, Reading]) -> None:
        """Depths that were read outside a round."""
        now = self._now()
        for queue, reading in readings.items():
            own = self.queues.get(queue)
            if own is None or own.busy:
                continue
            if isinstance(reading, Depth):
                if own.read(reading, now, now):
                    self.ring(queue)
            else:
                self._refused(own, reading, now)

    def glance(self, reading: Reading) -> None:
        """Its own depth was read outside a round."""
        if not self.waiting:
            self._read_target(reading, self._now())

    def idle_queues(self) -> list[str]:
        """Those that no round looks at, but those that may not be read."""
        now = self._now()
        return [queue for queue, own in self.queues.items() if queue not in self._busy and now >= own.retry_at]

    @property
    def staging_type(self) -> str:
        """What type its staging queues are; they take after their target."""
        types = [own.staging.type for own in self.queues.values()]
        return max(sorted(set(types)), key=types.count, default="classic")

    # Rounds

    @property
    def waiting(self) -> bool:
        """Whether there is anything to do."""
        return bool(self._busy)

    @property
    def in_flight(self) -> int:
        """Granted and not settled."""
        return sum(own.granted for own in self._busy.values())

    async def round(self) -> None:
        """One pass; raises `BrokerError` only where depths cannot be read."""
        started = self._started_at = self._now()
        self.woken.clear()
        await self._read_depths(started)
        grants, demands, state, floor = self._plan(self._now())
        moved_before = self.moved
        if grants and not self._switches.dry_run:
            self._state = state
            if floor:
                self.floor.spend(sum(grants.values()))
                self._telemetry.emit(FloorGranted(self.name, sum(grants.values())))
            await self._carry_out(grants, demands)
        granted = sum(grants.values())
        self._capped = granted >= self._at_once and self.moved > moved_before
        self._telemetry.emit(RoundDone(self.name, self._now() - started, granted, self.moved - moved_before))

    def pause(self, configured: float | None) -> float:
        """How long until the next round, if nobody wakes it."""
        now = self._now()
        if now < self._retry_at:
            return self._retry_at - now
        if self.hold.reason in _NOT_THERE:
            return 1.0
        if not self._askable(now):  # everything that waits is held, on its way, or left out for a while
            left_out = (own.retry_at for own in self._busy.values() if own.depth and not own.granted)
            return min(1.0, max(0.02, min((at for at in left_out if at > now), default=now + 1.0) - now))
        if self._capped:
            return 0.0
        if configured is not None:
            return max(0.0, self._started_at + configured - now)
        period = capacity.pause_between_rounds(
            self.facts.bounds.max_length, self.consumption.per_second, self.depth.consumers
        )
        period = min(_FLOOR_EVERY, period) if self.floor.watching else period
        return max(0.0, self._started_at + period - now)

    @property
    def may_be_woken(self) -> bool:
        """Whether a new message can be moved at once: not while the target is full, or left alone for a moment."""
        return self.hold.reason is None and self._now() >= self._retry_at

    def plan(self) -> PlannedTarget:
        """What the next round would move, by what is known now."""
        grants, *_ = self._plan(self._now(), trying=True)
        bounds = self.facts.bounds
        ordered = tuple(sorted(grants.items()))
        return PlannedTarget(
            self.name, self.depth.ready, self._room(), bounds.max_length, self.policy.name, ordered, self.hold.reason
        )

    async def finish(self, drain: float) -> None:
        """Grant no more, and settle what is on its way."""
        await self.transport.close(drain)
        if self._late:
            await asyncio.wait(self._late, timeout=1.0)

    # Depths

    async def read_all(self, reader: DepthReader) -> None:
        """Read the depth of every staging queue once, whatever it costs."""
        readings = await reader.read([self.name, *self.queues])
        self._take(readings, self._now())
        for queue, own in self.queues.items():
            if own.busy:
                self._busy[queue] = own

    async def _read_depths(self, now: float) -> None:
        self._in_flight_then = self.in_flight  # what settles meanwhile may be in the answer, or may not
        self._take(await self._freshness.read(self.name, self._worth_reading(now)), now)

    def _take(self, readings: dict[str, Reading], asked_at: float) -> None:
        own = readings.pop(self.name)
        now = self._now()
        self._read_target(own, now)
        for queue, reading in readings.items():
            self._read_staging(queue, reading, now, asked_at)

    def _worth_reading(self, now: float) -> list[StagingQueue]:
        """Busy queues, but those that are surely deeper than anything that fits."""
        enough = 2 * self.facts.bounds.max_length
        return [
            own
            for own in self._busy.values()
            if not own.granted
            and (own.depth <= enough or now - own.read_at > _FRESH_ENOUGH)
            and (now >= own.retry_at or not own.unreadable)
        ]

    def _read_target(self, reading: Reading, now: float) -> None:
        if isinstance(reading, Refused):
            code = "target_missing" if reading.missing else "not_permitted"
            self.hold = Hold(code, f"there is no queue {self.name!r}" if reading.missing else reading.text)
            self.depth, self._belief = Depth(0, 0), capacity.Belief()
            self.inspected = self.inspected and not reading.missing
            return
        self.depth = self._belief.read(reading, now, self.facts.type == "quorum")
        self.consumption.read(self.depth.ready, now)
        self.hold = self._hold()

    def _hold(self) -> Hold:
        if self.facts.type == "stream":
            return Hold("stream_target", "a stream has no depth: it cannot be kept just full")
        if not self.inspected:
            return Hold("inspecting", "what the queue itself allows is being looked up")
        if self.transport.blocked:
            return Hold("blocked", "the broker has an alarm and accepts nothing")
        return Hold()

    def _read_staging(self, queue: str, reading: Reading, now: float, asked_at: float) -> None:
        own = self.queues.get(queue)
        if own is None:
            return
        if isinstance(reading, Depth):
            own.read(reading, now, asked_at)
            if not own.busy:
                self._busy.pop(queue, None)
        else:
            self._refused(own, reading, now)

    def _refused(self, own: StagingQueue, refused: Refused, now: float) -> None:
        queue = own.staging.queue
        if refused.missing:
            self._forget(queue)
        elif own.refuse(refused.text, now):
            self._telemetry.emit(Warned(f"{queue!r} is left alone, its depth may not be read: {refused.text}"))

    def _forget(self, queue: str) -> None:
        self.queues.pop(queue, None)
        self._busy.pop(queue, None)

    # Planning

    def _room(self) -> int:
        bounds, ready = self.facts.bounds, self.depth.ready
        in_flight = max(self.in_flight, self._in_flight_then)
        if self._switches.bypass:
            return capacity.own_room(bounds, ready, in_flight)
        return capacity.room(bounds, ready, in_flight, self._held.unacked(ready))

    def _plan(self, now: float, trying: bool = False) -> tuple[Grants, dict[str, Demand], State, bool]:
        """The grants, what they were divided by, what the policy remembers then, and whether it is the floor."""
        weighed = not self._switches.bypass
        demands = {own.staging.queue: demand for own in self._busy.values() if (demand := own.demand(now, weighed))}
        nothing: tuple[Grants, dict[str, Demand], State, bool] = ({}, demands, self._state, False)
        waits = self._switches.stopping or self.transport.blocked or now < self._retry_at
        if waits or self.hold.reason not in _PASSING:
            return nothing
        fits = self._room()
        floor = 0 if trying else self._floor(now)
        wanted = any(demand.weight for demand in demands.values())
        if not fits and wanted and not trying:
            self.hold = self._full()
        if not wanted or not max(fits, floor):
            return nothing
        room = min(self._at_once, max(fits, floor))
        grants, state = self.policy.share(list(demands.values()), room, self._state)
        grants = {queue: count for queue, count in grants.items() if demands[queue].weight}  # whatever the policy says
        return grants, demands, state, not fits

    @property
    def _at_once(self) -> int:
        return _BYPASS_AT_ONCE if self._switches.bypass else _AT_ONCE

    def _floor(self, now: float) -> int:
        """How much may go in although others keep it full."""
        bounds = self.facts.bounds
        if self._switches.bypass:
            self.floor.suspend(self.depth.ready - bounds.max_length, now)
            return 0
        floor = self.floor.allows(now, self.depth, bounds.max_length, self.consumption.per_second)
        return min(floor, capacity.own_room(bounds, self.depth.ready, self.in_flight))

    def _full(self) -> Hold:
        if self.floor.watching:
            return Hold("direct_producers", "others keep the target full")
        bounds = self.facts.bounds
        if capacity.room(replace(bounds, max_unacked=None), self.depth.ready, self.in_flight):
            return Hold("no_room", "max_unacked is reached, as far as the last listing tells")
        return Hold("no_room", "the target is full")

    def _askable(self, now: float) -> bool:
        """Whether any queue would be granted something if there were room."""
        weighed = not self._switches.bypass
        return any(
            own.depth > 0 and now >= own.retry_at and not (weighed and own.held_back) for own in self._busy.values()
        )

    # Moving

    async def _carry_out(self, grants: Grants, demands: Mapping[str, Demand]) -> None:
        own = {queue: self.queues[queue] for queue in grants}  # also if one is forgotten meanwhile
        for queue, count in grants.items():
            own[queue].granted = count
        self._in_flight_then = 0
        probes = {queue: grants.pop(queue) for queue in list(grants) if own[queue].trouble}
        for queue, count in probes.items():
            self._go_on(asyncio.create_task(self._probe(own[queue], count, demands[queue])))
        parts = self._parts(grants, demands)
        # Turns need everybody at the same time; where only some can move at once, each publishes as it comes.
        at_once = int(_TOO_SHORT_TO_SEE * (self.consumption.per_second or 0.0))
        mixes = [Mix(part if len(part) <= self.transport.mixes else {}, at_once) for part in parts]

        async def move(queue: str, count: int, part: int) -> bool:
            return await self._grant(own[queue], count, demands[queue], mixes[part])

        def give_back(queue: str, count: int) -> None:
            self._not_moved(queue, count, demands[queue])

        for task in await Carrying(parts, move, give_back).run():
            self._go_on(task)

    def _go_on(self, task: "asyncio.Task[None]") -> None:
        """Let it go on beside the rounds."""
        self._late.add(task)
        task.add_done_callback(self._late.discard)
        task.add_done_callback(lambda _: self.woken.set())  # its queue may be granted more

    async def _probe(self, own: StagingQueue, count: int, demand: Demand) -> None:
        await self._grant(own, count, demand, Mix({demand.queue: count}))

    def _parts(self, grants: Grants, demands: Mapping[str, Demand]) -> list[Grants]:
        """The plan in slices, unless the transport can mix all of it, or nothing needs to be mixed."""
        if self._switches.bypass or len(grants) <= self.transport.mixes:
            return [grants]
        groups = {queue: demands[queue].group for queue in grants}
        return slices(grants, groups, self.facts.bounds.max_length)

    async def _grant(self, own: StagingQueue, count: int, demand: Demand, mix: Mix) -> bool:
        """Carry one grant out, and enter what became of it; whether the next may follow."""
        if self._switches.stopping or self._now() < self._retry_at:
            mix.leave(demand.queue)
            self._not_moved(demand.queue, count, demand)
            return False
        try:
            outcome = await self.transport.move(own.staging, count, _GRANT_WITHIN, mix)
        except BrokerError as error:
            outcome = Outcome(own.staging.queue, count, 0, Reason.CONNECTION_LOST, str(error))
        except Exception:
            self._not_moved(demand.queue, count, demand)  # a mistake of ours: the queue must not stay granted for ever
            raise
        own.settle(outcome, self._now())
        self.given_back += outcome.given_back
        if outcome.moved:
            self._enter(own, outcome)
        if outcome.moved < count:
            self._owe(demand, count - outcome.moved)
        if outcome.reason in (Reason.COMPLETE, Reason.UNDER_FULL):
            self._failures = 0
        else:
            self._failed(own, outcome)
        return outcome.moved == count

    def _not_moved(self, queue: str, count: int, demand: Demand) -> None:
        if own := self.queues.get(queue):
            own.granted = max(0, own.granted - count)
        self._owe(demand, count)

    def _enter(self, own: StagingQueue, outcome: Outcome) -> None:
        self.moved += outcome.moved
        self._belief.put(outcome.moved)
        self.consumption.moved(outcome.moved)
        if self.facts.bounds.max_unacked is not None:
            self._held.moved(outcome.moved, self._now())
        waited = None if outcome.staged_at is None else max(0.0, self._wall() - outcome.staged_at / 1000)
        self._telemetry.emit(
            Moved(
                self.name,
                own.staging.queue,
                own.staging.tenant,
                outcome.moved,
                outcome.size,
                outcome.redelivered,
                waited,
            )
        )

    def _owe(self, demand: Demand, count: int) -> None:
        self._state = self.policy.settle(self._state, [demand], {demand.queue: count})

    def _failed(self, own: StagingQueue, outcome: Outcome) -> None:
        now, reason = self._now(), outcome.reason
        self._telemetry.emit(MoveFailed(self.name, own.staging.queue, reason.value, outcome.text))
        if reason is Reason.SOURCE_GONE:
            self._forget(own.staging.queue)
        elif reason is Reason.RETURNED:
            self.hold = Hold("target_missing", f"there is no queue {self.name!r}")
            self.inspected = False
            self._back_off(now)
        elif reason is Reason.BLOCKED:
            self.hold = Hold("blocked", outcome.text)
            self._back_off(now)
        elif reason in _ENDED_WITH_CONNECTION:
            self.hold = Hold(reason.value, outcome.text)
            self._back_off(now)

    def _back_off(self, now: float) -> None:
        """Leave the whole target alone for a moment, longer each time; one failure a round counts."""
        if now >= self._retry_at:
            pause = min(_LONGEST_BACK_OFF, _FIRST_BACK_OFF * 2.0 ** min(self._failures, 20))
            self._retry_at = now + pause
            self._failures += 1

    # What there is to see

    def status(self) -> TargetStatus:
        """As users see it."""
        now, wall = self._now(), self._wall()
        lately = sum(own.moved_lately(now) for own in self.queues.values())
        hold = {"reason": self.hold.reason, "text": self.hold.text}
        weighed = not self._switches.bypass
        staging = (own.status(now, wall, lately, hold, weighed) for _, own in sorted(self.queues.items()))
        return TargetStatus(
            target=self.name,
            depth=self.depth.ready,
            unacked=self.facts.unacked,
            consumers=self.depth.consumers,
            room=min(self._room(), self.facts.bounds.max_length),
            max_length=self.facts.bounds.max_length,
            policy=self.policy.name,
            transport=self.transport.name,
            owner=None,
            reason=self.hold.reason,
            reason_text=self.hold.text,
            consumed_per_second=self.consumption.per_second,
            moved=self.moved,
            in_flight_limit=self.transport.in_flight_limit,
            unlimited_prefetch=self.facts.unlimited_prefetch,
            warnings=_warnings(self.facts),
            staging=tuple(staging),
        )


def _warnings(facts: TargetFacts) -> tuple[str, ...]:
    greedy = "a worker has no prefetch limit and takes whatever comes: there is nothing to share"
    drops = "max-length-bytes with drop-head: the broker may throw away what is put in"
    return ((greedy,) if facts.unlimited_prefetch else ()) + ((drops,) if facts.drops_bytes else ())


_NOT_THERE = ("target_missing", "not_permitted", "stream_target")
_PASSING = (None, "no_room", "direct_producers")  # holds that a round may find gone
