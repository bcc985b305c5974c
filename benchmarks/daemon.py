"""`raquo run` as a process of its own, as its users start it, and what can be seen of it from outside.

Processor time and memory are read from /proc, so they are the daemon's own; rounds and listings from its metrics.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from benchmarks.child import ContenderFailed
from raquo.broker.local import LocalBroker

_TO_GET_READY = 30.0
_TO_STOP = 30.0
_SAMPLE = re.compile(r"^(\w+)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


class DaemonApart:
    """One running daemon."""

    def __init__(self, process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
        self._process = process
        self._address = address
        self._log = log
        self._session = requests.Session()
        self._session.trust_env = False

    def cpu_seconds(self) -> float:
        """User and system time so far, in steps of 10 ms."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Resident bytes."""
        return int(self._proc("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def metrics(self) -> dict[str, float]:
        """Its metrics by name, summed over their labels."""
        text = self._session.get(f"{self._address}/metrics", timeout=10).text
        summed: defaultdict[str, float] = defaultdict(float)
        for name, value in _SAMPLE.findall(text):
            summed[name] += float(value)
        return summed

    def wait_until_ready(self) -> None:
        """Until it has listed the queues once."""
        end = time.monotonic() + _TO_GET_READY
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > end:
                raise ContenderFailed(f"the daemon did not get ready: {self._log.read_text()[-500:]}")
            time.sleep(0.02)

    def stop(self) -> None:
        """As an administrator would; it has to end well."""
        self._process.send_signal(signal.SIGTERM)
        if self._process.wait(_TO_STOP):
            raise ContenderFailed(f"the daemon did not end well: {self._log.read_text()[-500:]}")

    def _ready(self) -> bool:
        try:
            return self._session.get(f"{self._address}/readyz", timeout=2).ok
        except requests.RequestException:
            return False

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self._process.pid}/{name}").read_text()


@contextmanager
def daemon(broker: LocalBroker, **defaults: int | str) -> Iterator[DaemonApart]:
    """A daemon for this broker, with these settings for every target, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="raquo-bench-") as name:
        folder = Path(name)
        port = _free_port()
        (folder / "raquo.toml").write_text(_toml(broker, port, defaults), encoding="utf-8")
        with (folder / "log").open("wb") as log:
            command = [sys.executable, "-m", "raquo", "run", "--config", str(folder / "raquo.toml")]
            process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment(folder))
        try:
            yield DaemonApart(process, f"http://127.0.0.1:{port}", folder / "log")
        finally:
            process.kill()
            process.wait()


def _toml(broker: LocalBroker, port: int, defaults: dict[str, int | str]) -> str:
    settings = "".join(f"{key} = {value!r}\n" for key, value in defaults.items())
    return (
        f'[broker]\nurl = "{broker.url}"\nmanagement_url = "{broker.management_url}"\n'
        f'[distributor]\nhttp = "127.0.0.1:{port}"\n[defaults]\n{settings}[log]\nlevel = "warning"\n'
    )


def _environment(folder: Path) -> dict[str, str]:
    others = {key: value for key, value in os.environ.items() if not key.startswith("RAQUO_")}
    return {**others, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
