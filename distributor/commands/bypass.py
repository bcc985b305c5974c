"""`raquo bypass on|off`: everything staged flows at once, or no longer."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from raquo.distributor.commands.loading import (
    MISUSED,
    ConfigOption,
    DryRunOption,
    Output,
    OutputOption,
    ReasonOption,
    UrlOption,
    asked_reason,
    fail,
    load_config,
    one_line_errors,
)
from raquo.distributor.config_values import seconds_of
from raquo.distributor.daemon_client import DaemonClient


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


def bypass(
    switch: Annotated[Switch, typer.Argument(help="on: everything staged flows at once; off: fair again.")],
    reason: ReasonOption = None,
    for_: Annotated[str | None, typer.Option("--for", help="For so long, e.g. 30m; then off by itself.")] = None,
    dry_run: DryRunOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Let everything staged flow into the targets at once, as if there were no Raquo."""
    with one_line_errors():
        settings = load_config(config, url)
        why = asked_reason(reason)
        seconds = _seconds(for_)
        if not dry_run:
            DaemonClient(settings).set_bypass(switch is Switch.ON, why, seconds)
    if output is Output.JSON:
        typer.echo(json.dumps({"bypass": switch.value, "seconds": seconds, "reason": why, "done": not dry_run}))
        return
    how_long = f" for {for_}" if for_ else ""
    typer.echo(f"{'would be ' if dry_run else ''}bypass {switch.value}{how_long}")


def _seconds(text: str | None) -> float | None:
    seconds = seconds_of(text) if text else None
    if text and not seconds:
        fail(f"--for {text!r}: expected a duration such as 30s, 30m or 2h", MISUSED)
    return seconds
