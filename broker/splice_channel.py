"""One channel of a splice: an exact grant at a time, and nothing lost whatever the broker does.

**Exact.** A grant of n messages is `qos(w)`, `consume`, n deliveries, `cancel`, and acks as the confirms come in. The
broker holds back what exceeds the prefetch w, so as long as no more than n - w deliveries are acknowledged before the
cancel is sent, it never hands over message n + 1: nothing is ever requeued, reordered or marked as redelivered. A
grant that finds fewer than n messages is stopped from outside (there is no clock here).

**A cancel never meets a delivery.** A quorum queue takes back what is on its way to a consumer that cancels, counts it
as delivered once, and on 3.10 puts it at its tail; a classic queue delivers it after the `cancel-ok`. So a cancel is
sent only when nothing can be on its way: after message n, or when the window is full and no ack opens it.

**A silent source is left by closing the channel.** It is silent when it has answered two passive declares, one after
the other, had nothing ready at the first, and delivered nothing meanwhile (what it had sent before the first answer
comes before the second). While it has messages ready it is only slow, and is asked a few times before it is given up.
A message that is published to it at the very moment we leave goes back to its place, marked as redelivered.

**Nothing is lost.** A delivery is acknowledged when its publish is confirmed (`confirms.py`). What goes wrong:

======================  ====================================================================================
the broker              the channel
======================  ====================================================================================
refuses one (nack)      publishes no more, acks the accepted ones singly, and is closed: the rest goes back
                        in order, without a cancel
returns one             acks what was confirmed before (a return carries no number, but comes before its
                        confirm) and nothing after, and is closed
deletes the source      publishes all it was given, which exists nowhere else any more, and is closed
closes the channel      is done; what was not acked is back in the source
======================  ====================================================================================

Messages are given back by closing the channel, which keeps their order; `nack` with requeue would send them to the
tail of a quorum queue on 3.10. A quorum queue puts them behind what it was given back before: who fetches a few of
them again, and gives these back again, turns them round. So whoever comes after a grant that gave messages back asks
for a window as large as that one's, whatever the count, and the surplus is given back with the rest. A careful grant,
which looks for the message that closes the channel, does so too, but publishes one by one; the others wait in `_held`.
There, too, messages wait for their turn among those of other channels (`mix.py`). A channel that ends its fetching,
for whatever reason, leaves the mix first: what it holds is published like everything else.

Protocol only: frames in, frames out. `mover.py` has the connection and the deadlines.
"""

from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from raquo.broker import content_header, frames
from raquo.broker import run as run_of_messages
from raquo.broker.confirms import ConfirmLedger
from raquo.broker.grant import Grant, Reason, Waiting
from raquo.broker.mix import Mix
from raquo.broker.run import CONSUMER_TAG

_DELIVERY_TAG_AT = 7 + 4 + 1 + len(CONSUMER_TAG)
_GET_OK_TAG_AT = 7 + 4

_tag_and_flag = Struct(">QB")
_close_code = Struct(">H")
_count = Struct(">I")
_MOST_FRUITLESS = 10  # then it is another consumer who gets what is ready


class Wire(NamedTuple):
    """What the channels of one splice share."""

    target: str
    user: bytes
    frame_max: int
    output: list[bytes]


