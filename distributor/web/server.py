"""Runs the application inside the daemon's loop.

uvicorn means to own its process: it takes over the signals, ends the process when a port is in use, and sets up logs of
its own. Here the daemon does these things, so each of them is turned off.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from raquo.distributor.web.access import Address
from raquo.distributor.web.errors import CannotListen

_GRACE = 2  # seconds that answers on their way get when the server stops; a slow reader must not hold up a shutdown
_ABSENT = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)  # e.g. localhost means ::1, too, on a machine without IPv6


class WebServer:
    """Serves an application on an address from `start` to `stop`."""

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._address = address
        self._server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                ws="none",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._serving: asyncio.Task[None] | None = None
        self._port = address.port

    @property
    def url(self) -> str:
        """Where it is, with the port that port 0 became."""
        return f"http://{Address(self._address.host, self._port)}"

    async def start(self) -> None:
        """Listen; returns when requests are served. Raises CannotListen, one line, where that cannot be."""
        sockets = _listen(self._address)
        self._port = sockets[0].getsockname()[1]
        self._serving = asyncio.create_task(self._server.serve(sockets), name="raquo web server")
        ready = asyncio.create_task(self._server.ready.wait())
        await asyncio.wait({self._serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await self._serving  # raises what went wrong

    async def stop(self) -> None:
        """Finish the answers on their way, at most for two seconds, and close."""
        if self._serving is None:
            return
        self._server.should_exit = True
        await self._serving
        self._serving = None


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it serves and leaves signals to the daemon."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(address: Address) -> list[socket.socket]:
    """Listening sockets for all that a host's name stands for, on one port."""
    sockets: list[socket.socket] = []
    problem: OSError | None = None
    try:
        for family, _, _, _, where in socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM):
            port = sockets[0].getsockname()[1] if sockets else address.port
            try:
                sockets.append(_socket(family, (where[0], port, *where[2:])))
            except OSError as absent:
                if absent.errno not in _ABSENT:
                    raise
                problem = absent
    except OSError as other:
        problem = other
        while sockets:
            sockets.pop().close()
    if not sockets:
        raise CannotListen(f"cannot listen on {address}: {_words(problem)}") from problem
    return sockets


def _socket(family: int, where: tuple[Any, ...]) -> socket.socket:
    both = family == socket.AF_INET6 and where[0] == "::" and socket.has_dualstack_ipv6()
    return socket.create_server(where, family=family, dualstack_ipv6=both)


def _words(problem: OSError | None) -> str:
    """The system's words for an error; a number below 0 is the resolver's, which brings its own."""
    if problem is None or problem.errno is None:
        return str(problem)
    return os.strerror(problem.errno) if problem.errno > 0 else str(problem.strerror)
