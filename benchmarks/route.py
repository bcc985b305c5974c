"""How many routing decisions one core makes in a second, tenant and workflow from headers; no broker."""

import json
import statistics
import time
from typing import TYPE_CHECKING

from raquo.mutators import Message
from raquo.router import Router

if TYPE_CHECKING:
    from benchmarks.session import Section, Session

RUNS = 5
DECISIONS = 100_000
TENANTS = 1_000
_REQUIRED = 200_000


def run(session: "Session") -> "Section":
    """The same as a part of all benchmarks."""
    from rich.table import Table  # measuring alone needs neither this nor the rest of the benchmarks

    from benchmarks.figure import Figure
    from benchmarks.session import Section

    session.say("route")
    task = session.progress.add_task("route", total=1)
    rates = measure()
    session.progress.advance(task)
    table = Table("tenants", "decisions per second of CPU", title="Routing, no broker (median of five runs)")
    table.add_row(f"{TENANTS:,} known ones", f"{rates['decisions_per_second']:,.0f}")
    table.add_row("every one new", f"{rates['with_every_tenant_new']:,.0f}")
    figure = Figure("routing decisions per second", _REQUIRED, rates["decisions_per_second"])
    return Section("route", table, {name: round(rate) for name, rate in rates.items()}, [figure])


def measure() -> dict[str, float]:
    """Decisions a second of processor time, medians of five runs: known tenants, and ever new ones."""
    return {"decisions_per_second": _median(TENANTS), "with_every_tenant_new": _median(DECISIONS)}


def _median(tenants: int) -> float:
    messages = [_message(number) for number in range(tenants)]
    return statistics.median(_rate(Router(mode="stage"), messages) for _ in range(RUNS))


def _message(number: int) -> Message:
    return Message(b"{}", {"tenant": f"tenant-{number}", "workflow": f"workflow-{number % 7}"})


def _rate(router: Router, messages: list[Message]) -> float:
    begun = time.process_time()
    for _ in range(DECISIONS // len(messages)):
        for message in messages:
            router.route("worker-input", message)
    return DECISIONS / (time.process_time() - begun)


if __name__ == "__main__":
    print(json.dumps({name: round(rate) for name, rate in measure().items()}))
