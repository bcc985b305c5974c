"""`raquo prune`: deletes staging queues that are empty and that nobody has used for a while."""

import asyncio
import json
from typing import Annotated

import typer

from raquo.broker.observer import REMEMBERED
from raquo.distributor.commands.loading import (
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
from raquo.distributor.config_values import seconds_of
from raquo.distributor.pruning import Choice, Pruned, look
from raquo.distributor.pruning import prune as delete_idle
from raquo.mutators.names import typed


def prune(
    target: Annotated[list[str] | None, typer.Option("--target", help="Of this target only; repeatable.")] = None,
    idle: Annotated[str, typer.Option("--idle", help="Only what nobody published to for so long; at most 1h.")] = "1m",
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete empty staging queues (classic ones: of quorum queues RabbitMQ cannot say that they go only if empty)."""
    with one_line_errors():
        seconds = _seconds(idle)
        settings = load_config(config, url)
        only = tuple(typed(name) for name in target or ())
        choice = look(settings, only, seconds)
        pruned = Pruned(deleted=list(choice.prunable))
        if not dry_run:
            why = asked_reason(reason)
            if choice.prunable:
                confirmed(f"{len(choice.prunable)} empty staging queues are deleted.", yes)
            pruned = asyncio.run(delete_idle(settings, only, seconds))
            note("pruned", why)
    _say(choice, pruned, output, dry_run)


def _seconds(text: str) -> float:
    seconds = seconds_of(text)
    if seconds is None or not 0 <= seconds <= REMEMBERED:
        fail(f"--idle {text!r}: expected a duration from 0s to 1h, which is as long as the broker remembers", MISUSED)
    return seconds or 0.0


def _say(choice: Choice, pruned: Pruned, output: Output, dry_run: bool) -> None:
    queues = pruned.deleted
    if output is Output.JSON:
        told = {"dry_run": dry_run, "deleted": queues, "left_quorum": choice.quorum, "left_used": choice.used}
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    for queue in queues:
        typer.echo(queue)
    typer.echo(f"{len(queues)} empty staging queues {'would be ' if dry_run else ''}deleted; {choice.used} are in use")
    if choice.quorum:
        typer.echo(f"{choice.quorum} empty quorum queues stay: RabbitMQ cannot delete those only if they are empty")
    if pruned.kept:
        typer.echo(f"{len(pruned.kept)} were in use again when their turn came, and stay")
