"""`raquo check`: is everything as it must be? The exit code is the verdict."""

import json
import logging
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from raquo.distributor.checking import findings, good
from raquo.distributor.commands.loading import (
    FAILED,
    ConfigOption,
    Output,
    OutputOption,
    UrlOption,
    console_for_tables,
    load_config,
    one_line_errors,
)
from raquo.distributor.finding import Finding, Level
from raquo.distributor.gathering import gather
from raquo.distributor.rights import setup_lines

__all__ = ["check"]

_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.FAILURE: "bold red"}


def check(
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
    print_setup: Annotated[
        bool, typer.Option("--print-setup", help="Print the rabbitmqctl lines for users with least privileges.")
    ] = False,
) -> None:
    """Look whether everything is as it must be; exit code 0: good, or warnings only."""
    logging.getLogger("pika").setLevel(logging.CRITICAL)  # what goes wrong is a finding, told once
    with one_line_errors():
        settings = load_config(config, url)
        if print_setup:
            _print_setup(setup_lines(settings), output)
            return
        found = findings(gather(settings), settings)
    _print(found, output)
    if not good(found):
        raise typer.Exit(FAILED)


def _print_setup(lines: list[str], output: Output) -> None:
    typer.echo(json.dumps({"lines": lines}, indent=2) if output is Output.JSON else "\n".join(lines))


def _print(found: list[Finding], output: Output) -> None:
    if output is Output.JSON:
        told = [
            {"code": one.code, "level": one.level.value, "subject": one.subject, "text": one.text} for one in found
        ]
        typer.echo(json.dumps({"ok": good(found), "findings": told}, ensure_ascii=False, indent=2))
        return
    table = Table("", "code", "finding", box=None, pad_edge=False)
    for one in found:
        table.add_row(Text(one.level.value, _STYLES[one.level]), one.code, Text(one.text))
    console_for_tables().print(table)
