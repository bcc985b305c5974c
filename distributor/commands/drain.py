"""`raquo drain`: empties staging into the targets."""

import asyncio
import json
from typing import Annotated

import typer
from rich.console import Console

from raquo.distributor.commands.loading import (
    FAILED,
    MISUSED,
    ConfigOption,
    DryRunOption,
    Output,
    OutputOption,
    ReasonOption,
    UrlOption,
    YesOption,
    asked_reason,
    confirmed,
    fail,
    load_config,
    note,
    one_line_errors,
)
from raquo.distributor.commands.looking import seen
from raquo.distributor.config import Config
from raquo.distributor.draining import Drained, drain
from raquo.distributor.transports import client_transports
from raquo.mutators.names import typed


def drain_command(
    target: Annotated[list[str] | None, typer.Argument(help="The targets to drain into.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every target.")] = False,
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move everything that is staged into the targets, whatever their length; order within a queue is kept."""
    if bool(target) == every:
        fail("name targets, or say --all", MISUSED)
    with one_line_errors():
        settings = load_config(config, url)
        only = tuple(typed(name) for name in target or ())
        if dry_run:
            _say(Drained(0), _staged(settings, only), output)
            return
        why = asked_reason(reason)
        confirmed("Everything staged goes into the targets at once.", yes)
        drained = asyncio.run(_drain(settings, only, output))
        if not drained.left:
            note("drained", why)
    _say(drained, sum(queue.depth for queue in drained.left), output)
    if drained.left:
        first = drained.left[0]
        text = f"{len(drained.left)} staging queues could not be emptied, e.g. {first.queue!r}: {first.reason_text}"
        fail(text, FAILED)


async def _drain(config: Config, only: tuple[str, ...], output: Output) -> Drained:
    console = Console(stderr=True)
    if output is Output.JSON or not console.is_terminal:
        return await drain(config, client_transports(config), only, lambda moved, left: None)
    with console.status("looking") as line:
        return await drain(
            config, client_transports(config), only, lambda moved, left: line.update(f"{moved} moved, {left} left")
        )


def _staged(config: Config, only: tuple[str, ...]) -> int:
    targets = [one for one in seen(config)["targets"] if not only or one["target"] in only]
    return sum(queue["depth"] for one in targets for queue in one["staging"])


def _say(drained: Drained, left: int, output: Output) -> None:
    if output is Output.JSON:
        typer.echo(json.dumps({"moved": drained.moved, "left": left}))
    else:
        typer.echo(f"{drained.moved} messages moved, {left} left in staging")
