"""`raquo config`: what is in force, and who said so."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from raquo.distributor.commands.loading import console_for_tables
from raquo.distributor.config import Config
from raquo.distributor.config_keys import entries
from raquo.distributor.config_sources import Loaded, load
from raquo.distributor.config_text import default_file, toml
from raquo.distributor.errors import BadConfiguration

__all__ = ["config"]

_USAGE = 2


class Output(StrEnum):
    """For people, or for programs."""

    table = "table"
    json = "json"


def config(
    path: Annotated[Path | None, typer.Option("--config", help="The file to read.", metavar="FILE")] = None,
    url: Annotated[str | None, typer.Option("--url", help="The broker's URL.")] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="For people, or for programs.")] = Output.table,
    default: Annotated[bool, typer.Option("--default", help="Print a commented file of all defaults.")] = False,
    check: Annotated[Path | None, typer.Option("--check", help="Is this file right?", metavar="FILE")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the file.")] = False,
) -> None:
    """Print the configuration in force, and where each setting came from. Needs no broker."""
    if (check is not None) + default + schema > 1:
        _refuse("--default, --check and --schema are three questions: ask one")
    try:
        if default:
            typer.echo(default_file(), nl=False)
        elif schema:
            typer.echo(_as_json(Config.model_json_schema()))
        elif check:
            load(check, flags={"broker": {"url": url}})
            typer.echo(f"{check} is right")
        else:
            _print(load(path, flags={"broker": {"url": url}}), output)
    except BadConfiguration as error:
        _refuse(str(error))


def _print(loaded: Loaded, output: Output) -> None:
    settings = [
        {"key": key, "value": setting.shown(setting.write(value)), "origin": loaded.origins[key]}
        for key, setting, value in entries(loaded.config)
    ]
    if output is Output.json:
        typer.echo(_as_json({"file": str(loaded.place) if loaded.place else None, "settings": settings}))
    else:
        _print_table(settings)


def _print_table(settings: list[dict[str, Any]]) -> None:
    table = Table("setting", "value", "origin", box=None, pad_edge=False)
    for one in settings:
        # What a default left unsaid has no form in TOML, and needs none here.
        table.add_row(one["key"], "" if one["value"] is None else toml(one["value"]), one["origin"])
    console_for_tables().print(table)


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _refuse(words: str) -> None:
    typer.echo(words, err=True)
    raise typer.Exit(_USAGE)
