"""The undecoded move: deliveries of one queue become publishes to another, byte for byte.

A `Basic.Deliver` frame is replaced by one constant `Basic.Publish` frame; the content frames behind it are passed on as
they are, on the channel they came on, because they carry its number. A message is held until its last byte is there, so
that no frame of ours ever stands between a publish and its content, which would cost us the connection.

A splice takes the frames of its own channels out of a connection's byte stream, wherever that is cut, and leaves the
others to pika. What a channel does with its frames, and why nothing is lost, is in `splice_channel.py`. Protocol only:
bytes in, bytes out, no socket and no clock.
"""

from raquo.broker import frames
from raquo.broker.splice_channel import SpliceChannel, Wire


class Splice:
    """The spliced channels of one connection: takes their frames out of a byte stream, leaves the others."""

    def __init__(self, target: str, user: str, frame_max: int) -> None:
        self._output: list[bytes] = []
        self._wire = Wire(target, user.encode(), frame_max, self._output)
        self._channels: dict[int, SpliceChannel] = {}
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._needed = frames.OVERHEAD

    def open_channel(self) -> SpliceChannel:
        """A channel on the lowest free number; it can be used at once."""
        number = next(n for n in range(1, len(self._channels) + 2) if n not in self._channels)
        channel = self._channels[number] = SpliceChannel(number, self._wire, self._forget)
        return channel

    def _forget(self, number: int) -> None:
        """The broker has closed this channel: its number is free."""
        self._channels.pop(number, None)

    def take_output(self) -> bytes:
        """Everything to be sent since the last call."""
        output = b"".join(self._output)
        self._output.clear()
        return output

    def receive(self, data: bytes) -> bytes:
        """Handle the frames of spliced channels in `data`; give back those of the others."""
        self._pieces.append(data)
        self._buffered += len(data)
        if self._buffered < self._needed:
            return b""
        buffer = data if len(self._pieces) == 1 else b"".join(self._pieces)
        others, end = self._split(buffer)
        rest = buffer[end:]
        self._pieces = [rest] if rest else []
        self._buffered = len(rest)
        return b"".join(others)

    def _split(self, buffer: bytes) -> tuple[list[bytes], int]:
        """Hand out the whole frames of the buffer; returns the others' frames, and where the last one ended."""
        others: list[bytes] = []
        touched: set[SpliceChannel] = set()
        at, size = 0, len(buffer)
        unpack, method, find = frames.frame_start.unpack_from, frames.method_number.unpack_from, self._channels.get
        self._needed = frames.OVERHEAD
        while size - at >= frames.OVERHEAD:
            kind, number, length = unpack(buffer, at)
            end = at + length + frames.OVERHEAD
            if end > size:
                self._needed = end - at
                break
            channel = find(number)
            if channel is None:
                others.append(buffer[at:end])
            else:
                touched.add(channel)
                delivery = kind == frames.METHOD and method(buffer, at + 7)[0] == frames.BASIC_DELIVER
                run_end = channel.pass_on(buffer, at) if delivery else at
                if run_end == at:
                    channel.receive(kind, buffer[at:end])
                else:
                    end = run_end
            at = end
        for mix in {channel.mix for channel in touched if channel.mix is not None}:
            mix.release()
        for channel in touched:
            channel.settle()
        return others, at
