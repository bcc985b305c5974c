"""Publishes the messages of several sources in turns, so that a target stays mixed.

A queue hands its messages over as one block. Published as they come, the parts of fifty tenants would stand in the
target as fifty blocks, and for a while workers would see some tenants only. Small grants, one after the other, would
keep it mixed too, but each costs a trip to the broker and the wait for its confirms. So the grants of a plan begin
together, what they deliver is held, and it is published in the order of the plan: each source's messages at even
distances over the whole of it.

Order on the wire is not enough: in the broker every channel is a process, which handles what has gathered for it in
one go. So a tenth of the plan is published at a time, and the next when no more than a tenth is unconfirmed: wherever
in the target one looks, everybody's messages are at most a tenth of the plan away from their place.

The order must not make one source wait for another that hangs. Whoever watches the clock calls `hurry` when nothing
has moved for a moment: sources that hold nothing then leave the mix, and publish what they get as it comes.

Protocol only: no socket, no clock. What is held is not acknowledged, so nothing can be lost here.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heapreplace
from typing import Protocol

_WHOLE = 1 << 40
_PARTS = 10
_LEAST_AT_ONCE = 20


class Holder(Protocol):
    """A channel that holds messages back until it is their turn."""

    @property
    def holds(self) -> int:
        """How many messages it holds."""

    @property
    def unconfirmed(self) -> int:
        """How many of those it published the broker has not confirmed yet."""

    def publish_next(self) -> None:
        """Publish the first of them."""

    def enter_published(self) -> None:
        """Do the book-keeping for what was published: once for many is cheaper."""


class Mix:
    """The order in which messages of these sources are published, so many of each."""

    def __init__(self, counts: Mapping[str, int], at_once: int = 0) -> None:
        """Parts are a tenth of the plan, or `at_once` messages where that is more."""
        self._steps = 0
        self._counts = counts
        self._at_once = max(len(counts), sum(counts.values()) // _PARTS, _LEAST_AT_ONCE, at_once)
        self._turns = [(_place(0, count), source, 0) for source, count in counts.items()]  # a heap: who comes next
        heapify(self._turns)
        self._members = set(counts)
        self._holders: dict[str, Holder] = {}

    @property
    def over(self) -> bool:
        """Whether nobody waits for his turn any more."""
        return not self._turns or len(self._members) < 2

    def progress(self) -> tuple[int, int, int]:
        """The same at two moments: nothing has come, and nothing was published or confirmed."""
        return self._steps, sum(holder.holds for holder in self._holders.values()), self._unconfirmed()

    def _unconfirmed(self) -> int:
        return sum(holder.unconfirmed for holder in self._holders.values())

    @property
    def attended(self) -> bool:
        """Whether any channel has messages of these sources now."""
        return bool(self._holders)

    def mixes(self, source: str) -> bool:
        """Whether messages of this source wait for their turn."""
        return source in self._members and not self.over

    def attach(self, source: str, holder: Holder) -> None:
        """This channel has the messages of a source now."""
        self._holders[source] = holder

    def detach(self, source: str) -> None:
        """This channel is done; another may have the rest of the source's messages."""
        self._holders.pop(source, None)

    def leave(self, source: str) -> None:
        """This source takes no more turns; what it holds is published now."""
        self._members.discard(source)
        holder = self._holders.pop(source, None)
        if holder is not None:
            while holder.holds:
                holder.publish_next()
            holder.enter_published()

    def release(self) -> None:
        """Publish those whose turn it is, a tenth of the plan at the most."""
        published = self._publish_in_turn()
        for holder in published:
            holder.enter_published()
        if self.over:
            for source in list(self._members):
                self.leave(source)

    def _publish_in_turn(self) -> set[Holder]:
        """Until somebody's turn is up who has nothing, or it is enough for now; who published."""
        turns, counts, holders, published = self._turns, self._counts, self._holders, set[Holder]()
        end = self._steps + (self._at_once if self._unconfirmed() <= self._at_once else 0)
        while self._steps < end and not self.over:
            _, source, number = turns[0]
            if source not in self._members:
                heappop(turns)
                continue
            holder = holders.get(source)
            if holder is None or not holder.holds:
                break
            holder.publish_next()
            published.add(holder)
            self._steps += 1
            number += 1
            if number < counts[source]:
                heapreplace(turns, (_place(number, counts[source]), source, number))
            else:
                heappop(turns)
        return published

    def hurry(self) -> None:
        """Wait no longer for sources that have nothing to publish, if others have."""
        waiting = {source for source, holder in self._holders.items() if holder.holds}
        if waiting and self._unconfirmed() <= self._at_once:  # else it is the broker that everybody waits for
            for source in self._members - waiting:
                self.leave(source)
        self.release()


def _place(number: int, count: int) -> int:
    """Where a source's message stands: at even distances over the whole plan."""
    return (2 * number + 1) * _WHOLE // (2 * count)
