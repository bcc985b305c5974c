"""What the distributor tells of itself while it works: events, and whoever listens to them.

The core emits; logs, metrics and the rates in the status subscribe. A listener that fails never breaks its host: it is
told once in the log, and the others are still called.

| event | when |
| --- | --- |
| `Discovered` | a listing of the queues was read |
| `DiscoveryFailed` | the management API failed or answered nonsense; the last snapshot stays |
| `RoundDone` | one pass over a target ended, whatever it moved |
| `Moved` | a grant moved something |
| `MoveFailed` | a grant ended otherwise than with its messages in the target |
| `FloorGranted` | messages went into a target that others keep full |
| `Warned` | something is not as it should be; one line for people |
| `Reloaded` | the configuration was read again, or refused |
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

_log = logging.getLogger(__name__)

EACH_TIME = 0.0
WHILE_IT_LASTS = 60.0
"""How often a warning is repeated: one of what happens, and one of what goes on."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """A listing: how many staging queues there are, and how long it took."""

    staging_queues: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DiscoveryFailed:
    """The listing could not be had; `text` is one line for people."""

    text: str


@dataclass(frozen=True, slots=True)
class RoundDone:
    """A pass over one target."""

    target: str
    seconds: float
    granted: int
    moved: int


@dataclass(frozen=True, slots=True)
class Moved:
    """What one grant moved; `waited` is the age of its first message in seconds, where the stamp tells it."""

    target: str
    queue: str
    tenant: str
    count: int
    size: int
    redelivered: int
    waited: float | None


@dataclass(frozen=True, slots=True)
class MoveFailed:
    """A grant that ended early; `reason` is a code, `text` what the broker said."""

    target: str
    queue: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class FloorGranted:
    """So many went into a target that its own producers keep full."""

    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Warned:
    """One line for people; the same line is told once, or again after so many seconds."""

    text: str
    again_after: float = math.inf


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The configuration was read again; `problem` says why it was refused, "" if it is in force."""

    problem: str = ""


Event = Discovered | DiscoveryFailed | RoundDone | Moved | MoveFailed | FloorGranted | Warned | Reloaded
Listener = Callable[[Event], None]


class Telemetry:
    """Hands events to whoever listens."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._broken: set[Listener] = set()

    def subscribe(self, listener: Listener) -> None:
        """Call it with every event from now on."""
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell everybody."""
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                if listener not in self._broken:
                    self._broken.add(listener)
                    _log.exception("a listener to %s failed; it is called again, and not mentioned again", event)
