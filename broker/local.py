"""A private RabbitMQ broker for development and tests: started, used, and gone without a trace.

`with LocalBroker() as broker:` finds a RabbitMQ, starts a node of its own on free ports of 127.0.0.1, waits
until it serves AMQP and the management API, and afterwards removes everything. Where it looks, in this order:
the folder named by RAQUO_RABBITMQ_ROOT (a Debian with rabbitmq-server in it; needs root), an installed
rabbitmq-server, a Docker engine. It installs nothing: when there is none it says which line to type.

A node that ends before it serves is an error at once, with the errors of its log in it; only when the reason was
that somebody took one of its ports in the meantime it is started again on others.
"""

import atexit
import base64
import json
import os
import re
import shutil
import socket
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local_container import ContainerNode, engine_answers
from raquo.broker.local_process import InChroot, Installed, ProcessNode
from raquo.broker.local_settings import PLUGINS, LocalNode, ServerCertificate, Settings

__all__ = ["LocalBroker", "ServerCertificate", "find_server"]

_FOLDERS = ("/usr/lib/rabbitmq/bin", "/opt/rabbitmq/sbin", "/opt/homebrew/opt/rabbitmq/sbin")
_NONE_FOUND = (
    "no RabbitMQ was found: type `apt-get install rabbitmq-server` (Debian, Ubuntu; "
    "no service needs to run), or start a Docker engine"
)
_TRIES = 3
_PORT_TAKEN = re.compile("eaddrinuse|address already in use", re.IGNORECASE)

NodeMaker = Callable[[Settings], LocalNode]


def find_server(env: Mapping[str, str] = os.environ) -> NodeMaker:
    """What can start a broker here: a function from its settings to the node."""
    if folder := env.get("RAQUO_RABBITMQ_ROOT"):
        return _in_chroot(Path(folder))
    if scripts := _installed_scripts(env):
        return lambda settings: ProcessNode(Installed(scripts), settings)
    if engine_answers():
        return ContainerNode
    raise LocalBrokerError(_NONE_FOUND)


def _in_chroot(root: Path) -> NodeMaker:
    if not (root / "usr/lib/rabbitmq/bin/rabbitmq-server").is_file():
        raise LocalBrokerError(f"no rabbitmq-server in {root}: `make test-rabbitmq4` prepares such a folder")
    if os.geteuid() != 0:
        raise LocalBrokerError(f"only root can start the rabbitmq-server in {root}: it runs in a chroot")
    return lambda settings: ProcessNode(InChroot(root.resolve()), settings)


def _installed_scripts(env: Mapping[str, str]) -> Path | None:
    """The folder of RabbitMQ's own scripts, which unlike a package's wrappers run as anybody, anywhere."""
    folders = [Path(folder) for folder in _FOLDERS]
    if command := shutil.which("rabbitmq-server", path=env.get("PATH")):
        folders.insert(0, Path(command).resolve().parent)
    whole = (f for f in folders if (f / "rabbitmq-server").is_file() and (f / "rabbitmq-env").is_file())
    return next(whole, None)


class LocalBroker:
    """A private broker; `start` and `stop`, or a `with` block."""

    def __init__(
        self,
        *,
        root: Path | None = None,
        config: str = "",
        plugins: Sequence[str] = PLUGINS,
        certificate: ServerCertificate | None = None,
        deadline: float = 90.0,
    ) -> None:
        """`root` is a folder as for RAQUO_RABBITMQ_ROOT, `config` more lines for rabbitmq.conf."""
        self._settings = Settings(config, tuple(plugins), certificate)
        self._make_node = _in_chroot(root) if root else find_server()
        self._deadline = deadline
        self._node: LocalNode | None = None
        self._owner = os.getpid()
        self.version = ""

    def __enter__(self) -> "LocalBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def node(self) -> LocalNode:
        """The node behind this broker, if there is one."""
        if self._node is None:
            raise LocalBrokerError("this broker is not started")
        return self._node

    @property
    def running(self) -> bool:
        """Is it there, and not killed?"""
        return self._node is not None and self._node.why_ended() is None

    @property
    def directory(self) -> Path:
        """Where its data, log and configuration are."""
        return self.node.directory

    @property
    def url(self) -> str:
        """Its AMQP URL, with user and password."""
        return f"amqp://guest:guest@127.0.0.1:{self.node.ports.amqp}/%2f"

    @property
    def management_url(self) -> str:
        """Its management API, without user and password (guest, guest)."""
        return f"http://127.0.0.1:{self.node.ports.management}"

    @property
    def tls_url(self) -> str:
        """Its AMQP URL with TLS, if it was given a certificate."""
        return f"amqps://guest:guest@127.0.0.1:{self.node.ports.amqp_tls}/%2f"

    @property
    def tls_management_url(self) -> str:
        """Its management API with TLS, if it was given a certificate."""
        return f"https://127.0.0.1:{self.node.ports.management_tls}"

    def start(self) -> None:
        """Start it and wait until it serves; after `kill`, on the same ports with the same data."""
        if self._node is None:
            self._start_anew()
        elif not self.running:
            self._launch(self._node)

    def stop(self) -> None:
        """End it and remove everything it had; its data go anyway, so there is no gentle way."""
        node, self._node = self._node, None
        atexit.unregister(self.stop)
        if node is not None and os.getpid() == self._owner:  # a fork's exit must not end its parent's broker
            node.discard()

    def restart(self) -> None:
        """Shut it down as an administrator would, and start it again with the same ports and data."""
        self.node.shut_down(self._deadline)
        self.start()

    def kill(self) -> None:
        """End the node as a power cut would; `start` brings it back with what it had on disk."""
        self.node.kill()

    def ctl(self, *arguments: str) -> str:
        """Run rabbitmqctl on it and return what it printed."""
        return self.node.ctl(*arguments)

    def adopt(self, name: str, leader: int) -> None:
        """Let a process that leads a group of its own end with a node that runs as processes, however we end."""
        self._adopted(name).write_text(str(leader))

    def disown(self, name: str) -> None:
        """That process has ended."""
        self._adopted(name).unlink(missing_ok=True)

    def _adopted(self, name: str) -> Path:
        return self.directory / f"{name}.pid"  # a node's keeper ends every group whose leader stands in such a file

    def _start_anew(self) -> None:
        atexit.register(self.stop)
        for attempt in range(1, _TRIES + 1):
            self._node = self._make_node(self._settings)
            try:
                self._launch(self._node)
            except BaseException as error:
                self.stop()
                if attempt == _TRIES or not _PORT_TAKEN.search(str(error)):
                    raise
            else:
                return

    def _launch(self, node: LocalNode) -> None:
        node.launch()
        end = time.monotonic() + self._deadline
        while not self._serves():
            log = node.why_ended()
            if log is not None:
                raise LocalBrokerError(f"the private RabbitMQ ended early; its log says:\n{log}")
            if time.monotonic() > end:
                raise LocalBrokerError(f"the private RabbitMQ did not serve within {self._deadline:g} s")
            time.sleep(0.05)

    def _serves(self) -> bool:
        with suppress(OSError, ValueError):
            socket.create_connection(("127.0.0.1", self.node.ports.amqp), timeout=1).close()
            self.version = _version(self.management_url)
            return True
        return False


def _version(management_url: str) -> str:
    request = urllib.request.Request(f"{management_url}/api/overview")  # noqa: S310
    request.add_header("Authorization", "Basic " + base64.b64encode(b"guest:guest").decode())
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=5) as answer:
        return str(json.load(answer)["rabbitmq_version"])
