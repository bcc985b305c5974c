"""A replica, or a whole daemon as a process, for the length of a test."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raquo.broker.loop_thread import LoopThread
from raquo.distributor.config import Config
from raquo.distributor.replica import Replica
from raquo.distributor.round import Switches
from raquo.distributor.status import StagingStatus, Status, TargetStatus
from raquo.distributor.telemetry import Event, Telemetry
from raquo.distributor.transports import client_transports
from support.waiting import wait_until


def config_for(url: str, management_url: str, **sections: Any) -> Config:
    """A configuration for this broker; `defaults=…`, `distributor=…`, `weight=…` as in the file."""
    broker = {"url": url, "management_url": management_url}
    return Config.model_validate({"broker": broker, **sections})


class Serving:
    """A replica in a thread of its own."""

    def __init__(self, config: Config, switches: Switches, only: tuple[str, ...]) -> None:
        self.events: list[Event] = []
        self.switches = switches
        self._loop = LoopThread("replica under test")
        telemetry = Telemetry()
        telemetry.subscribe(self.events.append)
        self._telemetry = telemetry
        self.replica = self._loop.run(self._start(config, only), 10)

    def status(self) -> Status:
        return self._loop.run(self._status(), 10)

    def target(self, name: str) -> TargetStatus:
        return next(one for one in self.status().targets if one.target == name)

    def staging(self, queue: str) -> StagingStatus | None:
        found = (one for target in self.status().targets for one in target.staging if one.queue == queue)
        return next(found, None)

    def reload(self, config: Config) -> None:
        self._loop.run(self._reload(config), 10)

    def stop(self, drain: float = 5.0) -> int:
        try:
            return self._loop.run(self.replica.stop(drain), drain + 20)
        finally:
            self._loop.stop()

    def heard(self, kind: type[Any]) -> list[Any]:
        """The events of one kind so far."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    async def _start(self, config: Config, only: tuple[str, ...]) -> Replica:
        replica = Replica(config, client_transports(config), self._telemetry, self.switches, only)
        replica.start()
        return replica

    async def _status(self) -> Status:
        return self.replica.status()

    async def _reload(self, config: Config) -> None:
        self.replica.reload(config)


@contextmanager
def serving(config: Config, switches: Switches | None = None, only: tuple[str, ...] = ()) -> Iterator[Serving]:
    """A running replica; stopped at the end, if it was not before."""
    one = Serving(config, switches or Switches(), only)
    try:
        yield one
    finally:
        if not one.switches.stopping:
            one.stop()


class DaemonProcess:
    """`raquo run` as its users start it."""

    def __init__(self, folder: Path, toml: str, *arguments: str) -> None:
        self._folder = folder
        self.file = folder / "raquo.toml"
        self.file.write_text(toml, encoding="utf-8")
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "daemon.log"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "raquo", "run", "--config", str(self.file), *self._arguments],
                stdout=log,
                stderr=log,
                env=_environment(self._folder),
            )

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self, timeout: float = 30) -> int:
        assert self._process is not None
        return self._process.wait(timeout)

    def logged(self, text: str) -> bool:
        return text in self.log.read_text(encoding="utf-8")

    def lines(self) -> list[dict[str, Any]]:
        """What it logged, as JSON."""
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines() if line[:1] == "{"]

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(30)


def raquo(folder: Path, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """One command of the command line, as its users type it."""
    return subprocess.run(
        [sys.executable, "-m", "raquo", *arguments],
        capture_output=True, text=True, timeout=timeout, check=False, env=_environment(folder), cwd=folder,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def raquo_json(folder: Path, *arguments: str) -> Any:
    """What a command prints with `-o json`; it has to end well."""
    done = raquo(folder, *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _environment(folder: Path) -> dict[str, str]:
    ours = {key: value for key, value in os.environ.items() if not key.startswith("RAQUO_")}
    return {**ours, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}


def toml_for(url: str, management_url: str, more: str = "") -> str:
    """A configuration file for this broker, without HTTP unless `more` says otherwise."""
    http = "" if "[distributor]" in more else '[distributor]\nhttp = "off"\n'
    return f'[broker]\nurl = "{url}"\nmanagement_url = "{management_url}"\n{http}{more}'


def wait_until_served(one: Serving, target: str) -> None:
    """Until the replica knows a target."""
    wait_until(lambda: any(t.target == target for t in one.status().targets), what=f"{target} is served")
