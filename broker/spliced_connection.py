"""A pika connection whose bytes pass through a splice before pika sees them.

pika does the handshake, TLS, heartbeats, `connection.blocked` and everything else on channel 0; the channels of the
splice never reach it. That takes members of pika that are not public. They are named here and nowhere else, looked up
when this module is imported, and a version of pika that the tests have not seen is refused rather than trusted.

**Reading is paced.** A broker sends what it has, a few messages at a time; a read, a write and a turn of the loop for
each such bit would cost more than the messages in it. While messages flow the socket is therefore looked at every two
milliseconds, and what has gathered meanwhile is passed on in one go; when a look finds nothing, the loop watches the
socket again.

**While much waits to be written** nothing is read, as long as the broker takes some of it. If it takes nothing it may
have an alarm, and the notice of that stands behind the messages it has sent: they are read on, as many as the windows
of the grants let it send.
"""

from typing import Any

import pika
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.adapters.utils.io_services_utils import _AsyncPlaintextTransport, _AsyncSSLTransport
from pika.connection import Connection

from raquo.broker.errors import UntestedPika
from raquo.broker.splice import Splice

TESTED = ("1.3.2", "1.4.4")
_MEMBERS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (Connection, ("_on_data_available", "_adapter_emit_data", "_terminate_stream")),
    (_AsyncPlaintextTransport, ("_MAX_RECV_BYTES", "_MAX_CONSUME_BYTES", "_STATE_ACTIVE", "_on_socket_readable")),
    (_AsyncSSLTransport, ("_MAX_RECV_BYTES", "_STATE_ACTIVE", "_on_socket_readable")),
)
_READ_AT_ONCE = 120 * 1024  # more would be allocated page by page
_FLOW = 4096  # a read of so many bytes is part of a flow
_PACE = 0.002
WRITE_BUFFER_FULL = 8 * 1024 * 1024
_WRITE_BUFFER_LOW = 1024 * 1024
_LOOKS_BETWEEN_READS = 100  # while the broker takes a little at a time; heartbeats are heard in between


def check_pika(version: str) -> None:
    """Refuse a pika that the splice was not tested with."""
    oldest, newest = (_parts(v) for v in TESTED)
    missing = [name for owner, names in _MEMBERS for name in names if not hasattr(owner, name)]
    if missing or not oldest <= _parts(version) <= newest:
        raise UntestedPika(
            f"the mover was tested with pika {TESTED[0]} to {TESTED[1]}, not with {version}"
            f"{' (it lacks ' + ', '.join(missing) + ')' if missing else ''}: pip install 'pika=={TESTED[1]}'"
        )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:3])


check_pika(pika.__version__)


class SplicedConnection(AsyncioConnection):  # type: ignore[misc]  # pika ships no types
    """An asyncio connection that hands its bytes to a `Splice` first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.splice: Splice | None = None
        self._plain = False  # no TLS: what the socket does not announce is not there
        self._paced = False  # the socket is looked at, not watched
        self._looks = 0
        self._unwritten = 0  # bytes, at the last look
        self._heard = 0  # bytes, since the last look
        super().__init__(*arguments, **options)

    def begin(self, splice: Splice) -> None:
        """From now on the splice sees the bytes first; called once, when the connection is open."""
        self.splice = splice
        self._plain = isinstance(self._transport, _AsyncPlaintextTransport)
        self._transport._MAX_RECV_BYTES = _READ_AT_ONCE
        if self._plain:
            self._transport._MAX_CONSUME_BYTES = 1  # one read a turn; a second one would mostly find nothing

    @property
    def unwritten(self) -> int:
        """How many bytes wait until the socket takes them."""
        return int(self._transport.get_write_buffer_size()) if self._transport is not None else 0

    def send_output(self) -> None:
        """Write what the splice has to say, and stop reading while the broker does not take it."""
        if self.splice is None or self._transport is None:
            return
        output = self.splice.take_output()
        if output:
            self.bytes_sent += len(output)
            output = output[self._sent_at_once(output) :]
        if output:
            self._adapter_emit_data(output)
            if self._transport.get_write_buffer_size() > WRITE_BUFFER_FULL:
                self._look_later()

    def _sent_at_once(self, output: bytes) -> int:
        """How much the socket takes right away, which saves pika two system calls and a turn of the loop."""
        if not self._plain or self._transport.get_write_buffer_size():
            return 0
        try:
            return int(self._transport._sock.send(output))
        except OSError:  # full, or broken: pika finds out by itself
            return 0

    def _on_data_available(self, data: bytes) -> None:
        if self.splice is None:
            super()._on_data_available(data)
            return
        self._heard += len(data)
        others = self.splice.receive(data)
        self.bytes_received += len(data) - len(others)  # pika counts its own; its heartbeat looks at the sum
        self.send_output()
        if self._plain and _FLOW <= len(data) < _READ_AT_ONCE:
            self._look_later()
        if others:
            super()._on_data_available(others)

    def _look_later(self) -> None:
        """From watching the socket to looking at it."""
        if not self._paced and self._transport is not None:
            self._paced, self._looks = True, 0
            self._nbio.remove_reader(self._transport._sock.fileno())
            self._nbio.call_later(_PACE, self._look)

    def _look(self) -> None:
        """Read what has gathered, unless the broker has to take something first; watch again when there is nothing."""
        transport = self._transport
        if transport is None or transport._state != transport._STATE_ACTIVE:
            return
        self._looks += 1
        unwritten = transport.get_write_buffer_size()
        stuck = unwritten > _WRITE_BUFFER_LOW
        self._heard = 0
        if not stuck or unwritten >= self._unwritten or self._looks % _LOOKS_BETWEEN_READS == 0:
            transport._on_socket_readable()
        if transport._state != transport._STATE_ACTIVE:
            return
        self._unwritten = transport.get_write_buffer_size()
        if stuck or self._heard:
            more_is_there = not stuck and self._heard >= _READ_AT_ONCE
            self._nbio.call_later(0 if more_is_there else _PACE, self._look)
        else:
            self._paced = False
            self._nbio.set_reader(transport._sock.fileno(), transport._on_socket_readable)
