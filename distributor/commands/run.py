"""`raquo run`: the daemon."""

import asyncio
from typing import Annotated

import typer

from raquo.distributor.commands.loading import ConfigOption, UrlOption, load_config, load_with_origins, one_line_errors
from raquo.mutators.names import typed


def run(
    config: ConfigOption = None,
    url: UrlOption = None,
    target: Annotated[list[str] | None, typer.Option("--target", help="Serve this target only; repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but move.")] = False,
) -> None:
    """Keep every target just full, fairly, until SIGTERM; SIGHUP reads the configuration again."""
    from raquo.distributor.daemon import Daemon  # with the web server, which only this command needs

    with one_line_errors():
        loaded = load_with_origins(config, url)
        file = loaded.place  # also one that was found: should it vanish, a reload is refused
        only = tuple(typed(name) for name in target or ())

        async def serve() -> int:
            return await Daemon(loaded.config, lambda: load_config(file, url), only, dry_run).run()

        raise typer.Exit(asyncio.run(serve()))
