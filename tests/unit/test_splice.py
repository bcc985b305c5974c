"""The splice against a strict model of a broker, at random timings, and with its bytes cut anywhere."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raquo.broker import frames
from raquo.broker.grant import Grant, Reason
from raquo.broker.mix import Mix
from raquo.broker.splice import Splice
from support import wire
from support.model_broker import ACCEPT, CLOSE, REFUSE, RETURN, Broker, Channel, Message

_SIZES = (0, 1, 5, 55, 56, 57, 112, 113, 300)  # a frame holds 56 bytes
_HEARTBEAT = b"\x08\x00\x00\x00\x00\x00\x00\xce"
_FIRST_ANSWERS = (
    frames.CHANNEL_OPEN_OK, frames.CONFIRM_SELECT_OK, frames.BASIC_QOS_OK, frames.BASIC_CONSUME_OK,
)  # fmt: skip
_BLOCKED = frames.method(0, 0x000A_003C, frames.short_string("low on memory"))


def _splice() -> Splice:
    return Splice("target", "guest", 131_072)


def _messages(count: int, verdicts: Callable[[int], str] = lambda _: ACCEPT) -> list[Message]:
    properties = [wire.property_list(), wire.property_list(headers=wire.table(wire.entry("k", b"V")), delivery_mode=2)]
    return [
        Message(
            n,
            str(n).encode().ljust(_SIZES[n % len(_SIZES)], b".")[: _SIZES[n % len(_SIZES)]],
            properties[n % 2],
            verdicts(n),
        )
        for n in range(count)
    ]


def _numbers(messages: Sequence[Message]) -> list[int]:
    return [message.number for message in messages]


def _ended(channel: Channel) -> Grant:
    assert channel.ended is not None
    return channel.ended


def _delivery(tag: int, properties: bytes, body: bytes, redelivered: bool = False) -> bytes:
    arguments = frames.short_string("raquo") + tag.to_bytes(8) + bytes((redelivered,)) + frames.short_string("") * 2
    content = wire.header_frame(1, len(body), properties) + wire.body_frame(1, body)
    return frames.method(1, frames.BASIC_DELIVER, arguments) + content


_TIMINGS = st.integers(0, 2**32).map(Random)  # a broker's choices are too many to shrink
_PATIENTLY = settings(max_examples=60)
_COUNTS = st.integers(1, 25)
_WINDOWS = st.integers(1, 25)


# What is held for its turn

def test_what_was_held_when_the_connection_was_lost_counts_as_fetched() -> None:
    splice = _splice()
    channel = splice.open_channel()
    grant = Grant("a", 20, 10)
    channel.start(grant, lambda _: None, Mix({"a": 20, "b": 20}))
    splice.receive(b"".join(frames.method(1, number) for number in _FIRST_ANSWERS))
    splice.receive(b"".join(_delivery(tag, wire.property_list(), b"x") for tag in range(1, 11)))
    assert (grant.delivered, channel.holds) == (1, 9)
    channel.lost(Reason.CONNECTION_LOST, "gone")
    assert (grant.begun, grant.fetched, grant.moved) == (True, 10, 0)


# Exact


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 10), st.booleans())
def test_a_grant_moves_exactly_its_number_in_order(
    rng: Random, count: int, window: int, more: int, by_get: bool
) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(count + more), count, min(window, count), by_get)
    broker.run()
    assert _numbers(broker.target) == sorted(channel.acked) == list(range(count))
    assert _numbers(list(channel.source)) == list(range(count, count + more))
    assert (_ended(channel).moved, _ended(channel).delivered) == (count, count)
    assert _ended(channel).reason is Reason.COMPLETE
    assert not channel.unacked


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 40), st.integers(0, 400))
def test_a_window_larger_than_its_grant_gives_the_surplus_back(
    rng: Random, count: int, more: int, there: int, steps: int
) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(there), count, count + more)
    for _ in range(steps):
        broker.step()
    if steps % 2:
        broker.stop(channel)
    broker.run()
    assert not channel.cancelled or channel.acked_before_cancel == 0, "an ack invites more"
    assert _ended(channel).moved == min(count, there)
    assert _numbers(broker.target) == sorted(channel.acked) == list(range(min(count, there)))
    assert _numbers(list(channel.source)) == list(range(min(count, there), there))
    assert channel.closed


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS)
def test_no_more_is_acked_before_the_cancel_than_leaves_the_window_full(rng: Random, count: int, window: int) -> None:
    window = min(window, count)
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(count + 30), count, window)
    broker.run()
    assert channel.cancelled
    assert channel.acked_before_cancel <= count - window


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(1, 10), st.booleans())
def test_a_source_that_holds_fewer_ends_the_grant(
    rng: Random, there: int, window: int, missing: int, by_get: bool
) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(there), there + missing, min(window, there + missing), by_get)
    broker.run()
    assert _numbers(broker.target) == sorted(channel.acked) == list(range(there))
    assert (_ended(channel).moved, _ended(channel).reason) == (there, Reason.UNDER_FULL)
    assert not channel.cancelled
    assert channel.closed is not by_get


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 250), st.booleans())
def test_a_grant_that_is_stopped_anywhere_settles_what_it_has(
    rng: Random, count: int, window: int, steps: int, by_get: bool
) -> None:
    window = min(window, count)
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(count + 30), count, window, by_get)
    for _ in range(steps):
        broker.step()
    delivered, acked = channel.granted.delivered, channel.granted.moved
    broker.stop(channel)
    broker.run()
    moved = _ended(channel).moved
    assert _numbers(broker.target) == sorted(channel.acked) == list(range(moved))
    assert _numbers(list(channel.source)) == list(range(moved, count + 30))
    assert delivered <= moved <= min(count, acked + window)
    assert _ended(channel).reason is (Reason.COMPLETE if moved == count else Reason.UNDER_FULL)


@_PATIENTLY
@given(_TIMINGS, st.lists(st.tuples(_COUNTS, _WINDOWS, st.booleans()), min_size=2, max_size=5))
def test_grants_that_follow_each_other_on_one_channel_go_on_where_the_last_ended(
    rng: Random, grants: list[tuple[int, int, bool]]
) -> None:
    broker = Broker(rng, _splice())
    total = sum(count for count, _, _ in grants)
    count, window, by_get = grants[0]
    channel = broker.grant(_messages(total), count, min(count, window), by_get)
    broker.run()
    for count, window, by_get in grants[1:]:
        broker.next_grant(channel, count, min(count, window), by_get)
        broker.run()
        assert _ended(channel).reason is Reason.COMPLETE
    assert _numbers(broker.target) == list(range(total))
    assert not channel.closed


@_PATIENTLY
@given(_TIMINGS, st.lists(st.tuples(_COUNTS, _WINDOWS), min_size=2, max_size=6))
def test_channels_side_by_side_do_not_mix(rng: Random, grants: list[tuple[int, int]]) -> None:
    broker = Broker(rng, _splice())
    channels = [broker.grant(_messages(count + 3), count, min(count, window)) for count, window in grants]
    broker.run()
    for channel, (count, _) in zip(channels, grants, strict=True):
        assert channel.acked == list(range(count))
        assert _numbers(list(channel.source)) == list(range(count, count + 3))
    assert len(broker.target) == sum(count for count, _ in grants)


@_PATIENTLY
@given(_TIMINGS, st.lists(st.tuples(_COUNTS, _WINDOWS, st.booleans()), min_size=2, max_size=6), st.integers(0, 30))
def test_a_producer_that_goes_on_loses_nothing_and_keeps_its_order(
    rng: Random, grants: list[tuple[int, int, bool]], later: int
) -> None:
    broker = Broker(rng, _splice())
    messages = _messages(20 + later)
    ready, arriving, channel = messages[:20], messages[20:], None
    for count, window, by_get in grants:
        if channel is None or channel.closed:
            channel = broker.grant(ready, count, min(count, window), by_get, arriving)
        else:
            broker.next_grant(channel, count, min(count, window), by_get)
        broker.run()
        assert _ended(channel).reason in (Reason.COMPLETE, Reason.UNDER_FULL)
        assert _ended(channel).moved <= count
        ready, arriving = list(channel.source), list(channel.later)
    assert _numbers([*broker.target, *ready, *arriving]) == list(range(20 + later))
    assert channel is not None
    assert not channel.unacked


# Nothing is lost


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.booleans(), st.data())
def test_what_is_refused_stays_and_what_is_accepted_goes(
    rng: Random, count: int, window: int, by_get: bool, data: st.DataObject
) -> None:
    refused = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    broker = Broker(rng, _splice())
    messages = _messages(count + 5, lambda n: REFUSE if n in refused else ACCEPT)
    channel = broker.grant(messages, count, min(window, count), by_get)
    broker.run()
    assert sorted(channel.acked) == sorted(_numbers(broker.target))
    assert sorted(channel.acked + _numbers(list(channel.source))) == list(range(count + 5))
    assert _numbers(list(channel.source)) == sorted(_numbers(list(channel.source)))
    assert refused <= set(_numbers(list(channel.source)))
    assert (_ended(channel).reason, _ended(channel).moved) == (Reason.REFUSED, len(channel.acked))
    assert channel.closed
    assert channel.cancelled in (False, count == _ended(channel).delivered), "cancelled after a refusal"


def test_there_is_no_cancel_after_a_refusal() -> None:
    splice = _splice()
    channel = splice.open_channel()
    channel.start(Grant("source", 5, 5), lambda _: None)
    splice.receive(b"".join(frames.method(1, number) for number in _FIRST_ANSWERS))
    splice.receive(_delivery(1, wire.property_list(), b"a") + _delivery(2, wire.property_list(), b"b"))
    channel.look_again()
    splice.take_output()
    splice.receive(frames.method(1, frames.BASIC_NACK, (1).to_bytes(8) + b"\x00"))
    splice.receive(frames.method(1, frames.QUEUE_DECLARE_OK, b"\x06source" + bytes(8)) * 2)
    splice.receive(frames.method(1, frames.BASIC_ACK, (2).to_bytes(8) + b"\x00"))
    sent = [number for _, number, _ in wire.methods_in(splice.take_output())]
    assert frames.BASIC_CANCEL not in sent
    assert sent[-2:] == [frames.BASIC_ACK, frames.CHANNEL_CLOSE]


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.booleans(), st.data())
def test_after_a_return_nothing_is_acked_that_was_not_confirmed_before_it(
    rng: Random, count: int, window: int, by_get: bool, data: st.DataObject
) -> None:
    returned = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    broker = Broker(rng, _splice())
    messages = _messages(count + 5, lambda n: RETURN if n in returned else ACCEPT)
    channel = broker.grant(messages, count, min(window, count), by_get)
    broker.run()  # the model refuses any other ack
    assert not returned & set(channel.acked)
    assert sorted(channel.acked + _numbers(list(channel.source))) == list(range(count + 5))
    assert set(channel.acked) <= set(_numbers(broker.target))
    assert (_ended(channel).reason, _ended(channel).code, _ended(channel).text) == (Reason.RETURNED, 312, "NO_ROUTE")
    assert (_ended(channel).moved, channel.closed) == (len(channel.acked), True)


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 250))
def test_a_deleted_source_costs_nothing_of_what_was_received(rng: Random, count: int, window: int, steps: int) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(count + 30), count, min(window, count))
    for _ in range(steps):
        broker.step()
    consuming = channel.consuming
    channel.delete_source()
    broker.run()
    moved = _ended(channel).moved
    assert _numbers(broker.target) == list(range(moved))
    assert not channel.unacked
    if consuming:
        assert _ended(channel).delivered == moved
        assert _ended(channel).reason in (Reason.SOURCE_GONE, Reason.COMPLETE)


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.booleans(), st.data())
def test_a_message_that_closes_the_channel_loses_nothing(
    rng: Random, count: int, window: int, by_get: bool, data: st.DataObject
) -> None:
    poison = data.draw(st.integers(0, count - 1))
    broker = Broker(rng, _splice())
    messages = _messages(count + 5, lambda n: CLOSE if n == poison else ACCEPT)
    channel = broker.grant(messages, count, min(window, count), by_get)
    broker.run()
    assert _numbers(broker.target) == list(range(poison))
    assert channel.acked + _numbers(list(channel.source)) == list(range(count + 5))
    assert (_ended(channel).reason, _ended(channel).code, _ended(channel).text) == (
        Reason.CHANNEL_CLOSED,
        406,
        "refused",
    )
    assert channel.closed


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.data())
def test_a_careful_grant_moves_everything_up_to_the_message_that_closes_the_channel_once(
    rng: Random, count: int, window: int, data: st.DataObject
) -> None:
    poison = data.draw(st.integers(0, count - 1))
    broker = Broker(rng, _splice())
    messages = _messages(count + 5, lambda n: CLOSE if n == poison else ACCEPT)
    channel = broker.grant(messages, count, window, careful=True)
    broker.run()
    assert _numbers(broker.target) == list(range(poison))
    assert (_ended(channel).reason, _ended(channel).moved) == (Reason.CHANNEL_CLOSED, poison)
    assert _ended(channel).delivered == poison + 1
    assert channel.acked == list(range(poison))
    assert _numbers(list(channel.source)) == list(range(poison, count + 5))


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 30), st.integers(0, 400))
def test_a_careful_grant_is_exact_even_if_it_fetches_more_and_is_stopped_anywhere(
    rng: Random, count: int, window: int, there: int, steps: int
) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(there), count, window, careful=True)
    for _ in range(steps):
        broker.step()
    broker.stop(channel)
    broker.run()
    moved = _ended(channel).moved
    assert _numbers(broker.target) == channel.acked == list(range(moved))
    assert _numbers(list(channel.source)) == list(range(moved, there))
    assert moved <= count
    assert _ended(channel).reason is (Reason.COMPLETE if moved == count else Reason.UNDER_FULL)


@_PATIENTLY
@given(_TIMINGS, _COUNTS, _WINDOWS, st.integers(0, 30))
def test_a_careful_grant_ends_at_its_number_or_with_its_source(
    rng: Random, count: int, window: int, there: int
) -> None:
    broker = Broker(rng, _splice())
    channel = broker.grant(_messages(there), count, window, careful=True)
    broker.run()
    assert _ended(channel).moved == len(broker.target) == min(count, there)


@_PATIENTLY
@given(_TIMINGS, st.data())
def test_whatever_the_target_says_every_message_is_somewhere(rng: Random, data: st.DataObject) -> None:
    verdicts = data.draw(
        st.lists(st.sampled_from([ACCEPT, ACCEPT, ACCEPT, REFUSE, RETURN, CLOSE]), min_size=1, max_size=30)
    )
    count, window = data.draw(st.integers(1, len(verdicts))), data.draw(_WINDOWS)
    broker = Broker(rng, _splice())
    by_get, careful = data.draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    messages = _messages(len(verdicts), verdicts.__getitem__)
    channel = broker.grant(messages, count, min(window, count) if by_get else window, by_get, careful=careful)
    broker.run()
    assert sorted(channel.acked + _numbers(list(channel.source))) == list(range(len(verdicts)))
    assert set(channel.acked) <= set(_numbers(broker.target))
    assert len(set(_numbers(broker.target))) == len(broker.target)


# Turns


def _mixed(broker: Broker, grants: Sequence[tuple[list[Message], int, int]]) -> list[Channel]:
    mix = Mix({f"source{number}": count for number, (_, count, _) in enumerate(grants)})
    return [
        broker.grant(messages, count, window, mix=mix, source=f"source{number}")
        for number, (messages, count, window) in enumerate(grants)
    ]


@_PATIENTLY
@given(_TIMINGS, st.lists(st.tuples(_COUNTS, _WINDOWS), min_size=1, max_size=6))
def test_grants_that_take_turns_are_exact_and_keep_their_order(rng: Random, grants: list[tuple[int, int]]) -> None:
    broker = Broker(rng, _splice())
    channels = _mixed(broker, [(_messages(count + 3), count, min(count, window)) for count, window in grants])
    broker.run()
    for channel, (count, _) in zip(channels, grants, strict=True):
        assert channel.acked == list(range(count))
        assert _numbers(list(channel.source)) == list(range(count, count + 3))
        assert _ended(channel).reason is Reason.COMPLETE
        assert not channel.unacked


@_PATIENTLY
@given(_TIMINGS, st.lists(st.tuples(st.integers(0, 12), _COUNTS, _WINDOWS), min_size=2, max_size=5), st.data())
def test_grants_that_take_turns_lose_nothing_whatever_happens_to_one_of_them(
    rng: Random, grants: list[tuple[int, int, int]], data: st.DataObject
) -> None:
    broker = Broker(rng, _splice())
    verdicts = [
        data.draw(st.lists(st.sampled_from([ACCEPT] * 6 + [REFUSE, RETURN, CLOSE]), min_size=there, max_size=there))
        for there, _, _ in grants
    ]
    own = [_messages(there, said.__getitem__) for (there, _, _), said in zip(grants, verdicts, strict=True)]
    channels = _mixed(
        broker, [(messages, count, window) for messages, (_, count, window) in zip(own, grants, strict=True)]
    )
    for _ in range(data.draw(st.integers(0, 60))):
        broker.step()
    stopped = data.draw(st.sampled_from([None, *channels]))
    if stopped is not None:
        broker.stop(stopped)
    broker.run()
    for channel, (there, _, _) in zip(channels, grants, strict=True):
        assert sorted(channel.acked + _numbers(list(channel.source))) == list(range(there))
        assert not channel.unacked


def test_a_source_that_is_deleted_while_it_waits_for_its_turn_loses_nothing_of_what_was_received() -> None:
    for seed in range(100):
        broker = Broker(Random(seed), _splice())
        gone, stays = _mixed(broker, [(_messages(10), 10, 10), (_messages(10), 10, 10)])
        for _ in range(seed):
            broker.step()
        dispatched = gone._dispatched
        gone.delete_source()
        broker.run()
        assert stays.acked == list(range(10))
        assert len(gone.acked) >= dispatched


# Bytes


@_PATIENTLY
@given(_TIMINGS, st.data())
def test_a_stream_cut_anywhere_gives_the_same_as_in_one_piece(rng: Random, data: st.DataObject) -> None:
    grants = [(10, 4, ACCEPT), (7, 7, ACCEPT), (9, 9, data.draw(st.sampled_from([REFUSE, RETURN, CLOSE])))]
    stream = _stream(grants, rng)
    whole = _replayed(grants, [stream])
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=40)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert _replayed(grants, pieces) == whole
    assert whole["others"] == _HEARTBEAT * whole["others"].count(_HEARTBEAT) + _BLOCKED


@pytest.mark.parametrize("verdict", [ACCEPT, REFUSE, RETURN, CLOSE])
def test_a_stream_that_comes_byte_by_byte_gives_the_same_as_in_one_piece(verdict: str) -> None:
    grants = [(10, 4, ACCEPT), (9, 9, verdict)]
    stream = _stream(grants, Random(1))
    assert _replayed(grants, [stream[n : n + 1] for n in range(len(stream))]) == _replayed(grants, [stream])


def _stream(grants: list[tuple[int, int, str]], rng: Random) -> bytes:
    """What a broker says to these grants; message 6 of each has the verdict."""
    broker = Broker(rng, _splice())
    broker.impatience = 0  # what is heard again later must not depend on what was asked
    for count, window, verdict in grants:
        broker.grant(_messages(count, lambda n, v=verdict: v if n == 6 else ACCEPT), count, window)  # type: ignore[misc]
    broker.run()
    return _with_others(bytes(broker.sent), rng)


def _with_others(stream: bytes, rng: Random) -> bytes:
    """The same stream with frames of channel 0 between its frames.

    Answers to a close are left out: in one piece they would come before the question.
    """
    mixed = b""
    for kind, channel, payload in wire.frames_in(stream):
        if kind == frames.METHOD and payload == frames.method_number.pack(frames.CHANNEL_CLOSE_OK):
            continue
        mixed += frames.frame_start.pack(kind, channel, len(payload)) + payload + frames.END
        if rng.random() < 0.1:
            mixed += _HEARTBEAT
    return mixed + _BLOCKED


def _replayed(grants: list[tuple[int, int, str]], pieces: list[bytes]) -> dict[str, Any]:
    """What a splice makes of a stream: messages and acked tags per channel, the ends, and what it left for others.

    On a channel that the broker closes acks come too late anyway, so how many were sent before is left out.
    """
    splice, ended, sent, others = _splice(), [], b"", b""
    for count, window, _ in grants:
        splice.open_channel().start(Grant("source", count, window), ended.append)
    for piece in pieces:
        others += splice.receive(piece)
        sent += splice.take_output()
    result: dict[str, Any] = {"others": others, "ends": sorted((g.count, str(g.reason)) for g in ended)}
    for number, (_, _, verdict) in enumerate(grants, start=1):
        own = _of_channel(number, sent)
        published = wire.contents_in(own, wire.BASIC_PUBLISH)
        result[f"published {number}"] = [(c.arguments, c.properties, bytes(c.body), c.pieces) for c in published]
        result[f"acked {number}"] = _acked(own) if verdict != CLOSE else None
    return result


def _of_channel(number: int, recording: bytes) -> bytes:
    return b"".join(
        frames.frame_start.pack(kind, channel, len(payload)) + payload + frames.END
        for kind, channel, payload in wire.frames_in(recording)
        if channel == number
    )


def _acked(recording: bytes) -> set[int]:
    acked: set[int] = set()
    for _, number, arguments in wire.methods_in(recording):
        if number == frames.BASIC_ACK:
            tag = int.from_bytes(arguments[:8])
            acked |= set(range(1, tag + 1)) if arguments[8] else {tag}
    return acked


def test_a_message_is_not_published_before_its_last_byte_is_there() -> None:
    splice = _splice()
    splice.open_channel().start(Grant("source", 1, 1), lambda _: None)
    splice.take_output()
    delivery = _delivery(1, wire.property_list(), b"abc")
    content = wire.header_frame(1, 3, wire.property_list()) + wire.body_frame(1, b"abc")
    splice.receive(delivery[:-1])
    assert splice.take_output() == b""
    splice.receive(delivery[-1:])
    cancel = frames.basic_cancel(1, "raquo")
    assert splice.take_output() == frames.basic_publish(1, "target") + content + cancel


@pytest.mark.parametrize("at_once", [True, False], ids=["in one read", "in two"])
def test_headers_are_edited_in_the_first_message_and_in_later_ones(at_once: bool) -> None:
    splice = _splice()
    splice.open_channel().start(Grant("source", 6, 6), lambda _: None)
    splice.take_output()
    edited = [
        (wire.entry("CC", b"A\x00\x00\x00\x00"), wire.entry("raquo-cc", b"A\x00\x00\x00\x00")),
        (wire.entry("x-delivery-count", b"l" + bytes(8)) + wire.entry("j", b"V"), wire.entry("j", b"V")),
        (wire.entry("k", b"V"), wire.entry("k", b"V")),
    ]
    tables = [wire.property_list(headers=wire.table(before)) for before, _ in edited * 2]
    stream = b"".join(_delivery(tag, table, b"abc") for tag, table in enumerate(tables, start=1))
    for piece in [stream] if at_once else [stream[:100], stream[100:]]:
        splice.receive(piece)
    sent = [content.properties for content in wire.contents_in(splice.take_output(), wire.BASIC_PUBLISH)]
    assert sent == [wire.property_list(headers=wire.table(after)) for _, after in edited * 2]


def test_a_grant_knows_its_first_stamp_its_size_and_what_was_redelivered() -> None:
    splice, grant = _splice(), Grant("source", 5, 5)
    splice.open_channel().start(grant, lambda _: None)
    stamps = [
        wire.property_list(headers=wire.table(wire.entry("raquo-staged-at", b"l" + n.to_bytes(8)))) for n in (5, 6)
    ]
    splice.receive(_delivery(1, stamps[0], b"a", redelivered=True) + _delivery(2, stamps[1], b"b", redelivered=True))
    content = len(wire.header_frame(1, 1, stamps[0])) + len(wire.body_frame(1, b"a"))
    assert (grant.staged_at, grant.size, grant.redelivered, grant.delivered) == (5, 2 * content, 2, 2)


def test_a_large_frame_is_not_joined_again_with_every_piece_of_it() -> None:
    splice = _splice()
    splice.open_channel().start(Grant("source", 1, 1), lambda _: None)
    body = wire.body_frame(0, bytes(100_000))
    assert [splice.receive(body[at : at + 10]) for at in range(0, len(body) - 10, 10)][-1] == b""
    assert splice.receive(body[len(body) // 10 * 10 :]) == body


@pytest.mark.parametrize("by_get", [False, True])
def test_a_lost_connection_ends_a_grant_with_its_reason(by_get: bool) -> None:
    splice, ended = _splice(), []
    channel = splice.open_channel()
    channel.start(Grant("source", 3, 3, by_get), ended.append)
    channel.lost(Reason.CONNECTION_LOST, "cut")
    assert [(grant.reason, grant.text) for grant in ended] == [(Reason.CONNECTION_LOST, "cut")]
    assert channel.closed


def test_the_number_of_a_closed_channel_is_used_again() -> None:
    splice = _splice()
    first, second = splice.open_channel(), splice.open_channel()
    first.start(Grant("source", 1, 1), lambda _: None)
    close = frames.method(1, frames.CHANNEL_CLOSE, b"\x01\x94" + frames.short_string("gone") + bytes(4))
    assert splice.receive(close) == b""
    assert (first.closed, second.closed, splice.open_channel().number) == (True, False, 1)


def test_frames_behind_a_close_that_crossed_ours_stay_with_the_channel() -> None:
    splice = _splice()
    channel = splice.open_channel()
    channel.start(Grant("source", 1, 1), lambda _: None)
    channel.close()
    close = frames.method(1, frames.CHANNEL_CLOSE, b"\x01\x94" + frames.short_string("gone") + bytes(4))
    assert splice.receive(close) == b""
    assert splice.open_channel().number == 2
    assert splice.receive(frames.method(1, frames.CHANNEL_CLOSE_OK)) == b""
    assert splice.open_channel().number == 1
