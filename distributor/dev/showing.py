"""What the demo looks like: a live table on a terminal, a line now and then elsewhere, and a summary at the end."""

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from raquo.distributor.dev.statistics import Row

RECENT = 10.0
"""Seconds that shares and waits go back while the demo runs."""

_LINE_EVERY = 5.0
_NOTE = "in one queue: first in, first out, with as many done at the same moments"


class Display(Protocol):
    """Shows the tenants while the demo runs."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def show(self, seconds: float, rows: Sequence[Row]) -> None:
        """How it is after so many seconds."""


class LiveTable:
    """A table that is drawn again and again in one place."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, seconds: float, rows: Sequence[Row]) -> None:
        table = table_of(rows, f"after {seconds:.0f} s; shares and waits of the last {RECENT:.0f} s; Ctrl-C stops it")
        self._live.update(table, refresh=True)


class PlainLines:
    """One line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next = _LINE_EVERY

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def show(self, seconds: float, rows: Sequence[Row]) -> None:
        if seconds >= self._next:
            self._next = (math.floor(seconds / _LINE_EVERY) + 1) * _LINE_EVERY
            self._console.print(line_of(seconds, rows), soft_wrap=True)


def display_on(console: Console) -> Display:
    """What suits the place."""
    return LiveTable(console) if console.is_terminal else PlainLines(console)


def table_of(rows: Sequence[Row], title: str) -> Table:
    """All tenants, one a row."""
    table = Table("tenant", title=title, caption=_NOTE, title_justify="left", caption_justify="left")
    for heading in ("published", "waiting", "done", "share", "wait p50", "p50 in one queue"):
        table.add_column(heading, justify="right")
    for row in rows:
        counts = (f"{count:,}" for count in (row.published, row.waiting, row.done))
        table.add_row(row.tenant, *counts, f"{row.share:.0%}", _seconds(row.wait_p50), _seconds(row.fifo_wait_p50))
    return table


def line_of(seconds: float, rows: Sequence[Row]) -> str:
    """All tenants on one line."""
    parts = (
        f"{row.tenant} {row.done} done, {row.waiting} waiting, {row.share:.0%}, p50 {_seconds(row.wait_p50)}"
        for row in rows
    )
    return f"{seconds:4.0f} s  " + " | ".join(parts)


def as_json(seconds: float, rows: Sequence[Row]) -> dict[str, Any]:
    """The summary for programs."""
    tenants = [
        {
            "tenant": row.tenant,
            "published": row.published,
            "done": row.done,
            "waiting": row.waiting,
            "wait_p50_seconds": _rounded(row.wait_p50),
            "wait_p99_seconds": _rounded(row.wait_p99),
            "share": round(row.share, 4),
            "fifo_wait_p50_seconds": _rounded(row.fifo_wait_p50),
        }
        for row in rows
    ]
    return {"seconds": round(seconds, 1), "tenants": tenants}


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
