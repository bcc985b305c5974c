"""A small model of a broker, for a splice without a socket: strict about the protocol, free in its timing.

The parts that matter for exact moves are modelled as RabbitMQ has them: a queue is a process of its own that hands
messages to a channel's mailbox as long as its credit lasts, and learns of acks some time after the channel has; a
passive declare asks the queue, whose deliveries up to then stand in the mailbox behind it; what a cancel meets on its
way to the consumer is a fault. Everything happens at random moments, and bytes arrive in random pieces.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from struct import pack, unpack_from

from raquo.broker import frames
from raquo.broker.grant import Grant, Waiting
from raquo.broker.mix import Mix
from raquo.broker.splice import Splice
from raquo.broker.splice_channel import SpliceChannel
from support import wire

_CHANNEL_OPEN, _CONFIRM_SELECT = 0x0014_000A, 0x0055_000A
_CONSUME, _GET, _DECLARE = 0x003C_0014, 0x003C_0046, 0x0032_000A

ACCEPT, REFUSE, RETURN, CLOSE = "accept", "refuse", "return", "close the channel"


@dataclass(frozen=True)
class Message:
    """What a producer sent; `verdict` is what the target will say to it."""

    number: int
    body: bytes
    properties: bytes = pack(">H", 0)
    verdict: str = ACCEPT


class Broker:
    """Sources, one per channel, one target, and the bytes between them and a splice."""

    def __init__(self, rng: Random, splice: Splice, frame_max: int = 64) -> None:
        self.rng = rng
        self.splice = splice
        self.frame_max = frame_max
        self.impatience = 0.03  # how often the client takes a pause for silence
        self.target: list[Message] = []
        self.sent = bytearray()  # everything the broker ever said
        self.passed_by = b""  # what the splice left for others
        self._unread = bytearray()
        self.mixes: set[Mix] = set()
        self._channels: dict[int, Channel] = {}

    def grant(
        self,
        messages: Sequence[Message],
        count: int,
        window: int,
        by_get: bool = False,
        later: Sequence[Message] = (),
        careful: bool = False,
        mix: Mix | None = None,
        source: str = "source",
    ) -> "Channel":
        """Start a grant on a channel of its own, from a queue that holds these messages and gets more `later`."""
        spliced = self.splice.open_channel()
        channel = self._channels[spliced.number] = Channel(self, spliced, messages, later)
        channel.start(Grant(source, count, window, by_get, careful), mix)
        if mix is not None:
            self.mixes.add(mix)
        self._hear()
        return channel

    def next_grant(self, channel: "Channel", count: int, window: int, by_get: bool = False) -> None:
        """Start another grant on a channel whose last one is over."""
        channel.start(Grant("source", count, window, by_get))
        self._hear()

    def stop(self, channel: "Channel") -> None:
        """What the mover does at a deadline."""
        channel.spliced.stop()
        self._hear()

    def say(self, data: bytes) -> None:
        self.sent += data
        self._unread += data

    def run(self) -> None:
        """Until every grant is over; a grant that waits for something that nobody owes it is a hang."""
        while any(channel.ended is None for channel in self._channels.values()):
            if not self.step():
                self._be_silent()
        while self.step():
            pass

    def step(self) -> bool:
        """Let one thing happen, if anything can."""
        steps: list[Callable[[], None]] = [self._let_the_client_read] if self._unread else []
        for channel in self._channels.values():
            steps += channel.steps()
        if steps:
            self.rng.choice(steps)()
            if self.rng.random() < self.impatience:
                self._look_again()
            if self.rng.random() < self.impatience:
                self._hurry()
        return bool(steps)

    def _let_the_client_read(self) -> None:
        size = self.rng.choice((1, 7, 30, 200, 5000))
        piece = bytes(self._unread[:size])
        del self._unread[:size]
        self.passed_by += self.splice.receive(piece)
        self._hear()

    def _hear(self) -> None:
        for kind, number, payload in wire.frames_in(self.splice.take_output()):
            self._channels[number].hear(kind, payload)

    def _look_again(self) -> None:
        """What the mover does when nothing has come for a while."""
        for channel in self._channels.values():
            if channel.ended is None and channel.spliced.waiting() is Waiting.DELIVERY:
                channel.spliced.look_again()
        self._hear()

    def _hurry(self) -> None:
        """What the mover does when nobody's turn has come for a while."""
        for mix in self.mixes:
            mix.hurry()
        self._hear()

    def _be_silent(self) -> None:
        waiting = {channel.spliced.waiting() for channel in self._channels.values() if channel.ended is None}
        assert waiting <= {Waiting.DELIVERY, Waiting.TURN}, f"hangs: waits for {waiting}"
        self._hurry()
        self._look_again()
        assert any(channel.mailbox for channel in self._channels.values()), "hangs, and asks for nothing"


