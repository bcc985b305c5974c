"""What is remembered of one staging queue between rounds: its depth, what is on its way, and how its grants went.

A queue whose grants fail is left out for a while, longer each time, so that no share is reserved for it in vain and its
failures are not repeated in every round. The first success ends that.
"""

from collections.abc import Mapping
from typing import NamedTuple

from raquo.broker.depths import Depth
from raquo.distributor.capacity import Belief
from raquo.distributor.policy import NORMAL_WEIGHT, Demand
from raquo.distributor.recent import RecentCount
from raquo.distributor.snapshot import Staging
from raquo.distributor.status import QueueState, StagingStatus
from raquo.distributor.transport import Outcome, Reason

_FIRST_BACK_OFF = 0.25
_NOT_PERMITTED = 403


class Trouble(NamedTuple):
    """Why a grant failed: a code for programs, words for people, and how long it may be left alone at most."""

    code: str
    text: str
    longest: float


_NOTHING_DELIVERED = Trouble(
    "nothing_delivered", "the broker delivers nothing from it: another consumer holds it", 5.0
)


class Weights(NamedTuple):
    """In thousandths: of the tenant between tenants, of the queue within its tenant."""

    tenant: int = NORMAL_WEIGHT
    queue: int = NORMAL_WEIGHT


class StagingQueue:
    """One staging queue of a target."""

    def __init__(self, staging: Staging, weights: Weights, by_queue: bool) -> None:
        self.staging = staging
        self.weights = weights
        self.depth = 0
        self.read_at = float("-inf")
        self.granted = 0  # on its way now
        self.moved = 0
        self.trouble: Trouble | None = None
        self.retry_at = float("-inf")
        self.rung_at = float("-inf")
        self.by_queue = by_queue
        self._belief = Belief()
        self._failures = 0
        self.unreadable = False  # the broker did not tell its depth, the last time
        self._fruitless = 0  # grants in a row that found nothing
        self._recent: RecentCount | None = None  # most staging queues are idle
        self._idle_status: tuple[Weights, bool, StagingStatus] | None = None
        self._head_staged_at: float | None = None  # of the last message seen at the head; clock of the wall
        self._waiting_since: float | None = None

    @property
    def group(self) -> str:
        """Who shares with the others: the tenant, or the queue itself."""
        return self.staging.queue if self.by_queue else self.staging.tenant_key

    @property
    def held_back(self) -> bool:
        """Whether a weight of 0 keeps everything here."""
        return not (self.weights.tenant and self.weights.queue)

    @property
    def busy(self) -> bool:
        """Whether it is worth a look in every round."""
        return self.depth > 0 or self.granted > 0 or self._belief.doubtful

    def demand(self, now: float, weighed: bool = True) -> Demand | None:
        """What it asks for now; None while it is empty. Not weighed, all weigh the same.

        While it is on its way or left out its weight is 0: it gets nothing, and what it is owed is not forgotten.
        """
        if self.depth <= 0:
            return None
        tenant, queue = self.weights if weighed else Weights()
        if self.by_queue:
            tenant, queue = queue, NORMAL_WEIGHT
        if self.granted or now < self.retry_at or not tenant:
            queue = 0
        asks = 1 if self.trouble else self.depth  # one is enough to see whether it works again
        return Demand(self.staging.queue, self.group, asks, queue, tenant, self.staging.urgent)

    def read(self, reading: Depth, now: float, asked_at: float) -> bool:
        """Its depth was read; who rang after the question knows better than an answer of 0. Whether it is busy now."""
        if self.unreadable:
            self.unreadable = False
            self._recover()
        self.depth = self._belief.read(reading, now, self.staging.type == "quorum").ready
        if not self.depth and self.rung_at > asked_at:
            self.depth = 1
        self.read_at = now
        if not self.depth:
            self._waiting_since = self._head_staged_at = None
        elif self._waiting_since is None:
            self._waiting_since = now
        return self.busy

    def rung(self, now: float) -> None:
        """Somebody says that it has a message."""
        self.rung_at = now
        if not self.depth:
            self.depth, self._waiting_since = 1, now

    def settle(self, outcome: Outcome, now: float) -> None:
        """A grant ended; what it moved is not here any more."""
        self.granted = max(0, self.granted - outcome.asked)
        self.depth = max(0, self.depth - outcome.moved)
        self._belief.took(outcome.moved)
        if outcome.staged_at is not None:
            self._head_staged_at = outcome.staged_at / 1000
        if not self.depth:
            self._waiting_since = self._head_staged_at = None
        if outcome.moved:
            self.moved += outcome.moved
            self._idle_status = None
            self._failures = 0
            self._recent = self._recent or RecentCount()
            self._recent.add(outcome.moved, now)
        if outcome.moved < outcome.asked and outcome.reason is Reason.UNDER_FULL:
            self.read_at = float("-inf")
        trouble = self._trouble_of(outcome)
        if trouble:
            self.fail(trouble, now)
        else:
            self._recover()

    def fail(self, trouble: Trouble, now: float) -> None:
        """Leave it out for a while, longer each time."""
        self.trouble = trouble
        self.retry_at = now + min(trouble.longest, _FIRST_BACK_OFF * 2.0 ** min(self._failures, 20))
        self._failures += 1

    def refuse(self, text: str, now: float) -> bool:
        """The broker does not tell how deep it is; whether that is news."""
        news, self.unreadable = not self.unreadable, True
        self.fail(Trouble("not_permitted", text, 60.0), now)
        return news

    def _recover(self) -> None:
        self._failures, self.trouble, self.retry_at = 0, None, float("-inf")

    def _trouble_of(self, outcome: Outcome) -> Trouble | None:
        """A grant that finds nothing may have come too late, after somebody emptied the queue: the second one tells."""
        nothing = outcome.reason is Reason.UNDER_FULL and not outcome.moved
        self._fruitless = self._fruitless + 1 if nothing else 0
        return _NOTHING_DELIVERED if self._fruitless > 1 else trouble_of(outcome)

    def moved_lately(self, now: float) -> int:
        """How many in the last minute."""
        return self._recent.total(now) if self._recent else 0

    def status(
        self, now: float, wall: float, moved_lately: int, hold: Mapping[str, str | None], weighed: bool = True
    ) -> StagingStatus:
        """As users see it; `hold` is why the target takes nothing, if it does not."""
        idle = not (self.depth or self.granted or self.trouble or self._recent)
        if idle and self._idle_status and self._idle_status[:2] == (self.weights, self.by_queue):
            return self._idle_status[2]  # there may be thousands
        seen = self._status(now, wall, moved_lately, self._state(now, hold, weighed))
        self._idle_status = (self.weights, self.by_queue, seen) if idle else None
        return seen

    def _status(
        self, now: float, wall: float, moved_lately: int, state_and_why: tuple[QueueState, str | None, str | None]
    ) -> StagingStatus:
        lately = self.moved_lately(now)
        state, reason, text = state_and_why
        weight = self.weights.queue if self.by_queue else self.weights.tenant * self.weights.queue / NORMAL_WEIGHT
        return StagingStatus(
            queue=self.staging.queue,
            tenant=self.staging.tenant,
            depth=self.depth,
            weight=weight / NORMAL_WEIGHT,
            moved=self.moved,
            moved_1m=lately,
            share_1m=lately / moved_lately if moved_lately else 0.0,
            oldest_age_seconds=self._oldest(now, wall),
            state=state,
            reason=reason,
            reason_text=text,
        )

    def _state(
        self, now: float, hold: Mapping[str, str | None], weighed: bool
    ) -> tuple[QueueState, str | None, str | None]:
        if self.unreadable and self.trouble:
            return QueueState.HELD, self.trouble.code, self.trouble.text
        if not self.depth and not self.granted:
            return QueueState.EMPTY, None, None
        if weighed and self.held_back:
            return QueueState.HELD, "weight_zero", "its weight is 0"
        reason = hold.get("reason")
        held = reason is not None and reason not in ("no_room", "direct_producers")
        of_its_own = self.granted or not held  # what keeps everything out of the target explains more
        if of_its_own and self.trouble and (now < self.retry_at or not self.granted):
            return QueueState.HELD, self.trouble.code, self.trouble.text
        if self.granted:
            return QueueState.MOVING, None, None
        return (QueueState.HELD if held else QueueState.WAITING), reason, hold.get("text")

    def _oldest(self, now: float, wall: float) -> float | None:
        """No message here is older than the last head that was seen; without one, we know since when some wait."""
        if not self.depth:
            return None
        if self._head_staged_at is not None:
            return max(0.0, wall - self._head_staged_at)
        return now - self._waiting_since if self._waiting_since is not None else None


def trouble_of(outcome: Outcome) -> Trouble | None:
    """What an outcome says against its queue; what concerns the whole target or connection is not here."""
    reason, text = outcome.reason, outcome.text
    if reason is Reason.UNMOVABLE:
        return Trouble("unmovable", f"the first message cannot be published: {text}", 60.0)
    if reason is Reason.REFUSED:
        return Trouble("refused", "the target refuses more messages", 5.0)
    if outcome.code == _NOT_PERMITTED:
        return Trouble("not_permitted", text, 60.0)
    if reason is Reason.CHANNEL_CLOSED:
        return Trouble("channel_closed", text, 60.0)
    return None
