"""What a private broker is made of, as processes or in a container: its contract and settings.

Ports are taken from below the range the kernel hands out to clients. A client that keeps trying to connect to
a port of that range on its own machine, while the broker behind it restarts, can be given that very port as
its own and so connect to itself; and any other client may sit on it when the broker comes back.
"""

import random
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

PLUGINS = ("rabbitmq_management", "rabbitmq_shovel", "rabbitmq_shovel_management")
_FIRST_PORT, _LAST_PORT = 20_000, 32_000


@dataclass(frozen=True)
class ServerCertificate:
    """The files a broker shows on its TLS listeners, and the authority that signs its clients' ones."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True)
class Settings:
    """What the caller chose: lines for rabbitmq.conf, plugins, and a certificate if TLS is wanted as well."""

    config: str = ""
    plugins: Sequence[str] = PLUGINS
    certificate: ServerCertificate | None = None


@dataclass(frozen=True)
class Ports:
    """The ports of one broker, all on 127.0.0.1."""

    amqp: int
    management: int
    amqp_tls: int
    management_tls: int
    distribution: int
    epmd: int


class LocalNode(Protocol):
    """One broker of ours; `LocalBroker` drives it and knows nothing else about it."""

    ports: Ports
    directory: Path

    def launch(self) -> None:
        """Start it and return at once; what it kept from before is still there."""

    def why_ended(self) -> str | None:
        """What its log says about it if it runs no longer, else None."""

    def shut_down(self, deadline: float) -> None:
        """Stop it as an administrator would, and keep its data."""

    def kill(self) -> None:
        """End it at once, as a power cut would, and keep its data."""

    def discard(self) -> None:
        """End it and leave nothing behind."""

    def ctl(self, *arguments: str) -> str:
        """Run rabbitmqctl on it and return what it printed."""


def free_ports() -> Ports:
    """Six ports that nobody listens on now; somebody may a moment later, so be ready to take others."""
    found: list[int] = []
    while len(found) < 6:
        port = random.randint(_FIRST_PORT, _LAST_PORT)  # noqa: S311
        if port not in found and _is_free(port):
            found.append(port)
    return Ports(*found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def rabbitmq_conf(settings: Settings, ports: Ports, address: str, files: Path) -> str:
    """The text of rabbitmq.conf; `files` is where the broker finds its certificate."""
    lines = [
        f"listeners.tcp.default = {address}:{ports.amqp}",
        f"management.tcp.ip = {address}",
        f"management.tcp.port = {ports.management}",
    ]
    if settings.certificate:
        lines += _tls_lines(ports, address, files)
    return "\n".join([*lines, settings.config, ""])


def _tls_lines(ports: Ports, address: str, files: Path) -> list[str]:
    lines = [
        f"listeners.ssl.default = {address}:{ports.amqp_tls}",
        f"management.ssl.ip = {address}",
        f"management.ssl.port = {ports.management_tls}",
    ]
    for prefix in ("ssl_options", "management.ssl"):
        lines += [
            f"{prefix}.cacertfile = {files}/ca.pem",
            f"{prefix}.certfile = {files}/cert.pem",
            f"{prefix}.keyfile = {files}/key.pem",
            f"{prefix}.verify = verify_peer",
            f"{prefix}.fail_if_no_peer_cert = true",
        ]
    return lines


def write_files(settings: Settings, ports: Ports, address: str, directory: Path, seen_as: Path) -> None:
    """Put configuration, plugins and certificate into `directory`, which the broker sees as `seen_as`."""
    (directory / "rabbitmq.conf").write_text(rabbitmq_conf(settings, ports, address, seen_as))
    (directory / "enabled_plugins").write_text(f"[{','.join(settings.plugins)}].\n")
    if settings.certificate:
        for name in ("ca", "cert", "key"):
            (directory / f"{name}.pem").write_bytes(getattr(settings.certificate, name).read_bytes())
