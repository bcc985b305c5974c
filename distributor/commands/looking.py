"""`raquo plan`, `raquo status`, `raquo tenant`: what there is to see.

A running daemon knows more (shares, ages, reasons), so it is asked first. Where none answers the commands look at the
broker themselves. They say which it was.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.table import Table

from raquo.broker.errors import BrokerError
from raquo.distributor.commands.loading import (
    FAILED,
    ConfigOption,
    Output,
    OutputOption,
    UrlOption,
    console_for_tables,
    fail,
    load_config,
    one_line_errors,
)
from raquo.distributor.config import Config
from raquo.distributor.daemon_client import DaemonClient
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches
from raquo.distributor.status import plan_as_json
from raquo.distributor.telemetry import Telemetry
from raquo.distributor.transports import client_transports
from raquo.mutators.names import typed

TargetArgument = Annotated[str | None, typer.Argument(help="Only this target.")]


def plan(
    target: TargetArgument = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what the next round would move, and move nothing."""
    with one_line_errors():
        settings = load_config(config, url)
        told = DaemonClient(settings).plan()
        source = "daemon" if told else "broker"
        told = told or looked(settings, lambda replica: plan_as_json(replica.plan()))
        told = {"source": source, **_only(told, target)}
    _print(told, output, _plan_table)


def status(
    target: TargetArgument = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show targets and staging queues with depths, shares and ages."""
    with one_line_errors():
        told = _only(seen(load_config(config, url)), target)
    _print(told, output, _status_table)


def tenant(
    name: Annotated[str, typer.Argument(help="The tenant.")],
    config: ConfigOption = None,
    url: UrlOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one customer over all targets: what waits, how old it is, its share, and why it waits."""
    with one_line_errors():
        told = seen(load_config(config, url))
        queues = [
            {"target": one["target"], **queue}
            for one in told["targets"]
            for queue in one["staging"]
            if queue["tenant"] == name
        ]
        if not queues:
            fail(f"no staging queue belongs to tenant {name!r}", FAILED)
    _print({"source": told["source"], "tenant": name, "queues": queues}, output, _tenant_table)


def seen(config: Config) -> dict[str, Any]:
    """The status as a daemon tells it, or as the broker shows it."""
    return DaemonClient(config).status() or looked(config, lambda replica: replica.status().as_json())


def looked(config: Config, told: Callable[[Replica], dict[str, Any]]) -> dict[str, Any]:
    """Look at the broker once, without serving anything."""

    async def look() -> dict[str, Any]:
        replica = Replica(config, client_transports(config), Telemetry(), Switches(dry_run=True))
        try:
            await replica.look()
            return told(replica)
        finally:
            await replica.stop(0.0)

    return asyncio.run(look())


def _only(told: dict[str, Any], target: str | None) -> dict[str, Any]:
    if target is None:
        return told
    name = typed(target)
    chosen = [one for one in told["targets"] if one["target"] == name]
    if not chosen:
        raise BrokerError(f"no staging queue of a target {name!r} is there; `raquo status` lists all")
    return {**told, "targets": chosen}


def _print(told: dict[str, Any], output: Output, tables: Callable[[dict[str, Any]], Iterable[Table | str]]) -> None:
    if output is Output.JSON:
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    console = console_for_tables()
    for table in tables(told):
        console.print(table, style="bold" if isinstance(table, str) else None)
    words = {"daemon": "as the running daemon sees it", "broker": "no daemon answers; as the broker shows it"}
    console.print(words[told["source"]], style="dim")


def _plan_table(told: dict[str, Any]) -> Iterable[Table]:
    table = Table("target", "depth", "room", "max length", "policy", "queue", "would move", title="next round")
    for one in told["targets"]:
        head = [one["target"], str(one["depth"]), str(one["room"]), str(one["max_length"]), one["policy"]]
        for grant in one["grants"] or [{"queue": one["reason"] or "nothing to move", "count": 0}]:
            table.add_row(*head, grant["queue"], str(grant["count"]))
            head = [""] * 5
    yield table


def _status_table(told: dict[str, Any]) -> Iterable[Table | str]:
    yield from _notices(told)
    for one in told["targets"]:
        rate = one["consumed_per_second"]
        facts = f"{one['depth']} of {one['max_length']} ready, {one['consumers']} consumers"
        facts += f", {rate:.0f}/s" if rate else ""
        facts += f" ({one['reason_text']})" if one["reason_text"] else ""
        table = Table("staging queue", "waiting", "weight", "share 1m", "moved", "oldest", "state", "why")
        table.title = f"{one['target']}: {facts}"
        for queue in one["staging"]:
            table.add_row(*_row(queue))
        yield table
        yield from one["warnings"]


def _notices(told: dict[str, Any]) -> Iterator[str]:
    """What concerns everything, before the details."""
    if told["bypass"]:
        yield "BYPASS: everything staged flows at once, whatever is fair"
    if told["dry_run"] and told["source"] == "daemon":
        yield "DRY RUN: the daemon moves nothing"
    yield from (f"not ready: {problem}" for problem in told["problems"])


def _tenant_table(told: dict[str, Any]) -> Iterable[Table]:
    table = Table("target", "staging queue", "waiting", "weight", "share 1m", "moved", "oldest", "state", "why")
    table.title = told["tenant"]
    for queue in told["queues"]:
        table.add_row(queue["target"], *_row(queue))
    yield table


def _row(queue: Mapping[str, Any]) -> list[str]:
    age = queue["oldest_age_seconds"]
    return [
        queue["queue"],
        str(queue["depth"]),
        f"{queue['weight']:g}",
        f"{queue['share_1m']:.0%}",
        str(queue["moved"]),
        "" if age is None else f"{age:.1f} s",
        queue["state"],
        queue["reason_text"] or "",
    ]
