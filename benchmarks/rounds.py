"""What one contender has done in its rounds; the median counts."""

import statistics
from dataclasses import dataclass, field
from typing import Any

from benchmarks.apart import Measured


@dataclass
class Rounds:
    """Messages a second and microseconds of processor time per message, round by round."""

    rates: list[float] = field(default_factory=list)
    cpu_microseconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float | None:
        return statistics.median(self.rates) if self.rates else None

    @property
    def cpu(self) -> float | None:
        return statistics.median(self.cpu_microseconds) if self.cpu_microseconds else None

    def note(self, measured: Measured, messages: int) -> None:
        self.rates.append(messages / measured.seconds)
        if measured.cpu_seconds is not None:
            self.cpu_microseconds.append(1e6 * measured.cpu_seconds / messages)

    def cells(self) -> list[str]:
        """For a table: the rate, slowest and fastest round, processor time."""
        if self.rate is None:
            return ["[red]failed[/]", "", ""]
        spread = f"{min(self.rates):,.0f}–{max(self.rates):,.0f}"
        return [f"{self.rate:,.0f}", spread, "–" if self.cpu is None else f"{self.cpu:.1f}"]

    def as_json(self) -> dict[str, Any]:
        return {
            "messages_per_second": self.rate and round(self.rate),
            "cpu_us_per_message": self.cpu and round(self.cpu, 2),
            "rounds": [round(rate) for rate in self.rates],
            "cpu_rounds": [round(cpu, 2) for cpu in self.cpu_microseconds],
            **({"failures": self.failures} if self.failures else {}),
        }
