"""The daemon: puts everything together, and lives until it is told to stop. The only module that knows every class.

SIGTERM and SIGINT stop it: nothing more is granted, what is on its way is settled, at most for `drain_timeout`; a
second signal ends it at once. SIGHUP reads the configuration again; one that is wrong is refused whole, and the old
one stays.
"""

import asyncio
import signal
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import structlog

from raquo.distributor.bypass import BypassFile
from raquo.distributor.config import Config
from raquo.distributor.errors import BadConfiguration
from raquo.distributor.explaining import explain
from raquo.distributor.logs import LogEvents, configure_logs
from raquo.distributor.metrics import Metrics
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches
from raquo.distributor.status import PlannedTarget, Status
from raquo.distributor.telemetry import EACH_TIME, Reloaded, Telemetry, Warned
from raquo.distributor.transports import client_transports
from raquo.distributor.web.access import Access, Address, token_in
from raquo.distributor.web.app import make_app
from raquo.distributor.web.server import WebServer

_log = structlog.get_logger("raquo")
_WATCH_BYPASS = 0.5


class Daemon:
    """One replica with its signals, its web server and its configuration."""

    def __init__(
        self, config: Config, reread: Callable[[], Config], only: tuple[str, ...] = (), dry_run: bool = False
    ) -> None:
        self._config = config
        self._reread = reread
        self._stop = asyncio.Event()
        self._bypass = BypassFile(config.distributor.state_dir, time.time)
        self._telemetry = Telemetry()
        switches = Switches(bypass=self._bypass.active, dry_run=dry_run)
        self._replica = Replica(config, client_transports(config), self._telemetry, switches, only)

    async def run(self) -> int:
        """Serve until told to stop; the exit code."""
        configure_logs(self._config.log.level, self._config.log.format)
        self._telemetry.subscribe(LogEvents(time.monotonic))
        web = await self._start_web()
        self._replica.start()
        self._on_signals()
        watching = asyncio.create_task(self._watch_bypass())
        self._say_started(web)
        await self._stop.wait()
        watching.cancel()
        given_back = await self._replica.stop(self._config.distributor.drain_timeout)
        if web is not None:
            await web.stop()
        _log.info("stopped", given_back=given_back)
        return 0

    # What the web server sees

    def about(self) -> dict[str, Any]:
        """Who this is."""
        return {"raquo": version("raquo"), "broker": self._replica.broker, "vhost": self._replica.vhost}

    def status(self, only: str | None = None) -> Status:
        """The whole picture, or one target."""
        return self._replica.status(only)

    def plan(self, only: str | None = None) -> list[PlannedTarget]:
        """What the next rounds would move."""
        return self._replica.plan(only)

    def alive(self) -> bool:
        """Whether the loop turned lately."""
        return self._replica.alive()

    def problems(self) -> list[str]:
        """Why it is not ready."""
        return self._replica.problems()

    def explain(self, target: str, tenant: str | None) -> dict[str, Any] | None:
        """Why somebody waits."""
        return explain(self._replica.status(target), target, tenant)

    def set_bypass(self, on: bool, reason: str, seconds: float | None) -> None:
        """Let everything flow at once, or no longer."""
        self._bypass.switch(on, reason, seconds)
        self._apply_bypass()
        _log.warning("bypass", on=on, reason=reason, seconds=seconds)

    # Parts

    async def _start_web(self) -> WebServer | None:
        section = self._config.distributor
        if section.http is None:
            return None
        token = section.http_token.get_secret_value()
        made = token or token_in(section.state_dir)
        access = Access(Address(*section.http), made, bool(token), section.http_hosts)
        vhost = self._config.broker.urls()[0].vhost
        metrics = Metrics(self._telemetry, self.status, vhost, self._config.metrics.top_tenants)
        web = WebServer(make_app(self, metrics, access), access.address)
        await web.start()
        return web

    def _say_started(self, web: WebServer | None) -> None:
        facts = {"broker": self._replica.broker, "http": web.url if web else "off"}
        _log.info("started", **facts, dry_run=self._replica.switches.dry_run, bypass=self._bypass.active)

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_reload)

    def _on_stop(self, number: int) -> None:
        if self._stop.is_set():  # a second one: at once
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        _log.info("stopping", signal=signal.Signals(number).name)
        self._stop.set()

    def _on_reload(self) -> None:
        try:
            config = self._reread()
        except BadConfiguration as error:
            self._telemetry.emit(Reloaded(str(error)))
            return
        self._config = config
        self._replica.reload(config)
        self._telemetry.emit(Reloaded())

    async def _watch_bypass(self) -> None:
        """A bypass may end by itself."""
        while True:
            self._apply_bypass()
            await asyncio.sleep(_WATCH_BYPASS)

    def _apply_bypass(self) -> None:
        active = self._bypass.active
        if active != self._replica.switches.bypass:
            self._replica.switches.bypass = active
            text = f"bypass is {'on: everything staged flows at once' if active else 'off'}"
            self._telemetry.emit(Warned(text, EACH_TIME))
            self._replica.wake_all()
