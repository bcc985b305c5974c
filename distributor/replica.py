"""One running distributor: its targets, and the loops that keep them just full.

| loop | does |
| --- | --- |
| discovery | lists the queues, finds new staging queues |
| bell | hears from publishers which quiet queue has a message now |
| newcomers | finds out what queues are that somebody rang for and nobody knows |
| rotation | reads the depths of idle staging queues, so that no message waits for a bell that was lost |
| inspection | looks at targets: own limits, prefetch, consumption |
| glance | reads the depth of targets that have no rounds, because nothing is staged for them |
| missing | declares targets that are missing, where the configuration says so |
| reaper | deletes staging queues that were empty for long, where the configuration says so |
| rounds | one loop for each target |

Every loop goes on for ever: what goes wrong in one is told, and tried again later. They share one asyncio loop and no
locks.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from raquo.broker.depths import Depth, DepthReader, Reading
from raquo.broker.errors import BrokerError
from raquo.broker.keeper import Keeper
from raquo.broker.management import ManagementClient
from raquo.broker.wake import WakeListener
from raquo.distributor.capacity import Bounds
from raquo.distributor.config import Config
from raquo.distributor.discovery import Discovery
from raquo.distributor.ending import end
from raquo.distributor.freshness import Freshness
from raquo.distributor.inspection import Inspected, Inspector
from raquo.distributor.newcomers import Newcomers
from raquo.distributor.policies import policy_named
from raquo.distributor.reaper import Reaper
from raquo.distributor.round import Switches, Target, TargetFacts
from raquo.distributor.rules import weights_of
from raquo.distributor.snapshot import Snapshot, Staging
from raquo.distributor.staging_queue import Weights
from raquo.distributor.status import PlannedTarget, Status
from raquo.distributor.telemetry import EACH_TIME, WHILE_IT_LASTS, Telemetry, Warned
from raquo.distributor.transport import MakeTransport
from raquo.mutators.globs import matcher
from raquo.mutators.names import StagingName

_log = logging.getLogger(__name__)

_INSPECT_EVERY = 60.0
_WATCH_EVERY = 1.0
_GLANCE_EVERY = 2.0
_REST_AFTER = 60.0
_LONGEST_BACK_OFF = 30.0
_ALIVE_WITHIN = 10.0
_WELL_AFTER = 10.0  # a loop that failed, and now runs for so long, is well: longer than connecting may take
_SOONEST = 0.002  # between rounds, however often somebody rings


class Replica:
    """Serves every target of one virtual host that it is told to."""

    def __init__(
        self,
        config: Config,
        transport: MakeTransport,
        telemetry: Telemetry,
        switches: Switches,
        only: tuple[str, ...] = (),
    ) -> None:
        """`only` are the targets to serve, by name; none: those that the configuration says."""
        self.targets: dict[str, Target] = {}
        self.telemetry = telemetry
        self.switches = switches
        self._config = config
        self._only = only
        self._make_transport = transport
        self._clock = time.monotonic
        urls = config.broker.urls()
        self.vhost = urls[0].vhost
        self.broker = address_of(config)
        self._reader = DepthReader(urls)
        self._freshness = Freshness(self._reader, self._clock)
        every = config.distributor.discover_every
        self.discovery = Discovery(self._management(), self._serves(), every, telemetry, self._clock)
        self._inspector = Inspector(self._management())
        self._inspected: dict[str, Inspected] = {}
        self._bell = WakeListener(urls, self._on_ring)
        self._newcomers = Newcomers(self._look_up, self.discovery.soon, self._clock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._turned_at = self._clock()
        self._trouble: dict[str, str] = {}  # by loop
        self._beginning: set[str] = set()  # targets that are being looked at before they are served

    # Life

    def start(self) -> None:
        """Begin; nothing here needs the broker to be up yet."""
        self._keep("discovery", lambda: self.discovery.run(self._on_snapshot))
        self._keep("bell", self._bell.listen)
        self._keep("newcomers", self._newcomers.run)
        self._keep("rotation", lambda: self._freshness.rotate(self._idle, self._on_readings))
        self._keep("inspection", self._inspect_all)
        self._keep("watch", self._watch)
        self._keep("glance", self._glance)
        self._keep("missing", self._declare_missing)
        self._keep("reaper", Reaper(lambda: self._config, self.targets, self.discovery, self.switches).run)
        self._keep("pulse", self._pulse)

    async def look(self) -> None:
        """Look once, without serving anything; raises `BrokerError` where the broker does not answer."""
        if not await self.discovery.look():
            raise BrokerError(self.discovery.problem)
        by_target = self.discovery.snapshot.by_target()
        await self._inspect(by_target.keys())
        for name, staging in sorted(by_target.items()):
            target = self.targets[name] = self._target(name)
            target.know(staging.values(), self._weights(name))
            await target.read_all(self._reader)

    async def nothing_staged(self) -> bool:
        """Whether every staging queue that the broker lists is empty, by listing and by a fresh look at each."""
        if not await self.discovery.look():
            return False
        readings = await self._reader.read(self.discovery.snapshot.staging)
        listed = any(one.depth for one in self.discovery.snapshot.staging.values())
        return not listed and not any(isinstance(one, Depth) and one.ready for one in readings.values())

    async def stop(self, drain: float) -> int:
        """Grant no more and settle what is on its way; how many messages were given back instead."""
        self.switches.stopping = True
        targets = list(self.targets.values())
        given_back_before = [(target, target.given_back) for target in targets]
        await asyncio.gather(*(target.finish(drain) for target in targets))
        given_back = sum(target.in_flight + target.given_back - before for target, before in given_back_before)
        await end({*self._tasks, *self._serving.values()})
        await self._reader.close()
        self.discovery.close()
        self._inspector.close()
        return given_back

    def reload(self, config: Config) -> None:
        """Go on with this configuration; the broker's address stays as it was at the start."""
        if config.broker != self._config.broker:
            self.telemetry.emit(Warned("[broker] has changed: start the daemon again to use it", EACH_TIME))
        self._config = config.model_copy(update={"broker": self._config.broker})
        self.discovery.serves = self._serves()
        self.discovery.every = config.distributor.discover_every
        for name, target in self.targets.items():
            settings = config.for_target(name)
            before, target.facts = target.facts, self._facts(name)
            if target.facts.bounds.max_length < before.bounds.max_length:
                target.floor.suspend(target.depth.ready - target.facts.bounds.max_length, self._clock())
            target.policy = policy_named(settings.policy)
            target.floor.share = settings.floor_share
            target.weigh(self._weights(name))
        self.discovery.soon()

    def wake_all(self) -> None:
        """Look at every target at once: something has changed for all of them."""
        for target in self.targets.values():
            target.woken.set()

    # What there is to see

    def status(self, only: str | None = None) -> Status:
        """Everything, now, or one target."""
        shown = [(name, target) for name, target in sorted(self.targets.items()) if only in (None, name)]
        targets = tuple(target.status() for _, target in shown)
        switches = self.switches
        return Status(
            source="daemon" if self._tasks else "broker",
            vhost=self.vhost,
            targets=targets,
            bypass=switches.bypass,
            dry_run=switches.dry_run,
            problems=tuple(self.problems()),
            broker=self.broker,
        )

    def plan(self, only: str | None = None) -> list[PlannedTarget]:
        """What the next rounds would move."""
        return [target.plan() for name, target in sorted(self.targets.items()) if only in (None, name)]

    def alive(self) -> bool:
        """Whether the loop turned lately."""
        return self._clock() - self._turned_at < _ALIVE_WITHIN

    def problems(self) -> list[str]:
        """Why it is not ready; nothing: it is."""
        found = [text for text in (self.discovery.problem, self.discovery.staleness(), self._reader.problem) if text]
        return found + [text for loop, text in sorted(self._trouble.items()) if loop != "bell"]

    # Loops

    def _keep(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.create_task(self._forever(name, loop), name=f"raquo {name}")
        self._tasks.add(task)

    async def _forever(self, name: str, loop: Callable[[], Awaitable[None]]) -> None:
        failures = 0
        while True:
            started = self._clock()
            well = asyncio.get_running_loop().call_later(_WELL_AFTER, self._trouble.pop, name, None)
            try:
                await loop()
            except BrokerError as error:
                self._trouble[name] = str(error)
                self.telemetry.emit(Warned(f"{name}: {error}", WHILE_IT_LASTS))
            except Exception as error:  # a mistake of ours ends one pass, not the daemon
                self._trouble[name] = f"{name}: {error!r}"
                _log.exception("%s failed, and is tried again", name)
            finally:
                well.cancel()
            failures = 0 if self._clock() - started > _LONGEST_BACK_OFF else failures + 1
            await asyncio.sleep(min(_LONGEST_BACK_OFF, 0.2 * 2.0 ** min(failures, 20)))

    async def _pulse(self) -> None:
        while True:
            self._turned_at = self._clock()
            await asyncio.sleep(_WATCH_EVERY)

    async def _serve(self, target: Target) -> None:
        """The rounds of one target."""
        while not self.switches.stopping:
            if not target.waiting:
                target.woken.clear()  # whoever rings makes it wait for something first
                await self._until_woken(target)
                continue
            await self._round(target)
            await asyncio.sleep(_SOONEST)
            pause = target.pause(self._config.distributor.round_every)
            if target.may_be_woken:
                await _within(pause, target.woken)
            else:
                await asyncio.sleep(pause)

    async def _until_woken(self, target: Target) -> None:
        """Nothing waits; after a while not even a connection is held."""
        if not await _within(_REST_AFTER, target.woken):
            await target.transport.rest()
            await target.woken.wait()

    async def _round(self, target: Target) -> None:
        try:
            await target.round()
            if target.hold.reason == "inspecting":
                await self._inspect({target.name})
            self._trouble.pop(f"depths of {target.name}", None)
        except BrokerError as error:
            self._trouble[f"depths of {target.name}"] = str(error)
            self.telemetry.emit(Warned(f"the depths of {target.name!r} cannot be read: {error}", WHILE_IT_LASTS))
            await asyncio.sleep(0.5)

    async def _inspect_all(self) -> None:
        while True:
            await asyncio.sleep(_INSPECT_EVERY)
            await self._inspect(set(self.targets))

    async def _watch(self) -> None:
        """Where others keep a target full, what is staged gets a part of what is consumed: how much is that?"""
        while True:
            await asyncio.sleep(_WATCH_EVERY)
            for name in [name for name, target in self.targets.items() if target.floor.needs_consumption]:
                details = await self._inspector.queue(name)
                target = self.targets.get(name)  # it may be gone meanwhile
                if target and details is not None and details.consumed_per_second is not None:
                    target.consumption.told(details.consumed_per_second, self._clock())

    async def _glance(self) -> None:
        while True:
            await asyncio.sleep(_GLANCE_EVERY)
            idle = {name: target for name, target in self.targets.items() if not target.waiting}
            await self._reader.check()  # also where there is nothing to read: is the broker there?
            for name, reading in (await self._reader.read(idle)).items():
                idle[name].glance(reading)

    async def _declare_missing(self) -> None:
        """A target that is to be declared is durable, and of the type of its staging queues."""
        tries: dict[str, tuple[int, float]] = {}  # how often in vain, and when again
        while True:
            await asyncio.sleep(_WATCH_EVERY)
            for name, target in list(self.targets.items()):
                failures, again = tries.get(name, (0, 0.0))
                wanted = self._config.for_target(name).declare_missing and not self.switches.dry_run
                if target.hold.reason != "target_missing" or not wanted:
                    tries.pop(name, None)
                elif self._clock() >= again and not await self._declare(target):
                    pause = min(_LONGEST_BACK_OFF, 2.0 ** min(failures, 20))
                    tries[name] = failures + 1, self._clock() + pause

    async def _declare(self, target: Target) -> bool:
        try:
            async with Keeper(self._config.broker.urls()) as keeper:
                await keeper.declare(target.name, {"x-queue-type": target.staging_type})
        except BrokerError as error:  # the others may be declared all the same
            self.telemetry.emit(Warned(f"{target.name!r} is missing and cannot be declared: {error}", WHILE_IT_LASTS))
            return False
        self.telemetry.emit(Warned(f"there was no queue {target.name!r}: it was declared", EACH_TIME))
        target.woken.set()
        return True

    # Discovery

    def _on_snapshot(self, snapshot: Snapshot) -> None:
        by_target = snapshot.by_target()
        for name, target in list(self.targets.items()):
            target.know(by_target.get(name, {}).values(), self._weights(name))
            target.listed(self._facts(name), self.discovery.asked_at)
            if not target.queues:
                self._retire(target)
        if new := by_target.keys() - self.targets.keys() - self._beginning:
            self._later(self._begin(new))

    async def _begin(self, names: AbstractSet[str]) -> None:
        """Serve new targets: look at them first, because their own limits must be known before anything moves."""
        self._beginning |= names
        try:
            await self._inspect(names)
        finally:
            self._beginning -= names
        by_target = self.discovery.snapshot.by_target()
        for name in sorted(names & self._inspected.keys() - self.targets.keys()):
            self.targets[name] = self._target(name)
            self.targets[name].know(by_target.get(name, {}).values(), self._weights(name))
        self.begin_serving()

    def begin_serving(self) -> None:
        """Begin the rounds of targets that have none yet."""
        for name in self.targets.keys() - self._serving.keys():
            loop = partial(self._serve, self.targets[name])
            rounds = self._forever(f"rounds of {name}", loop)
            self._serving[name] = asyncio.create_task(rounds, name=f"raquo rounds of {name}")

    def _retire(self, target: Target) -> None:
        """Its last staging queue is gone."""
        del self.targets[target.name]
        self._inspected.pop(target.name, None)
        for loop in (f"rounds of {target.name}", f"depths of {target.name}"):
            self._trouble.pop(loop, None)
        self._serving.pop(target.name).cancel()
        self._later(target.finish(0.0))

    def _target(self, name: str) -> Target:
        settings = self._config.for_target(name)
        target = Target(
            name,
            self._facts(name),
            policy_named(settings.policy),
            self._make_transport(name),
            self._freshness,
            self.telemetry,
            self.switches,
            (self._clock, time.time),
        )
        target.inspected = self._inspected.get(name, Inspected(None)).queue is not None
        return target

    async def _inspect(self, names: AbstractSet[str]) -> None:
        try:
            self._inspected |= await self._inspector.targets(names)
        except BrokerError as error:
            self.telemetry.emit(Warned(f"targets are served by what is known of them: {error}", WHILE_IT_LASTS))
        else:
            for name in names & self.targets.keys():
                self.targets[name].inspected = self._inspected[name].queue is not None
        for name in names & self.targets.keys():
            self.targets[name].facts = self._facts(name)
        for text in self._inspector.oddities:
            self.telemetry.emit(Warned(text))

    def _facts(self, name: str) -> TargetFacts:
        """What is configured, what the listing says, and what a closer look found."""
        settings = self._config.for_target(name)
        listed = self.discovery.snapshot.targets.get(name)
        inspected = self._inspected.get(name, Inspected(None))
        details = listed or inspected.queue  # it may have been made anew since it was looked at
        own_limits = [one.max_length for one in (listed, inspected) if one is not None and one.max_length is not None]
        return TargetFacts(
            bounds=Bounds(
                max_length=settings.max_length,
                min_room=settings.min_room,
                max_unacked=settings.max_unacked,
                own_max_length=min(own_limits, default=None),
            ),
            type=details.type if details else "classic",
            floor_share=settings.floor_share,
            by_queue=settings.fair_by == "queue",
            unlimited_prefetch=inspected.unlimited_prefetch,
            drops_bytes=inspected.drops_bytes,
            unacked=listed.unacked if listed else None,
            total=listed.messages if listed else None,
        )

    def _weights(self, target: str) -> Callable[[Staging], Weights]:
        rules, fair_by = self._config.weight, self._config.for_target(target).fair_by
        return lambda staging: Weights(*weights_of(rules, staging.name, staging.queue, fair_by))

    def _serves(self) -> Callable[[str], bool]:
        chosen = matcher(self._config.distributor.serve)
        excluded = matcher(self._config.distributor.serve_not)
        only = frozenset(self._only)
        return lambda target: target in only if only else chosen(target) and not excluded(target)

    # Bells and rotation

    def _idle(self) -> Iterator[tuple[str, list[str]]]:
        for name, target in list(self.targets.items()):
            yield name, target.idle_queues()

    def _on_readings(self, target: str, readings: dict[str, Reading]) -> None:
        if target in self.targets:
            self.targets[target].read_idle(readings)

    def _on_ring(self, queue: str) -> None:
        """A bell is a hint from anybody: it is checked before it costs anything."""
        name = StagingName.parse(queue)
        if name is None or not self.discovery.serves(name.target):
            return
        target = self.targets.get(name.target)
        if target is not None and target.ring(queue):
            return
        self._newcomers.hear(queue)

    async def _look_up(self, queue: str) -> None:
        info = await self._inspector.queue(queue)
        staging = self.discovery.learn(info) if info else None
        if staging is None:
            return
        name = staging.name.target
        if name not in self.targets:
            await self._begin({name})
        if target := self.targets.get(name):
            target.learn(staging, self._weights(name))
            target.ring(queue)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it beside everything else; where the broker does not answer, the next discovery does it again."""

        async def tried() -> None:
            try:
                await work
            except BrokerError as error:
                self.telemetry.emit(Warned(str(error), WHILE_IT_LASTS))

        task = asyncio.create_task(tried())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _management(self) -> ManagementClient:
        broker = self._config.broker
        return ManagementClient.for_broker(broker.urls(), broker.management_url)


def address_of(config: Config) -> str:
    """Which broker a configuration is about: hosts and virtual host, no user and no password."""
    urls = config.broker.urls()
    return ",".join(f"{url.host}:{url.port}" for url in urls) + f"/{urls[0].vhost}"


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the event came in so many seconds."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
