"""A private RabbitMQ node as processes of ours: the node, an epmd for it alone, and a keeper.

Everything it touches is in one temporary directory of mode 0700: data, log, configuration, plugins, and a
HOME for the cookie. Nothing of the machine's own RabbitMQ is read, and no file or port of it is used, so the
two do not mind each other; nor do two users, nor ten nodes of one user.

The keeper is a shell that waits on a pipe from us. When we say so, or when we die in whatever way, it kills
what is left and removes the directory: `atexit` does not run after SIGKILL or `os._exit`. Node, epmd and
keeper each lead a session of their own, so a Ctrl-C on our terminal is ours to handle, and a group is killed
by its id.

A node may also live in a folder that holds another Debian (`RAQUO_RABBITMQ_ROOT`). It then runs in a chroot
in a mount namespace of its own; the mounts vanish with the process, and the folder stays as it was.
"""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local_settings import Settings, free_ports, write_files

_KEEPER = """
read -r _
for file in "$1"/*.pid; do kill -s KILL -- "-$(cat "$file")"; done 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$1" 2>/dev/null && break; sleep 0.2; done
"""

# The broker's directory has the same path inside: an empty /tmp over the folder's own makes room for it.
_ENTER_CHROOT = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mkdir -p "$1$2"
mount --bind "$2" "$1$2"
root=$1
shift 2
exec chroot "$root" "$@"
"""


# The node's own distribution stays on this machine. Its threads spin for a moment before they sleep: starting
# means ten thousand small file operations, each handed to another thread and back, and where waking a thread
# is dear (virtual machines) this halves the time.
_ERLANG_ARGUMENTS = "-kernel inet_dist_use_interface {127,0,0,1} +sbwt very_short +sbwtdio very_short"


class Installation(Protocol):
    """A place where RabbitMQ is installed."""

    def command(self, directory: Path, program: str, *arguments: str) -> list[str]:
        """The command line of one of its programs, for a broker whose files are in `directory`."""


@dataclass(frozen=True)
class Installed:
    """RabbitMQ's own scripts in a folder of this machine (not a distribution's wrappers around them)."""

    scripts: Path

    def command(self, directory: Path, program: str, *arguments: str) -> list[str]:
        return [str(self.scripts / program) if program.startswith("rabbitmq") else program, *arguments]


@dataclass(frozen=True)
class InChroot:
    """A Debian with its package rabbitmq-server, in a folder."""

    root: Path

    def command(self, directory: Path, program: str, *arguments: str) -> list[str]:
        enter = ["unshare", "--mount", "sh", "-c", _ENTER_CHROOT, "sh", str(self.root), str(directory)]
        found = f"/usr/lib/rabbitmq/bin/{program}" if program.startswith("rabbitmq") else program
        return [*enter, found, *arguments]


class ProcessNode:
    """A node run from an installation; see the head of this file."""

    def __init__(self, installation: Installation, settings: Settings) -> None:
        self.ports = free_ports()
        self.directory = Path(tempfile.mkdtemp(prefix="raquo-broker-", dir="/tmp"))
        self._installation = installation
        self._name = f"raquo-{secrets.token_hex(4)}@127.0.0.1"
        self._epmd: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._keeper = _start_keeper(self.directory)
        (self.directory / "home").mkdir()
        write_files(settings, self.ports, "127.0.0.1", self.directory, self.directory)

    def launch(self) -> None:
        if self._epmd is None or self._epmd.poll() is not None:
            self._epmd = self._spawn("epmd", "-port", str(self.ports.epmd), "-address", "127.0.0.1")
        self._server = self._spawn("rabbitmq-server")

    def why_ended(self) -> str | None:
        for process, log in ((self._server, "rabbitmq-server.log"), (self._epmd, "epmd.log")):
            if process is None or process.poll() is not None:
                return _telling_lines(self.directory / log)
        return None

    def shut_down(self, deadline: float) -> None:
        if self._server is None:
            return
        self._server.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._server.wait(deadline)
        self.kill()

    def kill(self) -> None:
        self._end(self._server, "rabbitmq-server")

    def discard(self) -> None:
        self.kill()
        self._end(self._epmd, "epmd")
        with suppress(OSError):  # a keeper that is gone already
            self._keeper.communicate(b"\n")
        shutil.rmtree(self.directory, ignore_errors=True)

    def ctl(self, *arguments: str) -> str:
        command = self._command("rabbitmqctl", "--longnames", "-n", self._name, *arguments)
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())
            raise LocalBrokerError(f"rabbitmqctl {arguments[0]} failed: {said[:500]}")
        return done.stdout

    def _command(self, program: str, *arguments: str) -> list[str]:
        return self._installation.command(self.directory, program, *arguments)

    def _spawn(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        with (self.directory / f"{program}.log").open("ab") as log:
            try:
                process = subprocess.Popen(
                    self._command(program, *arguments),
                    env=self._environment(),
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except OSError as error:
                raise LocalBrokerError(f"cannot run {program}: {error.strerror}") from error
        (self.directory / f"{program}.pid").write_text(str(process.pid))
        return process

    def _end(self, process: "subprocess.Popen[bytes] | None", program: str) -> None:
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        (self.directory / f"{program}.pid").unlink(missing_ok=True)

    def _environment(self) -> dict[str, str]:
        """All that the node sees: none of our own environment, none of the machine's RabbitMQ settings."""
        here = self.directory
        return {
            "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(here / "home"),
            "ERL_EPMD_PORT": str(self.ports.epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_CRASH_DUMP_SECONDS": "0",
            "RUNNING_UNDER_SYSTEMD": "true",  # the start script becomes the node instead of watching over it
            "RABBITMQ_NODENAME": self._name,
            "RABBITMQ_USE_LONGNAME": "true",
            "RABBITMQ_DIST_PORT": str(self.ports.distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _ERLANG_ARGUMENTS,
            "RABBITMQ_CONF_ENV_FILE": str(here / "rabbitmq-env.conf"),
            "RABBITMQ_CONFIG_FILE": str(here / "rabbitmq.conf"),
            "RABBITMQ_CONFIG_FILES": str(here / "conf.d"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(here / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(here / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(here / "data"),
            "RABBITMQ_LOG_BASE": str(here / "log"),
            "RABBITMQ_LOGS": "-",
        }


def _start_keeper(directory: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        ["/bin/sh", "-c", _KEEPER, "raquo-keeper", str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )


def _telling_lines(log: Path, count: int = 12) -> str:
    """The first errors of a log, because the last ones are only their consequences; without any, its end."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    errors = [line for line in lines if "[error]" in line or "eaddrinuse" in line]
    return "\n".join(errors[:count] or lines[-count:])
