"""Which deliveries may be acknowledged: the ledger between a publisher's confirms and a consumer's acks.

A mover publishes what it was delivered. The broker confirms publishes by their sequence number, in any order, one by
one or "all up to here"; the mover acknowledges deliveries by their tag. Between the two stands one rule: *a delivery
is acknowledged when its publish is confirmed, and not before*. A publish that the broker refused (nack) leaves a hole:
behind it every ack is single, because "all up to here" would cover the hole and lose the message.

Book-keeping only: no socket, no clock. Sequence numbers and tags both start at 1 on a fresh channel.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple


class Ack(NamedTuple):
    """An acknowledgement to send, and how many deliveries it settles."""

    tag: int
    multiple: bool
    settles: int


class ConfirmLedger:
    """What was published on one channel and is not acknowledged yet."""

    def __init__(self) -> None:
        self.unconfirmed = 0  # published, and neither confirmed nor refused
        self._tags: deque[int] = deque()  # of the publishes from `_first` on
        self._first = 1
        self._leading = 0  # this many from `_first` on are confirmed without a gap
        self._early: set[int] = set()  # confirmed behind a gap
        self._refused: set[int] = set()
        self._loose: deque[int] = deque()  # the early ones behind a hole whose ack is still to be taken
        self._loosened: set[int] = set()  # all that ever were in `_loose`

    @property
    def refused(self) -> int:
        """How many the broker refused; their deliveries have to be given back."""
        return len(self._refused)

    def published(self, tags: Sequence[int]) -> None:
        """The next sequence numbers on this channel belong to these deliveries."""
        self._tags.extend(tags)
        self.unconfirmed += len(tags)

    def confirmed(self, sequence: int, multiple: bool) -> None:
        """The broker has taken charge of this publish (and, if multiple, of all before it)."""
        if multiple and not self._early and not self._refused:
            self._lead_up_to(sequence)
        else:
            self._early.update(self._take_open(sequence, multiple))
            self._close_gaps()

    def nacked(self, sequence: int, multiple: bool) -> None:
        """The broker refused this publish (and, if multiple, all before it that were open)."""
        self._refused.update(self._take_open(sequence, multiple))
        self._close_gaps()

    def loosen(self) -> None:
        """Nothing more will be confirmed: what is, behind a gap, is acked singly."""
        self._loosen_behind(self._first + self._leading)

    def take(self, most: int) -> list[Ack]:
        """Acks for at most `most` confirmed deliveries, in as few frames as the holes allow."""
        acks = []
        leading = min(most, self._leading)
        if leading > 0:
            acks.append(self._take_leading(leading))
        singly = min(most - leading, len(self._loose))
        return acks + [Ack(self._tag(self._loose.popleft()), multiple=False, settles=1) for _ in range(singly)]

    def _lead_up_to(self, sequence: int) -> None:
        last = min(sequence, self._first + len(self._tags) - 1)
        gained = last - (self._first + self._leading) + 1
        if gained > 0:
            self._leading += gained
            self.unconfirmed -= gained

    def _take_open(self, sequence: int, multiple: bool) -> list[int]:
        """The numbers this answer settles: those published and not settled before."""
        gap = self._first + self._leading
        start = gap if multiple else max(gap, sequence)
        stop = min(sequence, self._first + len(self._tags) - 1) + 1
        settled = [n for n in range(start, stop) if n not in self._early and n not in self._refused]
        self.unconfirmed -= len(settled)
        return settled

    def _close_gaps(self) -> None:
        while self._first + self._leading in self._early:
            self._early.remove(self._first + self._leading)
            self._leading += 1
        if self._refused:
            self._loosen_behind(min(self._refused))

    def _loosen_behind(self, hole: int) -> None:
        self._loose.extend(sorted(n for n in self._early - self._loosened if n > hole))
        self._loosened.update(self._loose)

    def _take_leading(self, count: int) -> Ack:
        tag = self._tag(self._first + count - 1)
        for _ in range(count):
            self._tags.popleft()
        self._first += count
        self._leading -= count
        return Ack(tag, multiple=count > 1, settles=count)

    def _tag(self, sequence: int) -> int:
        return self._tags[sequence - self._first]
