"""One spliced connection with its channels, from its opening to its end.

A link is never repaired. When it is lost or dropped, everything on it ends, and whoever needs one opens another.
"""

import asyncio
from collections.abc import Sequence

from raquo.broker import connection as connections
from raquo.broker.errors import BrokerError
from raquo.broker.grant import Grant, Reason
from raquo.broker.mix import Mix
from raquo.broker.splice import Splice
from raquo.broker.splice_channel import SpliceChannel
from raquo.broker.spliced_connection import WRITE_BUFFER_FULL, SplicedConnection
from raquo.broker.url import BrokerUrl


class Link:
    """A connection to the broker on which grants are carried out."""

    def __init__(self) -> None:
        self.unblocked = asyncio.Event()  # cleared while the broker has an alarm and reads nothing from us
        self.unblocked.set()
        self.lost: asyncio.Future[BrokerError] = asyncio.get_running_loop().create_future()
        self._connection: SplicedConnection
        self._splice: Splice
        self._idle: list[SpliceChannel] = []
        self._busy: set[SpliceChannel] = set()

    @classmethod
    async def open(cls, urls: Sequence[BrokerUrl], target: str) -> "Link":
        """Connect; raises what `connect` raises."""
        link = cls()
        name = f"raquo mover {target}"
        connection = await connections.connect(urls, SplicedConnection, name, link._on_lost)
        if link.lost.done():  # in the same breath as it was opened
            raise link.lost.result()
        parameters = connection.params
        link._connection = connection
        link._splice = Splice(target, parameters.credentials.username, parameters.frame_max)
        connection.begin(link._splice)
        connection.add_on_connection_blocked_callback(lambda *_: link.unblocked.clear())
        connection.add_on_connection_unblocked_callback(lambda *_: link.unblocked.set())
        return link

    @property
    def usable(self) -> bool:
        """Whether grants can be started on it."""
        return not self.lost.done()

    @property
    def unwritten(self) -> int:
        """How many bytes wait until the broker takes them."""
        return self._connection.unwritten if self.usable else 0

    @property
    def written(self) -> int:
        """How many bytes the broker has taken so far."""
        return int(self._connection.bytes_sent) - self.unwritten

    @property
    def congested(self) -> bool:
        """Whether so much waits that nothing should be added."""
        return self.unwritten > WRITE_BUFFER_FULL

    def start(self, grant: Grant, mix: Mix | None = None) -> tuple[SpliceChannel, "asyncio.Future[Grant]"]:
        """Begin a grant on a channel of its own; the future is done when the grant is over."""
        over: asyncio.Future[Grant] = asyncio.get_running_loop().create_future()
        channel = self._idle.pop() if self._idle else self._splice.open_channel()
        self._busy.add(channel)

        def on_end(ended: Grant) -> None:
            self._busy.discard(channel)
            if not channel.closed:
                self._idle.append(channel)
            over.set_result(ended)

        channel.start(grant, on_end, mix)
        self._connection.send_output()
        return channel, over

    def stop(self, channel: SpliceChannel) -> None:
        """Open this channel's window no further; what it holds is settled."""
        channel.stop()
        self._connection.send_output()

    def look_again(self, channel: SpliceChannel) -> None:
        """Nothing has come on this channel for a while: end its grant if the source is empty."""
        channel.look_again()
        self._connection.send_output()

    def leave(self, mix: Mix, source: str) -> None:
        """Nothing more comes from this source: the others need not wait for it."""
        mix.leave(source)
        mix.release()
        self._connection.send_output()

    def release(self, mix: Mix) -> None:
        """Publish the next part of what is held."""
        mix.release()
        self._connection.send_output()

    def hurry(self, mix: Mix) -> None:
        """Publish what is held, in turns, without those who have nothing."""
        mix.hurry()
        self._connection.send_output()

    def stop_all(self) -> None:
        """Fetch no more on any channel."""
        for channel in list(self._busy):
            self.stop(channel)

    def drop(self, why: str) -> None:
        """End everything now: the broker does not answer."""
        self._end_all(Reason.NO_ANSWER, BrokerError(why))
        connections.abort(self._connection, why)

    async def close(self, timeout: float) -> None:
        """Disconnect politely, but wait no longer than `timeout` for the answer."""
        await connections.close(self._connection, self.lost, timeout)

    def _on_lost(self, error: BrokerError) -> None:
        self._end_all(Reason.CONNECTION_LOST, error)

    def _end_all(self, reason: Reason, error: BrokerError) -> None:
        if not self.lost.done():
            self.lost.set_result(error)
        self.unblocked.set()
        self._idle.clear()
        for channel in list(self._busy):
            channel.lost(reason, str(error))
