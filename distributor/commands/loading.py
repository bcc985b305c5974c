"""What every command shares: its options, how configuration is loaded for it, and how it fails."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer
from rich.console import Console

from raquo.distributor.config import Config
from raquo.distributor.config_sources import Loaded, load
from raquo.distributor.errors import BadConfiguration
from raquo.distributor.logs import configure_logs
from raquo.mutators.errors import RaquoError

FAILED, MISUSED = 1, 2
_WIDE = 240


class Output(StrEnum):
    """For people, or for programs."""

    TABLE = "table"
    JSON = "json"


ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The configuration file; else RAQUO_CONFIG, ./raquo.toml, …")
]
UrlOption = Annotated[str | None, typer.Option("--url", help="The broker's URL, over what the configuration says.")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table for people or JSON for programs.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why, for the log; asked for on a terminal.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def load_config(config: Path | None, url: str | None) -> Config:
    """The configuration in force for a command."""
    return load_with_origins(config, url).config


def load_with_origins(config: Path | None, url: str | None) -> Loaded:
    """The same, and where it came from."""
    flags: dict[str, Any] = {"broker": {"url": url}} if url else {}
    return load(config, flags=flags)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """What goes wrong is one line on stderr, and an exit code."""
    try:
        yield
    except BadConfiguration as error:
        fail(str(error), MISUSED)
    except RaquoError as error:
        fail(str(error), FAILED)
    except KeyboardInterrupt:
        fail("interrupted", 130)


def console_for_tables() -> Console:
    """Where tables are printed; what reads a pipe should find every row on one line."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


def fail(text: str, code: int) -> None:
    """Say why, and end."""
    typer.echo(f"raquo: {' '.join(text.split())}", err=True)
    raise typer.Exit(code)


def asked_reason(reason: str | None) -> str:
    """The reason given, or typed on a terminal."""
    if reason:
        return reason
    if sys.stdin.isatty():
        return str(typer.prompt("Why? (for the log)"))
    fail("say why, with --reason", MISUSED)
    return ""


def note(what: str, reason: str) -> None:
    """Leave a line in the log, on standard error: what was done, and why."""
    configure_logs("info")
    structlog.get_logger("raquo").warning(what, reason=reason)


def confirmed(question: str, yes: bool) -> None:
    """Ask before something that cannot be undone; without a terminal `--yes` is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"{question} Say so with --yes", MISUSED)
    typer.confirm(question, abort=True)
