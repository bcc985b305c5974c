"""One run of benchmarks: its options, its private broker, its progress, its tables, and the file it is saved in.

Every finished benchmark is saved at once, so that Ctrl-C loses only the one that was running.
"""

import argparse
import json
import os
import platform
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from benchmarks.figure import Figure
from raquo.broker.errors import LocalBrokerError
from raquo.broker.local import LocalBroker

_RESULTS = Path(__file__).resolve().parent / "results"
_INTERRUPTED = 130


@dataclass(frozen=True)
class Section:
    """What one benchmark has found."""

    name: str
    table: RenderableType
    results: Any
    figures: Sequence[Figure]
    failures: Sequence[str] = ()


@dataclass(frozen=True)
class Session:
    """What a benchmark is given."""

    broker: LocalBroker
    quick: bool
    rounds: int
    end: float  # on the monotonic clock: nothing new is begun after it
    console: Console
    progress: Progress

    def time_is_up(self) -> bool:
        """Whether nothing new should be begun."""
        return time.monotonic() > self.end

    def say(self, line: str) -> None:
        """A line for whoever reads a log; on a terminal there are the bars."""
        if not self.console.is_terminal:
            self.console.print(line, highlight=False)


Benchmark = Callable[[Session], Section]


def main(*benchmarks: Benchmark) -> int:
    """Run them one after the other; 1 if something failed, 130 after Ctrl-C."""
    options = _options()
    console = Console()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        console.print("Starting a private RabbitMQ …")
        with LocalBroker() as broker:
            console.print(f"RabbitMQ {broker.version}, {os.cpu_count()} processors")
            return _run(benchmarks, broker, options, console)
    except KeyboardInterrupt:
        console.print("Interrupted; what was finished is saved.")
        return _INTERRUPTED
    except LocalBrokerError as error:
        console.print(str(error), markup=False)
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure, and compare within the run.")
    parser.add_argument("--quick", action="store_true", help="fewer cases, messages and queues")
    parser.add_argument("--rounds", type=_positive, help="alternating rounds; the median counts (5, quick: 3)")
    parser.add_argument("--minutes", type=float, default=9.5, help="a part begins nothing new after that time (9.5)")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one round is needed")
    return number


def _run(benchmarks: Sequence[Benchmark], broker: LocalBroker, options: argparse.Namespace, console: Console) -> int:
    rounds = options.rounds or (3 if options.quick else 5)
    figures: list[Figure] = []
    failed = False
    for benchmark in benchmarks:
        end = time.monotonic() + options.minutes * 60
        with _progress(console) as progress:
            section = benchmark(Session(broker, options.quick, rounds, end, console, progress))
        console.print(section.table)
        for failure in section.failures:
            console.print(f"[red]failed:[/] {escape(failure)}", highlight=False)
        path = _save(section, broker.version, options.quick)
        figures += section.figures
        failed = failed or bool(section.failures)
    console.print(_figures_table(figures))
    console.print(f"Saved in {os.path.relpath(path)}", highlight=False)
    return 1 if failed else 0


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _figures_table(figures: Sequence[Figure]) -> Table:
    table = Table(title="Figures to show")
    for column in ("figure", "required", "measured", "verdict"):
        table.add_column(column, justify="right" if column in ("required", "measured") else "left")
    for figure in figures:
        measured = "–" if figure.measured is None else f"{figure.measured:,.{0 if figure.measured > 1000 else 2}f}"
        colour = {"reached": "green", "not reached": "red"}.get(figure.verdict, "yellow")
        table.add_row(figure.what, figure.bound, measured, f"[{colour}]{figure.verdict}[/]")
    return table


def _save(section: Section, broker_version: str, quick: bool) -> Path:
    """Put it beside the other benchmarks of this broker, each with the time it was made."""
    path = _RESULTS / f"{broker_version}{'-quick' if quick else ''}.json"
    saved: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    saved[section.name] = {
        "when": time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime()),
        **_environment(),
        "results": section.results,
        "figures": [figure.as_json() for figure in section.figures],
    }
    path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n")
    return path


def _environment() -> Mapping[str, Any]:
    return {
        "processors": os.cpu_count(),
        "load_at_the_end": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "pika": version("pika"),
        "raquo": version("raquo"),
    }


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
