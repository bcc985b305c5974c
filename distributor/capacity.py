"""How much a target may receive now: room, what is believed of its depth, how fast it is consumed, and the floor. Pure.

**Room** counts ready messages only, as RabbitMQ's own `max-length` does. Unacked ones are work in hand; counting them
would starve every fleet whose tasks outlast the buffer. What was granted and is not confirmed yet is subtracted.

**The floor.** Others may publish to the target directly and keep it full, and then room would be 0 for ever. While
the target has consumers and has held more than `max_length` for five seconds (we never put in more, so others did),
what is staged gets a share of the measured consumption all the same, at least a message a second.

**Belief.** A quorum queue whose leader does not answer in time is reported as empty and without consumers. Such a zero
is believed when a second reading 300 ms later says the same; until then the last value stands. A zero with consumers
is a real one.

**Unacked** messages are told by listings only, which are old: a tenth of a second for classic queues, up to five for
quorum queues. Who caps them (`max_unacked`) must not put in twice what a listing does not show yet, so everything that
was moved since the moment the listing speaks of is taken to be there still.
"""

from collections import deque
from dataclasses import dataclass

from raquo.broker.depths import Depth

FULL_FOR = 5.0
_SECOND_LOOK = 0.3
_SMOOTHING = 1.0  # seconds: a change in consumption is believed in about this time
_TOLD_FOR = 10.0
_AT_LEAST = 1.0  # messages a second
_BURST = 1.0  # seconds: how much of the floor may gather between rounds
_GRAIN = 0.1  # seconds: what was moved is remembered so finely
_LAG = {"classic": 0.2, "quorum": 5.0}  # seconds: how old the figures of a listing may be


@dataclass(frozen=True, slots=True)
class Bounds:
    """What limits a target; None: nothing does."""

    max_length: int
    min_room: int = 1
    max_unacked: int | None = None  # ready and unacked together
    own_max_length: int | None = None  # the queue's own argument or policy: beyond it the broker throws away


def room(bounds: Bounds, ready: int, in_flight: int, unacked: int | None = None) -> int:
    """How many messages fit now; 0 where fewer than `min_room` do."""
    limits = [bounds.max_length - ready - in_flight, own_room(bounds, ready, in_flight)]
    if bounds.max_unacked is not None:
        limits.append(bounds.max_unacked - ready - (unacked or 0) - in_flight)
    fits = min(limits)
    needed = min(n for n in (bounds.min_room, bounds.own_max_length, bounds.max_unacked) if n is not None)
    return fits if fits >= max(1, needed) else 0


def own_room(bounds: Bounds, ready: int, in_flight: int) -> int:
    """How many fit before the broker itself refuses or throws away, whatever we would allow."""
    if bounds.own_max_length is None:
        return 1 << 62
    return max(0, bounds.own_max_length - ready - in_flight)


class Belief:
    """The depth of one queue as far as readings are to be believed."""

    def __init__(self) -> None:
        self.depth = Depth(0, 0)
        self._doubted_since: float | None = None

    def read(self, reading: Depth, now: float, quorum: bool) -> Depth:
        """Take a reading, and say what is believed now."""
        doubtful = quorum and reading == Depth(0, 0) and self.depth != Depth(0, 0)
        if not doubtful:
            self._doubted_since = None
            self.depth = reading
        elif self._doubted_since is None:
            self._doubted_since = now
        elif now - self._doubted_since >= _SECOND_LOOK:
            self._doubted_since = None
            self.depth = reading
        return self.depth

    def put(self, count: int) -> None:
        """So many were put in: an empty queue would be a surprise now."""
        self.depth = Depth(self.depth.ready + count, self.depth.consumers)

    def took(self, count: int) -> None:
        """So many were taken out: an empty queue is what comes next, and no surprise."""
        self.depth = Depth(max(0, self.depth.ready - count), self.depth.consumers)

    @property
    def doubtful(self) -> bool:
        """Whether a second look is due."""
        return self._doubted_since is not None


