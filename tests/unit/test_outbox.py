"""How long an outbox waits for a confirm before it takes its connection for dead."""

import asyncio

import pytest

from raquo.broker.envelope import Content, Envelope, Tally
from raquo.broker.outbox import Outbox
from raquo.broker.url import BrokerUrl


async def silences(sizes: list[int], seconds: list[float]) -> list[bool]:
    """Whether it has given up after so many seconds with messages of these sizes in flight."""
    outbox = Outbox([BrokerUrl()], "test", 100)
    outbox._channel = object()
    for number, size in enumerate(sizes):
        outbox._in_flight[number] = Envelope("queue", b"x" * size, Content(b"\x00\x00"), None, 0.0, Tally())
    return [outbox._is_silent(outbox._progress_at + elapsed) for elapsed in seconds]


@pytest.mark.parametrize(
    ("sizes", "patience"), [([0], 5.0), ([1000] * 1000, 6.0), ([20_000_000], 25.0), ([1_000_000] * 3, 8.0)]
)
def test_large_messages_have_the_time_that_a_slow_line_needs(sizes: list[int], patience: float) -> None:
    assert asyncio.run(silences(sizes, [1.0, patience - 0.1, patience + 0.1])) == [False, False, True]


def test_a_connection_from_which_nothing_is_expected_is_never_silent() -> None:
    assert asyncio.run(silences([], [1.0, 1000.0])) == [False, False]
