"""`raquo route`: where the router would put a message."""

import json
from typing import Annotated, Any

import typer

from raquo.distributor.commands.loading import (
    MISUSED,
    ConfigOption,
    Output,
    OutputOption,
    UrlOption,
    fail,
    load_config,
    one_line_errors,
)
from raquo.mutators import Message
from raquo.mutators.names import typed
from raquo.router import Router


def route(
    target: Annotated[str, typer.Argument(help="The target queue.")],
    header: Annotated[list[str] | None, typer.Option("-H", "--header", help="NAME=VALUE; repeatable.")] = None,
    body: Annotated[str, typer.Option("--body", help="For mutators that look into it.")] = "",
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where the router would put such a message; sends nothing."""
    with one_line_errors():
        load_config(config, url)  # a mistake elsewhere in the file is told here, too
        decision = Router.from_config(config).route(typed(target), Message(body.encode(), _headers(header or [])))
    told: dict[str, Any] = {"queue": decision.queue, "staged": decision.staged, "reason": decision.reason}
    if output is Output.JSON:
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        typer.echo(f"{decision.queue}  ({'staged' if decision.staged else 'direct'}: {decision.reason})")


def _headers(given: list[str]) -> dict[str, Any]:
    pairs = [text.partition("=") for text in given]
    for name, equals, _ in pairs:
        if not (name and equals):
            fail(f"-H {name!r}: expected NAME=VALUE", MISUSED)
    return {name: value for name, _, value in pairs}
