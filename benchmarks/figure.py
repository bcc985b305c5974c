"""A figure the project promises to show: what is required, what was measured, and whether that is reached."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A bound on something measured; None is a measurement that is missing."""

    what: str
    required: float
    measured: float | None
    at_most: bool = False

    @property
    def bound(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.required:,g}"

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        reached = self.measured <= self.required if self.at_most else self.measured >= self.required
        return "reached" if reached else "not reached"

    def as_json(self) -> Mapping[str, Any]:
        measured = None if self.measured is None else round(self.measured, 3)
        return {"what": self.what, "required": self.bound, "measured": measured, "verdict": self.verdict}


def ratio(one: float | None, other: float | None) -> float | None:
    """How many times the other; None where one of them is missing."""
    return one / other if one is not None and other else None