class SpliceChannel:
    """One channel: carries out one grant at a time, and is done for after a grant that went wrong."""

    def __init__(self, number: int, wire: Wire, forget: Callable[[int], None]) -> None:
        """`forget` is called when the broker has closed the channel, and its number is free."""
        self.number = number
        self.grant: Grant | None = None
        self.frames_seen = 0
        self.closed = False
        self._on_end: Callable[[Grant], None] | None = None
        self._wire = wire
        self._forget = forget
        self._send = wire.output.append
        self._publish = frames.basic_publish(number, wire.target)
        self._ledger = ConfirmLedger()
        self._answers_due = 2
        self._acked = 0  # of the present grant
        self._gets_sent = self._gets_answered = 0
        self._fetching = False  # more deliveries may come
        self._cancel_sent = self._close_sent = False
        self._stopping = False  # no ack opens the window any more
        self._leaving = False  # the source is silent
        self._looks = 0  # passive declares sent to see whether the source is really silent
        self._received_before = 0
        self._seemed_empty = False  # at the first of two looks
        self._fruitless = 0  # looks after which nothing had come
        self._withhold = False  # deliveries are no longer published, but given back
        self._must_close = False
        self._tag = 0
        self._parts: list[bytes] | None = None  # the message being received; None: it is swallowed
        self._body_left = 0
        self._surplus = 0  # received, and never to be published
        self._held: deque[tuple[int, list[bytes]]] = deque()  # tags and messages that wait for their turn
        self._tags: list[int] = []  # of messages whose turn it was, not yet entered in the books
        self._size = 0  # of these, in bytes
        self._mix: Mix | None = None  # the turns; None: everything is published as it comes
        self._send(frames.channel_open(number) + frames.confirm_select(number))

    # What the mover asks for

    @property
    def mix(self) -> Mix | None:
        """The turns that its messages wait for, if they do."""
        return self._mix

    def start(self, grant: Grant, on_end: Callable[[Grant], None], mix: Mix | None = None) -> None:
        """Begin a grant; `on_end` is called when it is over."""
        self.grant, self._on_end = grant, on_end
        self._join(grant, mix)
        self._acked = self._gets_sent = self._gets_answered = 0
        self._fetching, self._cancel_sent, self._stopping, self._fruitless = True, False, False, 0
        self._must_close, self._surplus = grant.careful or grant.window > grant.count, 0
        grant.begun = True
        if grant.by_get:
            self._send_gets(grant)
            return
        consume = frames.basic_consume(self.number, grant.source, CONSUMER_TAG)
        self._send(frames.basic_qos(self.number, grant.window) + consume)
        self._answers_due += 2

    def stop(self) -> None:
        """Open the window no further: take what it holds, then settle."""
        if self.grant is None or not self._fetching or self._stopping:
            return
        self._leave_mix()
        self._stopping = True
        if self.grant.careful:
            self._leaving = True
            self.settle()
        elif self.grant.by_get or self._window_full(self.grant):
            self._cancel()
            self.settle()
        else:
            self.look_again()

    def look_again(self) -> None:
        """Nothing has come for a while: is the source empty? If so, settle."""
        grant = self.grant
        self._leave_mix()
        if grant is not None and self._welcomes_more() and not grant.by_get and not self._looks:
            self._received_before = self.received()
            self._look(grant)

    def close(self) -> None:
        """Give back what is not acknowledged; nothing is published behind it."""
        if not self._close_sent and not self.closed:
            self._close_sent = self._withhold = True
            self._give_up_turns()
            self._answers_due += 1
            self._send(frames.channel_close(self.number))

    def waiting(self) -> Waiting:
        """What the next frame from the broker should be."""
        grant = self.grant
        if self._answers_due or grant is None or self._gets_answered < self._gets_sent:
            return Waiting.ANSWER
        if self._mix is not None and self._held:
            return Waiting.CONFIRM if self._ledger.unconfirmed else Waiting.TURN
        settling = self._ledger.unconfirmed if grant.careful else self._window_full(grant)
        expecting = self._welcomes_more() and not settling
        return Waiting.DELIVERY if expecting else Waiting.CONFIRM

    def received(self) -> int:
        """How many deliveries have come, published or not."""
        delivered = self.grant.delivered if self.grant else 0
        return delivered + self._surplus + len(self._held)

    def progress(self) -> tuple[Waiting, int]:
        """The same at two moments: nothing has come that was waited for."""
        waiting = self.waiting()
        return waiting, self.received() if waiting is Waiting.DELIVERY else self.frames_seen

    # What the broker sends

    def pass_on(self, buffer: bytes, at: int) -> int:
        """Publish the run of ordinary messages that starts at `at`; returns where it ends.

        The first message of a grant, and whatever is not ordinary, is left to `receive`.
        """
        grant = self.grant
        if grant is None or self._withhold or grant.careful or not (grant.delivered or self._held):
            return at
        mixed = self._mixed()
        most = grant.count - grant.delivered - len(self._held)
        output: list[bytes] = [] if mixed else self._wire.output
        run = run_of_messages.pass_on(buffer, at, self.number, most, self._publish, output)
        if run.tags:
            self.frames_seen += 1
            grant.redelivered += run.redelivered
            if mixed:
                contents = output[1::2]
                self._held.extend((tag, [self._publish, own]) for tag, own in zip(run.tags, contents, strict=True))
            else:
                self._published(grant, run.tags, run.size)
        return run.end

    def receive(self, kind: int, frame: bytes) -> None:
        """Take one whole frame."""
        self.frames_seen += 1
        if kind == frames.BODY:
            self._on_body(frame)
        elif kind == frames.HEADER:
            self._on_header(frame)
        else:
            number = frames.method_number.unpack_from(frame, 7)[0]
            if number == frames.BASIC_DELIVER:
                self._on_delivery(*_tag_and_flag.unpack_from(frame, _DELIVERY_TAG_AT))
            else:
                handle = _HANDLERS.get(number)
                if handle is not None:
                    handle(self, frame)

    def settle(self) -> None:
        """Send the acks that are due, and end the grant when nothing more can come."""
        grant = self.grant
        if grant is None or self._close_sent or self.closed:
            return
        if grant.by_get and self._fetching:
            self._send_acks(grant, grant.count)  # first, because they make room for more
            self._send_gets(grant)
        if grant.careful:
            self._send_acks(grant, grant.count)  # first, because the next one may close the channel
            self._publish_next(grant)
        no_more = self._withhold or self._leaving or not (self._fetching or self._answers_due)
        over = no_more and not self._ledger.unconfirmed
        self._send_acks(grant, grant.count if over else self._acks_allowed(grant))
        if over:
            self._finish(grant)

    def lost(self, reason: Reason, text: str) -> None:
        """The connection is gone, and the grant with it."""
        self.closed = True
        self._give_up_turns()
        if self.grant is not None:
            self.grant.end(reason, text)
            self._end(self.grant)

    # Turns

    @property
    def holds(self) -> int:
        """How many messages wait for their turn."""
        return len(self._held)

    @property
    def unconfirmed(self) -> int:
        """How many were published, and the broker has not answered for them yet."""
        return self._ledger.unconfirmed + len(self._tags)

    def publish_next(self) -> None:
        """It is the turn of the first; `enter_published` is called before anything else."""
        tag, parts = self._held.popleft()
        self._wire.output.extend(parts)
        self._tags.append(tag)
        self._size += sum(map(len, parts)) - len(self._publish)

    def enter_published(self) -> None:
        """Enter in the books what was published since the last time."""
        tags, size, self._tags, self._size = self._tags, self._size, [], 0
        if tags and self.grant is not None:
            self._published(self.grant, tags, size)

    def _join(self, grant: Grant, mix: Mix | None) -> None:
        """Take turns with other channels, if that can be: a grant that fetches more than it moves goes by itself."""
        simple = not (grant.by_get or grant.careful or grant.window > grant.count)
        self._mix = mix if mix is not None and simple and mix.mixes(grant.source) else None
        if self._mix is not None:
            self._mix.attach(grant.source, self)
        elif mix is not None:
            mix.leave(grant.source)

    def _mixed(self) -> bool:
        """Whether the next message waits for its turn; where it does not, those before it are published first."""
        if self._mix is not None and self.grant is not None and not self._mix.mixes(self.grant.source):
            self._leave_mix()
        return self._mix is not None

    def _leave_mix(self) -> None:
        """Publish what is held, and from now on everything as it comes."""
        mix, self._mix = self._mix, None
        if mix is not None and self.grant is not None:
            mix.leave(self.grant.source)
            while self._held:
                self.publish_next()
            self.enter_published()

    def _give_up_turns(self) -> None:
        """What is held goes back to the source."""
        if self.grant is not None:
            self.grant.fetched = max(self.grant.fetched, self.received())
        self._held.clear()
        self._leave_mix()

    # Deliveries

    def _on_delivery(self, tag: int, redelivered: int) -> None:
        self._tag = tag
        self._parts = None if self._withhold or self.grant is None else [self._publish]
        if redelivered & 1 and self.grant is not None:
            self.grant.redelivered += 1

    def _on_header(self, frame: bytes) -> None:
        self._body_left = content_header.body_size(frame)
        if self._parts is not None:
            grant = self.grant
            if grant is not None and not self.received():
                grant.staged_at = content_header.staged_at(frame)
            self._parts.append(content_header.passed_on(frame, self._wire.user, self._wire.frame_max))
        if not self._body_left:
            self._on_message()

    def _on_body(self, frame: bytes) -> None:
        self._body_left -= len(frame) - frames.OVERHEAD
        if self._parts is not None:
            self._parts.append(frame)
        if self._body_left <= 0:
            self._on_message()

    def _on_message(self) -> None:
        """A message is complete: publish it, unless it is to be given back."""
        parts, self._parts = self._parts, None
        grant = self.grant
        if grant is not None and grant.by_get:
            self._gets_answered += 1
        if grant is None or parts is None or self._withhold:
            return
        if grant.careful or self._mixed():
            self._held.append((self._tag, parts))  # `settle` publishes it, or the mix
        elif grant.delivered < grant.count:
            self._publish_parts(grant, self._tag, parts)
        else:
            self._surplus += 1
            self._cancel_if_full(grant)

    def _publish_next(self, grant: Grant) -> None:
        """Of a careful grant: one message, when the one before is confirmed."""
        if self._ledger.unconfirmed or self._withhold or self._leaving:
            return
        if grant.delivered == grant.count:
            self._leaving = True
        elif self._held:
            self._publish_parts(grant, *self._held.popleft())

    def _publish_parts(self, grant: Grant, tag: int, parts: list[bytes]) -> None:
        self._wire.output.extend(parts)
        self._published(grant, [tag], sum(map(len, parts)) - len(self._publish))

    def _published(self, grant: Grant, tags: list[int], size: int) -> None:
        self._ledger.published(tags)
        grant.delivered += len(tags)
        grant.size += size
        self._cancel_if_full(grant)

    def _cancel_if_full(self, grant: Grant) -> None:
        if self._window_full(grant) and (self._stopping or grant.delivered == grant.count):
            self._cancel()

    def _on_get_ok(self, frame: bytes) -> None:
        self._on_delivery(*_tag_and_flag.unpack_from(frame, _GET_OK_TAG_AT))

    def _on_get_empty(self, _frame: bytes) -> None:
        self._gets_answered += 1
        self._cancel()

    # Confirms, returns, and the ends of things

    def _on_ack(self, frame: bytes) -> None:
        sequence, multiple = _tag_and_flag.unpack_from(frame, 11)
        self._ledger.confirmed(sequence, bool(multiple & 1))

    def _on_nack(self, frame: bytes) -> None:
        sequence, flags = _tag_and_flag.unpack_from(frame, 11)
        self._ledger.nacked(sequence, bool(flags & 1))
        self._give_up(Reason.REFUSED, "the target refused it (nack)")

    def _on_return(self, frame: bytes) -> None:
        """Content frames follow, and are swallowed."""
        self._parts = None
        if self.grant is not None and not self._close_sent:
            self._give_up(Reason.RETURNED, _text_at(frame, 13), _close_code.unpack_from(frame, 11)[0])
            self._ledger.loosen()
            self._send_acks(self.grant, self.grant.count)
            self.close()

    def _on_cancel(self, _frame: bytes) -> None:
        self._leave_mix()
        if self.grant is not None:
            self.grant.end(Reason.SOURCE_GONE, "the queue was deleted, or lost its leader")
        self._must_close = True
        self._fetching = False

    def _on_cancel_ok(self, frame: bytes) -> None:
        self._fetching = False
        self._on_answer(frame)

    def _on_declare_ok(self, frame: bytes) -> None:
        self._on_answer(frame)
        grant, looks = self.grant, self._looks
        if looks == 1 and grant is not None and self._welcomes_more():
            self._seemed_empty = not _ready_messages(frame)
            self._look(grant)
            return
        self._looks = 0
        if grant is None or not self._welcomes_more():
            return
        if self.received() != self._received_before:
            self._fruitless = 0
            if self._stopping:
                self.look_again()
            return
        self._fruitless += 1
        if self._seemed_empty or self._fruitless >= _MOST_FRUITLESS:
            self._stopping = self._leaving = self._must_close = True

    def _on_answer(self, _frame: bytes) -> None:
        self._answers_due -= 1

    def _on_close(self, frame: bytes) -> None:
        """The broker closes the channel; what it has not acked it has put back already."""
        self._send(frames.channel_close_ok(self.number))
        if self.grant is not None:
            self.grant.end(Reason.CHANNEL_CLOSED, _text_at(frame, 13), _close_code.unpack_from(frame, 11)[0])
        if not self._close_sent:  # else the answer to our own close follows, and the number is not free before
            self._on_close_ok(frame)

    def _on_close_ok(self, _frame: bytes) -> None:
        self.closed = True
        self._give_up_turns()
        self._forget(self.number)
        if self.grant is not None:
            self._end(self.grant)

    # Small decisions

    def _acks_allowed(self, grant: Grant) -> int:
        """While the consumer is there, an ack is an invitation: no more of them than still fit into the grant."""
        if grant.by_get or grant.careful or self._cancel_sent or not self._fetching:
            return grant.count
        if self._stopping or self._withhold:
            return 0
        return max(0, grant.count - grant.window - self._acked)

    def _send_acks(self, grant: Grant, most: int) -> None:
        for ack in self._ledger.take(most):
            self._send(frames.basic_ack(self.number, ack.tag, ack.multiple))
            self._acked += ack.settles
        grant.moved = self._acked

    def _window_full(self, grant: Grant) -> bool:
        return grant.delivered + self._surplus - self._acked >= grant.window

    def _welcomes_more(self) -> bool:
        """Whether deliveries are still welcome."""
        return self._fetching and not (self._leaving or self._withhold)

    def _look(self, grant: Grant) -> None:
        self._looks += 1
        self._answers_due += 1
        self._send(frames.passive_declare(self.number, grant.source))

    def _send_gets(self, grant: Grant) -> None:
        if not self._cancel_sent:
            free = grant.window - (self._gets_sent - self._acked)
            more = min(free, grant.count - self._gets_sent)
            self._send(frames.basic_get(self.number, grant.source) * more)
            self._gets_sent += more
        all_asked = self._cancel_sent or self._gets_sent == grant.count
        self._fetching = not all_asked or self._gets_answered < self._gets_sent

    def _cancel(self) -> None:
        """Ask for no more: nothing is on its way to the consumer now."""
        if self._cancel_sent or not self._fetching or self.grant is None or self._withhold or self.grant.careful:
            return
        self._cancel_sent = True
        if not self.grant.by_get:
            self._answers_due += 1
            self._send(frames.basic_cancel(self.number, CONSUMER_TAG))

    def _give_up(self, reason: Reason, text: str, code: int = 0) -> None:
        self._withhold = self._must_close = True
        self._give_up_turns()
        if self.grant is not None:
            self.grant.end(reason, text, code)

    def _finish(self, grant: Grant) -> None:
        grant.end(Reason.COMPLETE if grant.moved == grant.count else Reason.UNDER_FULL)
        if self._must_close:
            self.close()
        else:
            self._end(grant)

    def _end(self, grant: Grant) -> None:
        if self._mix is not None:
            self._mix.detach(grant.source)
        on_end, self.grant, self._on_end, self._mix = self._on_end, None, None, None
        if on_end is not None:
            on_end(grant)


