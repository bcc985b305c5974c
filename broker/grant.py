"""A grant while it is carried out: what was asked for, what became of it, and why it ended."""

from dataclasses import dataclass
from enum import Enum, StrEnum, auto


class Reason(StrEnum):
    """Why a grant ended."""

    COMPLETE = "complete"
    UNDER_FULL = "under_full"  # the source held fewer, or the deadline came
    REFUSED = "refused"
    RETURNED = "returned"
    SOURCE_GONE = "source_gone"
    CHANNEL_CLOSED = "channel_closed"
    UNMOVABLE = "unmovable"  # this one message closes the channel whenever it is published
    CONNECTION_LOST = "connection_lost"
    NO_ANSWER = "no_answer"  # a deadline passed, and the connection was dropped for it
    BLOCKED = "blocked"  # the broker has an alarm; nothing was started


class Waiting(Enum):
    """What a channel waits for, which decides how long it may."""

    DELIVERY = auto()
    CONFIRM = auto()
    ANSWER = auto()
    TURN = auto()  # in a mix, which others keep going


@dataclass(slots=True)
class Grant:
    """Move up to `count` messages from `source`, with at most `window` fetched and not acknowledged.

    A window larger than the count fetches more than it moves, and gives the surplus back. A `careful` grant publishes
    a message when the one before is confirmed.
    """

    source: str
    count: int
    window: int
    by_get: bool = False
    careful: bool = False
    begun: bool = False  # the broker was asked for messages
    fetched: int = 0  # came, published or not
    delivered: int = 0  # came, and were published
    moved: int = 0
    redelivered: int = 0
    size: int = 0  # bytes of content frames
    staged_at: int | None = None
    reason: Reason | None = None
    code: int = 0
    text: str = ""

    def end(self, reason: Reason, text: str = "", code: int = 0) -> None:
        """Keep the first reason: what follows it is its consequence."""
        if self.reason is None:
            self.reason, self.text, self.code = reason, text, code


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a grant: `moved` are in the target and gone from the source, the rest is still there.

    Where the connection was lost or dropped, or the broker closed the channel, the last acknowledgements may be lost
    with it: then some of the `moved` are in the source once more, or have been moved a second time and count twice.
    """

    source: str
    asked: int
    moved: int
    reason: Reason
    text: str = ""
    code: int = 0
    size: int = 0
    redelivered: int = 0
    staged_at: int | None = None
    given_back: int = 0  # fetched by a grant that failed, and in the source again
