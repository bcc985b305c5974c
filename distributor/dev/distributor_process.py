"""The distributor of `raquo dev`: `raquo run` as a process of its own, as its users start it.

Its files are in the private broker's directory, and its id beside them: whatever ends the broker, a kill of ourselves
included, ends the distributor and removes the directory. It leads a session of its own, so that a Ctrl-C reaches us
alone and things end in order.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from raquo.broker.local import LocalBroker
from raquo.broker.local_settings import free_ports
from raquo.distributor.config import Config
from raquo.distributor.config_sources import load
from raquo.distributor.config_text import toml
from raquo.distributor.daemon_client import DaemonClient
from raquo.distributor.errors import DistributorError

_HTTP_HOST, _HTTP_PORT = "127.0.0.1", 15690
_SERVES_WITHIN = 30.0
_ENDS_WITHIN = 5.0
_NAME = "distributor"
_PORT_TAKEN = "cannot listen"

MAX_LENGTH = 50
"""Few messages in the targets: fairness begins behind them."""


def configuration(url: str, management_url: str, http: str, state_dir: Path) -> str:
    """The configuration file of the distributor."""
    return f"""\
[broker]
url = {toml(url)}
management_url = {toml(management_url)}

[distributor]
http = {toml(http)}
state_dir = {toml(str(state_dir))}
drain_timeout = "2s"

[defaults]
max_length = {MAX_LENGTH}
"""


class DistributorProcess:
    """Serves a private broker for the length of a `with` block."""

    def __init__(self, broker: LocalBroker) -> None:
        self._broker = broker
        self._process: subprocess.Popen[bytes] | None = None
        self._log = broker.directory / f"{_NAME}.log"
        self._http = ""
        self.file = broker.directory / "raquo.toml"

    def __enter__(self) -> Self:
        try:
            self._serve_on(_usual_port())
        except DistributorError as error:
            if _PORT_TAKEN not in str(error):
                raise
            self._serve_on(free_ports().management)  # somebody was faster
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def http_url(self) -> str:
        """Where its probes, metrics and API are."""
        return f"http://{self._http}"

    def check(self) -> None:
        """Raises `DistributorError` with the end of its log, if it runs no longer."""
        if self._process is None or self._process.poll() is not None:
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise DistributorError(f"the distributor ended; its log says: {' '.join(lines[-3:])}")

    def _serve_on(self, port: int) -> None:
        self._http = f"{_HTTP_HOST}:{port}"
        state_dir = self._broker.directory / "state"
        text = configuration(self._broker.url, self._broker.management_url, self._http, state_dir)
        self.file.write_text(text, encoding="utf-8")
        try:
            self._start()
            self._wait_until_it_serves(load(self.file, environ={}).config)
        except BaseException:
            self._stop()
            raise

    def _start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "raquo", "run", "--config", str(self.file)],
                env={name: value for name, value in os.environ.items() if not name.startswith("RAQUO_")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._broker.adopt(_NAME, self._process.pid)

    def _wait_until_it_serves(self, config: Config) -> None:
        daemon = DaemonClient(config)
        end = time.monotonic() + _SERVES_WITHIN
        while daemon.status() is None:
            self.check()
            if time.monotonic() > end:
                raise DistributorError(f"the distributor did not serve within {_SERVES_WITHIN:g} s")
            time.sleep(0.05)

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._broker.disown(_NAME)


def _usual_port() -> int:
    """The port where every command looks for a daemon; another if somebody has it."""
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((_HTTP_HOST, _HTTP_PORT))
        return _HTTP_PORT
    return free_ports().management
