"""What a mover is to the benchmark: something that empties staging queues into one target, and is timed."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol

from benchmarks.apart import Measured, measure_apart


@dataclass(frozen=True)
class Move:
    """All of `each` messages in every source go to the target."""

    url: str
    sources: tuple[str, ...]
    target: str
    each: int

    @property
    def messages(self) -> int:
        return self.each * len(self.sources)

    def as_job(self) -> dict[str, Any]:
        """For a process of its own, as JSON can say it."""
        return asdict(self)


class Mover(Protocol):
    """One way to move messages."""

    @property
    def name(self) -> str: ...

    @property
    def share(self) -> float:
        """How much of a case's messages it is given; slow ones get fewer, and rates are compared."""

    def measure(self, move: Move, deadline: float) -> Measured:
        """Move them all; ended after `deadline` seconds."""


@dataclass(frozen=True)
class MoverApart:
    """A mover of ours to run: a module of `movers/`, in a process of its own."""

    name: str
    module: str
    share: float = 1.0

    def measure(self, move: Move, deadline: float) -> Measured:
        return measure_apart(self.module, move.as_job(), deadline)
