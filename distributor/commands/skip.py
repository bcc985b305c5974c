"""`raquo skip`: moves the first message of a staging queue out of the way."""

import asyncio
import json
from typing import Annotated

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
from raquo.distributor.skipping import PARKED, find, look
from raquo.distributor.skipping import skip as move_head
from raquo.mutators.names import typed


def skip(
    queue: Annotated[str, typer.Argument(help="The staging queue, e.g. 'worker-input>>tenant1'.")],
    reason: ReasonOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move the first message of a staging queue to raquo.parked, so that those behind it can move."""
    with one_line_errors():
        settings = load_config(config, url)
        staging = find(settings, typed(queue))
        head = asyncio.run(look(settings, staging))
        if not dry_run:
            why = asked_reason(reason)
            confirmed(f"The first of {head.depth} messages of {staging.queue} goes to {PARKED}.", yes)
            asyncio.run(move_head(settings, staging))
            note(f"skipped the first of {staging.queue}", why)
    if output is Output.JSON:
        told = {"dry_run": dry_run, "queue": staging.queue, "parked_in": PARKED, "waiting": head.depth}
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        where = "would go to" if dry_run else "is in"
        typer.echo(f"the first of {head.depth} messages of {staging.queue} {where} {PARKED}")