@dataclass
class Channel:
    """One channel with the queue it consumes."""

    broker: Broker
    spliced: SpliceChannel
    messages: Sequence[Message]
    arriving: Sequence[Message] = ()
    ended: Grant | None = None
    acked: list[int] = field(default_factory=list)
    single_acks: bool = True
    acked_before_cancel: int = 0
    cancelled: bool = False
    closed: bool = False

    def __post_init__(self) -> None:
        self.source = deque(self.messages)
        self.later = deque(self.arriving)
        self.mailbox: deque[Callable[[], None]] = deque()
        self.unacked: dict[int, Message] = {}
        self.returned = False
        self._said_goodbye = False
        self._queue_inbox: deque[int] = deque()  # credit that the queue has not heard of yet
        self._credit = self._dispatched = self._tag = self._sequence = 0
        self.consuming = self._deaf = False
        self._confirmed_to_client: set[int] = set()
        self._settled_before_return: set[int] = set()
        self._undecided: dict[int, Message] = {}
        self._publish: wire.Content | None = None

    def start(self, grant: Grant, mix: Mix | None = None) -> None:
        self.granted, self.ended = grant, None
        self._dispatched = 0
        self.spliced.start(grant, self._on_end, mix)

    def delete_source(self) -> None:
        """Somebody deletes the queue: what is ready in it is gone, and the consumer is told."""
        self.source.clear()
        self.consuming = False
        self.mailbox.append(lambda: self._say(frames.BASIC_CANCEL, frames.short_string("raquo") + b"\x01"))

    def steps(self) -> list[Callable[[], None]]:
        """What could happen next."""
        steps: list[Callable[[], None]] = []
        if self.mailbox:
            steps.append(lambda: self.mailbox.popleft()())
        if self._queue_inbox:
            steps.append(self._queue_hears)
        if self.later and self.ended is None and self.broker.rng.random() < 0.1:
            steps.append(self._arrive)
        if self._undecided and not (self._deaf or self.closed):
            steps.append(self._decide)
        return steps

    def _received(self) -> int:
        """How many deliveries the client has taken, also when its grant is over."""
        return self.granted.delivered + self.spliced._surplus + len(self.spliced._held)

    def _on_end(self, grant: Grant) -> None:
        self.ended = grant

    # From the client

    def hear(self, kind: int, payload: bytes) -> None:
        """A frame arrives in the mailbox; what stands between a publish and its content ends the connection."""
        if kind == frames.METHOD:
            assert self._publish is None, "a method between a publish and its content"
            number = unpack_from(">I", payload)[0]
            assert not self._said_goodbye or number == frames.CHANNEL_CLOSE_OK, "a frame behind the close"
            self._said_goodbye = self._said_goodbye or number in (frames.CHANNEL_CLOSE, frames.CHANNEL_CLOSE_OK)
            if number == wire.BASIC_PUBLISH:
                self._publish = wire.Content(number, payload[4:])
                return
            if number == frames.BASIC_CANCEL:
                assert self._dispatched == self._received(), "a cancel while deliveries are on their way"
            self.mailbox.append(lambda: self._handle(number, payload[4:]))
            return
        content = self._publish
        assert content is not None, "content without a publish"
        if kind == frames.HEADER:
            content.body_size = unpack_from(">Q", payload, 4)[0]
            content.properties = payload[12:]
        else:
            content.body += payload
        if len(content.body) == content.body_size:
            self._publish = None
            self.mailbox.append(lambda: self._take(content))

    def _handle(self, number: int, arguments: bytes) -> None:
        if number == frames.CHANNEL_CLOSE:
            self._give_back()
            self._say(frames.CHANNEL_CLOSE_OK)
            self.closed = True
        elif number == frames.CHANNEL_CLOSE_OK:
            self.closed = True
        elif not self._deaf:
            _METHODS[number](self, arguments)

    def _on_open(self, _arguments: bytes) -> None:
        self._say(frames.CHANNEL_OPEN_OK, b"\x00\x00\x00\x00")

    def _on_select(self, _arguments: bytes) -> None:
        self._say(frames.CONFIRM_SELECT_OK)

    def _on_qos(self, arguments: bytes) -> None:
        self._prefetch = unpack_from(">H", arguments, 4)[0]
        assert self._prefetch > 0, "a prefetch of 0 is none"
        self._say(frames.BASIC_QOS_OK)

    def _on_consume(self, _arguments: bytes) -> None:
        self._drain_queue_inbox()
        self.consuming, self._credit = True, 0
        self._queue_inbox.append(self._prefetch)
        self._say(frames.BASIC_CONSUME_OK, frames.short_string("raquo"))

    def _on_cancel(self, _arguments: bytes) -> None:
        self._drain_queue_inbox()
        assert self._dispatched == self._received(), "the queue sent more before it heard of the cancel"
        self.consuming, self.cancelled = False, True
        self._say(frames.BASIC_CANCEL_OK, frames.short_string("raquo"))

    def _on_declare(self, _arguments: bytes) -> None:
        if self.broker.rng.random() < 0.5:  # a quorum queue on 3.10 may answer before it has heard of an ack
            self._drain_queue_inbox()
        self._say(frames.QUEUE_DECLARE_OK, frames.short_string("source") + pack(">II", len(self.source), 1))

    def _on_get(self, _arguments: bytes) -> None:
        if not self.source:
            self._say(frames.BASIC_GET_EMPTY, b"\x00")
            return
        tag, message = self._next()
        self._say_content(frames.BASIC_GET_OK, pack(">QB", tag, 0) + b"\x00\x00" + pack(">I", 0), message)

    def _on_ack(self, arguments: bytes) -> None:
        last, multiple = unpack_from(">QB", arguments)
        tags = [tag for tag in self.unacked if tag == last or (multiple and tag < last)]
        assert last in tags, "an ack for a delivery that is not open"
        allowed = self._settled_before_return if self.returned else self._confirmed_to_client
        assert set(tags) <= allowed, "an ack for what is not confirmed"
        self.single_acks = self.single_acks and not multiple
        for tag in tags:
            self.acked.append(self.unacked.pop(tag).number)
        if self.consuming:
            self.acked_before_cancel += len(tags)
        self._queue_inbox.append(len(tags))

    def _take(self, content: wire.Content) -> None:
        """A publish: its verdict comes later, unless it closes the channel."""
        if self._deaf or self.closed:
            return
        self._sequence += 1
        tag = self._sequence  # the splice publishes everything it is delivered, in order
        message = self.unacked[tag]
        assert (bytes(content.body), content.properties) == (message.body, message.properties)
        if message.verdict == CLOSE:
            self._give_back()
            self._deaf = True
            self._say(frames.CHANNEL_CLOSE, pack(">H", 406) + frames.short_string("refused") + bytes(4))
            return
        if message.verdict == ACCEPT:
            self.broker.target.append(message)
        self._undecided[tag] = message

    # To the client

    def _decide(self) -> None:
        """Confirm, refuse or return one or several publishes."""
        sequence = self.broker.rng.choice(list(self._undecided))
        message = self._undecided[sequence]
        if message.verdict == RETURN:
            self._undecided[sequence] = Message(message.number, message.body, message.properties)
            if not self.returned:
                self.returned, self._settled_before_return = True, set(self._confirmed_to_client)
            arguments = pack(">H", 312) + frames.short_string("NO_ROUTE") + b"\x00" + frames.short_string("target")
            self._say_content(frames.BASIC_RETURN, arguments, message)
            return
        several = [n for n in self._undecided if n <= sequence]
        alike = all(self._undecided[n].verdict == message.verdict for n in several)
        multiple = alike and self.broker.rng.random() < 0.5
        for decided in several if multiple else [sequence]:
            del self._undecided[decided]
            if message.verdict == ACCEPT:
                self._confirmed_to_client.add(decided)
        number = frames.BASIC_ACK if message.verdict == ACCEPT else frames.BASIC_NACK
        self._say(number, pack(">QB", sequence, multiple))

    def _queue_hears(self) -> None:
        self._credit += self._queue_inbox.popleft()
        self._dispatch()

    def _arrive(self) -> None:
        self.source.append(self.later.popleft())
        self._dispatch()

    def _dispatch(self) -> None:
        while self.consuming and self._credit and self.source:
            self._credit -= 1
            self._dispatched += 1
            tag, message = self._next()
            self.mailbox.append(lambda tag=tag, message=message: self._deliver(tag, message))  # type: ignore[misc]

    def _drain_queue_inbox(self) -> None:
        while self._queue_inbox:
            self._queue_hears()

    def _next(self) -> tuple[int, Message]:
        self._tag += 1
        message = self.unacked[self._tag] = self.source.popleft()
        return self._tag, message

    def _deliver(self, tag: int, message: Message) -> None:
        if not (self._deaf or self.closed):
            arguments = frames.short_string("raquo") + pack(">QB", tag, 0) + frames.short_string("") * 2
            self._say_content(frames.BASIC_DELIVER, arguments, message)

    def _give_back(self) -> None:
        self.source.extendleft(reversed(self.unacked.values()))
        self.unacked.clear()
        self.consuming = False

    def _say(self, number: int, arguments: bytes = b"") -> None:
        self.broker.say(frames.method(self.spliced.number, number, arguments))

    def _say_content(self, number: int, arguments: bytes, message: Message) -> None:
        channel, piece = self.spliced.number, self.broker.frame_max - frames.OVERHEAD
        content = frames.method(channel, number, arguments)
        content += wire.header_frame(channel, len(message.body), message.properties)
        for at in range(0, len(message.body), piece):
            content += wire.body_frame(channel, message.body[at : at + piece])
        self.broker.say(content)


_METHODS: dict[int, Callable[[Channel, bytes], None]] = {
    _CHANNEL_OPEN: Channel._on_open,
    _CONFIRM_SELECT: Channel._on_select,
    wire.BASIC_QOS: Channel._on_qos,
    _CONSUME: Channel._on_consume,
    _GET: Channel._on_get,
    _DECLARE: Channel._on_declare,
    frames.BASIC_CANCEL: Channel._on_cancel,
    frames.BASIC_ACK: Channel._on_ack,
}
