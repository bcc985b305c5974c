"""What `raquo check` looks at, and what it says about it: facts in, findings out. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from raquo.broker.management_answers import ConsumerInfo, PolicyInfo, QueueInfo, VhostLimits

__all__ = ["AmqpFacts", "Denied", "Facts", "Finding", "Level", "ManagementFacts", "Problem", "Right", "Trouble", "some"]


class Level(StrEnum):
    """How bad it is; a failure means that Raquo cannot do its work."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: a code for programs, and a line for people that says what to do."""

    code: str
    level: Level
    subject: str  # the queue, target or part of the broker that it is about
    text: str


class Trouble(StrEnum):
    """Why there is no answer."""

    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    TAG = "tag"  # a user that the management API does not talk to
    VHOST = "vhost"  # a user whom it does not show the queues of this virtual host


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no answer, and in words."""

    trouble: Trouble
    text: str


class Right(StrEnum):
    """What the user was not allowed to do; the acts are explained in `rights.py`."""

    MOVE = "right_to_move"  # read a staging queue
    PUBLISH = "right_to_publish"  # write to the default exchange
    LOOK = "right_to_look"  # see how many messages a target has
    DECLARE = "right_to_declare"  # a target that is missing and shall be declared
    DELETE = "right_to_delete"  # a staging queue that was idle for long
    LISTEN = "right_to_listen"  # hear the bell


@dataclass(frozen=True, slots=True)
class Denied:
    """An act that the broker refused, on what, and its own words."""

    right: Right
    subject: str
    words: str


@dataclass(frozen=True, slots=True)
class AmqpFacts:
    """What came of an AMQP connection."""

    version: str = ""
    denied: tuple[Denied, ...] = ()
    tried_staging: int = 0  # how many staging queues were tried
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class ManagementFacts:
    """What the management API told."""

    version: str = ""
    listing: tuple[QueueInfo, ...] = ()
    policies: tuple[PolicyInfo, ...] = ()
    consumers: tuple[ConsumerInfo, ...] = ()
    limits: VhostLimits = field(default_factory=VhostLimits)
    alarmed: bool = False
    untold: tuple[str, ...] = ()  # what it did not tell, and why, in words
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was gathered."""

    user: str
    vhost: str
    pika: str  # its version; one that was not tested is refused when the mover is imported
    amqp: AmqpFacts
    management: ManagementFacts

    @property
    def version(self) -> str:
        """The broker's, as far as one of the two told it."""
        return self.amqp.version or self.management.version


def some(names: Sequence[str]) -> str:
    """One name as an example, and how many more there are."""
    first = min(names)
    return repr(first) if len(names) == 1 else f"{first!r} and {len(names) - 1} more"
