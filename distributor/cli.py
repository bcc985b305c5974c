"""The command line: which commands there are. What each does is in `commands/`."""

import json
import platform
from importlib.metadata import version as installed

import typer

from raquo.distributor.commands.bypass import bypass
from raquo.distributor.commands.check import check
from raquo.distributor.commands.config import config
from raquo.distributor.commands.dev import dev
from raquo.distributor.commands.drain import drain_command
from raquo.distributor.commands.loading import Output, OutputOption
from raquo.distributor.commands.looking import plan, status, tenant
from raquo.distributor.commands.prune import prune
from raquo.distributor.commands.route import route
from raquo.distributor.commands.run import run
from raquo.distributor.commands.skip import skip
from raquo.distributor.commands.uninstall import uninstall

app = typer.Typer(
    name="raquo",
    help="Fair sharing of RabbitMQ workers between tenants.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (run, dev, check, plan, status, tenant, route, bypass, skip, prune, uninstall, config):
    app.command()(command)
app.command("queues", hidden=True)(status)
app.command("drain")(drain_command)


@app.command()
def version(output: OutputOption = Output.TABLE) -> None:
    """Show the versions of Raquo and of what it stands on."""
    found = {name: installed(name) for name in ("raquo", "pika")} | {"python": platform.python_version()}
    text = json.dumps(found) if output is Output.JSON else "  ".join(f"{name} {own}" for name, own in found.items())
    typer.echo(text)
