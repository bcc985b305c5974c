"""What tests of the way out share: a daemon that answers, its configuration, and what a broker is defined to be."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.admin import Admin
from support.brokers import Broker
from support.serving import DaemonProcess, raquo, toml_for
from support.waiting import wait_until

DONE = ("--reason", "a test", "--yes")
"""What a command that changes something is given."""


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def configured(folder: Path, node: Broker, vhost_url: str, more: str = "") -> Path:
    """A file raquo.toml in the folder where commands are run, for a daemon with HTTP unless `more` says otherwise."""
    distributor = f'[distributor]\nhttp = "127.0.0.1:{free_port()}"\ndiscover_every = "500ms"\n'
    file = folder / "raquo.toml"
    file.write_text(toml_for(vhost_url, node.management_url, more if "[distributor]" in more else distributor + more))
    return file


@contextmanager
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    """`raquo run` by the file in that folder, once it serves; stopped at the end."""
    process = DaemonProcess(folder, (folder / "raquo.toml").read_text(encoding="utf-8"))
    process.start()
    try:
        wait_until(lambda: process.logged('"started"') or process.logged("started"), deadline=30, what="it has started")
        yield process
    finally:
        process.close()


def ended_well(done: "subprocess.CompletedProcess[str]") -> Any:
    """What a command printed with `-o json`."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refusal(folder: Path, *arguments: str, code: int = 1) -> str:
    """The one line with which a command refuses."""
    done = raquo(folder, *arguments)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    [line] = done.stderr.splitlines()
    return line


def definitions(admin: Admin, vhost: str) -> dict[str, Any]:
    """Everything that is defined in a virtual host, in one order."""
    exported = admin.get("definitions", vhost)
    lists = {key: value for key, value in exported.items() if isinstance(value, list)}
    return {key: sorted(value, key=lambda one: json.dumps(one, sort_keys=True)) for key, value in lists.items()}