class Held:
    """How many messages of a target are unacked, by the last listing and by what was moved since."""

    def __init__(self) -> None:
        self._total: int | None = None
        self._moved: deque[tuple[float, int]] = deque()  # until when, and how many
        self._since = 0  # how many these are

    def listed(self, total: int | None, now: float, queue_type: str) -> None:
        """A listing says so: ready and unacked together."""
        self._total = total
        since = now - _LAG.get(queue_type, 0.0)
        while self._moved and self._moved[0][0] < since:
            self._since -= self._moved.popleft()[1]

    def moved(self, count: int, now: float) -> None:
        """So many were put in."""
        self._since += count
        if self._moved and now < self._moved[-1][0]:
            until, before = self._moved.pop()
            self._moved.append((until, before + count))
        else:
            self._moved.append((now + _GRAIN, count))

    def unacked(self, ready: int) -> int:
        """How many it can be at the most, if others put nothing in."""
        return max(0, (self._total or 0) + self._since - ready)


class Consumption:
    """How many messages a second leave a target: counted from its depth and from what we put in.

    What others put in is not seen there, so this is the least it can be; `told` is a better figure where there is one.
    """

    def __init__(self) -> None:
        self.per_second: float | None = None
        self._ready: int | None = None
        self._at = 0.0
        self._moved = 0
        self._told_until = float("-inf")

    def moved(self, count: int) -> None:
        """So many were put in since the last reading."""
        self._moved += count

    def read(self, ready: int, now: float) -> None:
        """The target holds so many now."""
        elapsed = now - self._at
        if self._ready is not None and elapsed > 0 and now > self._told_until:
            self._believe(max(0, self._ready + self._moved - ready) / elapsed, elapsed)
        if self._ready is None or elapsed > 0:
            self._ready, self._at, self._moved = ready, now, 0

    def told(self, per_second: float, now: float) -> None:
        """The broker's own count says so; it is believed for a while."""
        self.per_second = per_second
        self._told_until = now + _TOLD_FOR

    def _believe(self, rate: float, elapsed: float) -> None:
        if self.per_second is None:
            self.per_second = rate
            return
        weight = min(1.0, elapsed / _SMOOTHING)
        self.per_second += weight * (rate - self.per_second)


class Floor:
    """How much may go into a target that others keep full."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._full_since: float | None = None
        self._credit = 0.0
        self._at = 0.0
        self._ours = 0.0

    def suspend(self, excess: int, now: float) -> None:
        """So many messages too many are in the target by our own doing: until they are consumed nobody is to blame."""
        self._ours, self._at = max(0.0, float(excess)), now

    @property
    def suspended(self) -> bool:
        """Whether what is too much there may be ours."""
        return self._ours > 0

    @property
    def watching(self) -> bool:
        """Whether others have filled the target above its length."""
        return self._full_since is not None

    @property
    def needs_consumption(self) -> bool:
        """Whether the target is over-full, by whomever, and the broker's own count of what leaves it worth having."""
        return self.watching or self.suspended

    def allows(self, now: float, depth: Depth, max_length: int, per_second: float | None) -> int:
        """How many messages may go in now, though there is no room."""
        room = depth.ready < max_length if self.watching else depth.ready <= max_length
        consumed = (now - self._at) * max(_AT_LEAST, per_second or 0.0)
        self._ours = 0.0 if room else max(0.0, self._ours - consumed)
        if not depth.consumers or room or self.suspended or not self.share:
            self._full_since, self._credit, self._at = None, 0.0, now
            return 0
        if self._full_since is None:
            self._full_since = now
        if now - self._full_since < FULL_FOR:
            self._at = now
            return 0
        rate = max(_AT_LEAST, self.share * (per_second or 0.0))
        self._credit = min(self._credit + (now - self._at) * rate, max(1.0, rate * _BURST))
        self._at = now
        return int(self._credit)

    def spend(self, count: int) -> None:
        """So many were granted of what was allowed."""
        self._credit -= count


def pause_between_rounds(max_length: int, per_second: float | None, consumers: int) -> float:
    """How long until a tenth of a full target is consumed: 20 ms to a second.

    Workers that ask for single messages (`basic.get`) are no consumers; they show by what they take.
    """
    if per_second is None:
        return 0.1 if consumers else 1.0
    if not per_second:
        return 0.5 if consumers else 1.0
    return min(1.0, max(0.02, 0.1 * max_length / per_second))