def _ready_messages(frame: bytes) -> int:
    """From a declare-ok: a broker under load may hold messages back for a while, or for another consumer."""
    return int(_count.unpack_from(frame, 12 + frame[11])[0])


def _text_at(frame: bytes, at: int) -> str:
    return frame[at + 1 : at + 1 + frame[at]].decode(errors="replace")


_ANSWERS = (frames.CHANNEL_OPEN_OK, frames.CONFIRM_SELECT_OK, frames.BASIC_QOS_OK, frames.BASIC_CONSUME_OK)
_HANDLERS: dict[int, Callable[[SpliceChannel, bytes], None]] = {
    **dict.fromkeys(_ANSWERS, SpliceChannel._on_answer),
    frames.BASIC_ACK: SpliceChannel._on_ack,
    frames.BASIC_NACK: SpliceChannel._on_nack,
    frames.BASIC_RETURN: SpliceChannel._on_return,
    frames.BASIC_GET_OK: SpliceChannel._on_get_ok,
    frames.BASIC_GET_EMPTY: SpliceChannel._on_get_empty,
    frames.BASIC_CANCEL: SpliceChannel._on_cancel,
    frames.BASIC_CANCEL_OK: SpliceChannel._on_cancel_ok,
    frames.QUEUE_DECLARE_OK: SpliceChannel._on_declare_ok,
    frames.CHANNEL_CLOSE: SpliceChannel._on_close,
    frames.CHANNEL_CLOSE_OK: SpliceChannel._on_close_ok,
}
