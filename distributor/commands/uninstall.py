"""`raquo uninstall`: leaves the broker as it was."""

import asyncio
import json

import typer

from raquo.distributor.commands.loading import (
    ConfigOption,
    DryRunOption,
    Output,
    OutputOption,
    ReasonOption,
    UrlOption,
    YesOption,
    asked_reason,
    confirmed,
    load_config,
    note,
    one_line_errors,
)
from raquo.distributor.uninstalling import Inventory, take_stock
from raquo.distributor.uninstalling import uninstall as delete_all

_ROUTER = "Every router must be off (mode off): what is published into a queue in the moment it goes is lost."


def uninstall(
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete the empty staging queues and everything else of Raquo's; nothing while any message is staged."""
    with one_line_errors():
        settings = load_config(config, url)
        inventory = asyncio.run(take_stock(settings))
        if not dry_run:
            why = asked_reason(reason)
            confirmed(_question(inventory), yes)
            inventory = asyncio.run(delete_all(settings))
            note("uninstalled", why)
    _say(inventory, output, dry_run)


def _question(inventory: Inventory) -> str:
    question = f"{len(inventory.queues)} empty queues and the exchange {inventory.exchange} are deleted."
    return f"{question} {_ROUTER}" if inventory.queues else question


def _say(inventory: Inventory, output: Output, dry_run: bool) -> None:
    if output is Output.JSON:
        told = {"dry_run": dry_run, "queues": sorted(inventory.queues), "exchanges": [inventory.exchange]}
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    for queue in sorted(inventory.queues):
        typer.echo(queue)
    verb = "would be deleted" if dry_run else "were deleted"
    typer.echo(f"{len(inventory.queues)} empty queues and the exchange {inventory.exchange} {verb}")
    if dry_run and inventory.queues:
        typer.echo(_ROUTER)
