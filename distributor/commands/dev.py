"""`raquo dev`: a private broker, the distributor, demo tenants and workers, in one process tree."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from raquo.broker.local import LocalBroker
from raquo.distributor.commands.loading import Output, OutputOption, one_line_errors
from raquo.distributor.dev.demo import Demo
from raquo.distributor.dev.distributor_process import DistributorProcess
from raquo.distributor.dev.interrupts import Interrupts
from raquo.distributor.dev.scenario import Scenario
from raquo.distributor.dev.showing import RECENT, as_json, display_on, table_of
from raquo.distributor.dev.statistics import Row


def dev(
    seconds: Annotated[float | None, typer.Option("--seconds", min=0, help="Stop by itself after that time.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Try it: a private RabbitMQ, the distributor, a flooding tenant, small ones and workers, until Ctrl-C."""
    console = Console(stderr=output is Output.JSON, markup=False, highlight=False)  # JSON is alone on stdout
    interrupts = Interrupts()
    with one_line_errors():
        try:
            _serve(seconds, output, console, interrupts)
        except KeyboardInterrupt:  # before there was anything to show
            console.print("Stopped.")


def _serve(seconds: float | None, output: Output, console: Console, interrupts: Interrupts) -> None:
    console.print("Starting a private RabbitMQ and the distributor …")
    scenario = Scenario()
    with LocalBroker() as broker, DistributorProcess(broker) as distributor:
        _say_where(console, broker, distributor)
        _say_what(console, scenario)
        lasted, rows = asyncio.run(_demonstrate(broker.url, scenario, seconds, console, distributor, interrupts))
        _sum_up(console, output, lasted, rows)


async def _demonstrate(
    url: str,
    scenario: Scenario,
    seconds: float | None,
    console: Console,
    distributor: DistributorProcess,
    interrupts: Interrupts,
) -> tuple[float, list[Row]]:
    """Run the demo; how long it was, and what each tenant got."""
    demo = Demo(url, scenario)
    loop = asyncio.get_running_loop()
    interrupts.call(lambda: loop.call_soon_threadsafe(demo.stop))
    began = time.monotonic()
    with display_on(console) as display:

        def watch() -> None:
            distributor.check()
            now = time.monotonic()
            display.show(now - began, demo.statistics.since(now - RECENT))

        await demo.run(seconds, watch)
    interrupts.ignore()
    return time.monotonic() - began, demo.statistics.whole()


def _say_where(console: Console, broker: LocalBroker, distributor: DistributorProcess) -> None:
    raquo = _as_typed()
    lines = (
        f"RabbitMQ {broker.version} and the distributor serve, on this machine only.",
        f"  AMQP         {broker.url}",
        f"  Management   {broker.management_url} (user guest, password guest)",
        f"  Distributor  {distributor.http_url} (/metrics, /api/v1/status)",
        "Try, in another terminal (the bypass lets everything staged flow at once, as if there were no Raquo):",
        f"  {raquo} status --url {broker.url}",
        f"  {raquo} bypass on --for 5s --reason 'to see it' --config {distributor.file}",
    )
    console.print("\n".join(lines), soft_wrap=True)


def _say_what(console: Console, scenario: Scenario) -> None:
    rates = ", ".join(f"{tenant.name} {tenant.per_second:g}" for tenant in scenario.tenants)
    text = (
        f"{scenario.workers} workers of {scenario.target!r} do {scenario.worked_per_second:.0f} messages a second. "
        f"Tenants publish, a second: {rates}; none with more than {scenario.most_waiting:,} waiting."
    )
    console.print(text, soft_wrap=True)


def _sum_up(console: Console, output: Output, lasted: float, rows: list[Row]) -> None:
    if output is Output.JSON:
        typer.echo(json.dumps(as_json(lasted, rows), indent=2))
    else:
        console.print(table_of(rows, f"What each tenant got in {lasted:.0f} s"))


def _as_typed() -> str:
    """How the user called us, so that the lines to try can be typed as they are."""
    program = Path(sys.argv[0])
    return f"{sys.executable} -m raquo" if program.name == "__main__.py" else str(program)
