"""Which moves are measured, the important ones first: should the time run out, the others are left out.

The counts are such that a fast mover works for about a second, and the whole run takes less than ten minutes on two
idle cores.
"""

import itertools
from dataclasses import dataclass

_SIZES = {100: "100 B", 1024: "1 KiB", 100 * 1024: "100 KiB"}
_MESSAGES = {1024: 15_000, 100: 15_000, 100 * 1024: 600}
_FEWEST = 100  # however slow a mover is


@dataclass(frozen=True)
class Case:
    """One kind of move."""

    size: int
    queue_type: str
    queues: int
    messages: int

    @property
    def title(self) -> str:
        return f"{_SIZES[self.size]}, {self.queue_type}, {self.queues} queue{'s' if self.queues > 1 else ''}"

    def each(self, share: float) -> int:
        """Messages per staging queue for a mover that is given this share of the case."""
        return round(max(_FEWEST, self.messages * share) / self.queues)


HEADLINE = Case(1024, "classic", 1, 40_000)
QUICK = Case(1024, "classic", 1, 15_000)


def all_cases() -> list[Case]:
    """The one that promises were made about, and then every combination besides."""
    combinations = itertools.product((1, 20), ("classic", "quorum"), _MESSAGES)
    others = [Case(size, queue_type, queues, _MESSAGES[size]) for queues, queue_type, size in combinations]
    return [HEADLINE, *(case for case in others if case.title != HEADLINE.title)]


def rounds_for(case: Case, rounds: int) -> int:
    """The promised figures get all rounds, the others about half of them."""
    return rounds if case in (HEADLINE, QUICK) else (rounds + 1) // 2
