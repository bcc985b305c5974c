"""The table of `move.py`: a block per case, a line per mover, and how many times as fast ours is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.figure import ratio
from benchmarks.movers import RAQUO

if TYPE_CHECKING:
    from benchmarks.move import Result


def move_table(results: "Sequence[Result]") -> Table:
    table = Table(title="Moving, all confirmed (median of the rounds)")
    table.add_column("mover")
    for column in ("per second", "slowest–fastest", "CPU µs", "raquo is"):
        table.add_column(column, justify="right")
    ours = {result.case: result.rate for result in results if result.mover == RAQUO}
    case = None
    for result in results:
        if result.case != case:
            case = result.case
            table.add_section()
            table.add_row(f"[bold]{case.title}[/]")
        table.add_row(result.mover, *result.cells(), _compared(result, ours.get(case)))
    return table


def _compared(result: "Result", ours: float | None) -> str:
    times = ratio(ours, result.rate)
    return "" if result.mover == RAQUO or times is None else f"× {times:.2f}"
