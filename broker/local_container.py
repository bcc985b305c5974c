"""A private RabbitMQ as a container, where there is a Docker engine and no installed rabbitmq-server.

The official image with its management plugin, published on 127.0.0.1 only, driven by the `docker` command.
"""

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local_settings import Ports, Settings, free_ports, write_files

IMAGE = "rabbitmq:4-management"
_INSIDE = Ports(5672, 15672, amqp_tls=5671, management_tls=15671, distribution=25672, epmd=4369)
_PUBLISHED = ("amqp", "management", "amqp_tls", "management_tls")


def engine_answers() -> bool:
    """Is there a Docker engine that answers soon?"""
    with suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(["docker", "info"], capture_output=True, timeout=5, check=False).returncode == 0
    return False


class ContainerNode:
    """A broker in a container: `docker create` once, then start, stop, kill; `docker rm` at the end."""

    def __init__(self, settings: Settings) -> None:
        self.ports = free_ports()
        self.directory = Path(tempfile.mkdtemp(prefix="raquo-broker-"))
        write_files(settings, _INSIDE, "0.0.0.0", self.directory, Path("/etc/rabbitmq"))  # noqa: S104
        self._id: str | None = None

    def launch(self) -> None:
        self._id = self._id or self._create()
        _docker("start", self._id)

    def why_ended(self) -> str | None:
        if self._id and _docker("inspect", "--format", "{{.State.Running}}", self._id).strip() == "true":
            return None
        return _docker("logs", "--tail", "12", self._id) if self._id else ""

    def shut_down(self, deadline: float) -> None:
        if self._id:
            _docker("stop", "--time", str(int(deadline)), self._id)

    def kill(self) -> None:
        if self._id:
            _docker("kill", self._id)

    def discard(self) -> None:
        identifier, self._id = self._id, None
        if identifier:
            _docker("rm", "--force", "--volumes", identifier)
        shutil.rmtree(self.directory, ignore_errors=True)

    def ctl(self, *arguments: str) -> str:
        return _docker("exec", str(self._id), "rabbitmqctl", *arguments)

    def _create(self) -> str:
        publish = [f"127.0.0.1:{getattr(self.ports, name)}:{getattr(_INSIDE, name)}" for name in _PUBLISHED]
        options = [word for port in publish for word in ("--publish", port)]
        identifier = _docker("create", *options, IMAGE).strip().splitlines()[-1]
        for file in self.directory.iterdir():
            _docker("cp", str(file), f"{identifier}:/etc/rabbitmq/{_name_inside(file.name)}")
        return identifier


def _name_inside(name: str) -> str:
    return {"rabbitmq.conf": "conf.d/90-raquo.conf"}.get(name, name)


def _docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LocalBrokerError(f"docker {arguments[0]} failed: {' '.join(done.stderr.split())[:500]}")
    return done.stdout + (done.stderr if arguments[0] == "logs" else "")
