"""The bell without a broker: whom it rings for, how often, and when it is silent."""

from collections.abc import Callable
from typing import Any

import pytest

from raquo.broker.bell import EXCHANGE, Bell


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Channel:
    """Takes down what is published on it."""

    def __init__(self) -> None:
        self.published: list[tuple[str, str, bytes, int]] = []
        self.close: Callable[[], None] = lambda: None

    def add_on_close_callback(self, callback: Callable[[Any, Any], None]) -> None:
        self.close = lambda: callback(self, "closed")

    def basic_publish(self, exchange: str, routing_key: str, body: bytes, properties: Any) -> None:
        self.published.append((exchange, routing_key, body, properties.delivery_mode))


class Connection:
    """Opens channels when the test says so."""

    def __init__(self) -> None:
        self.is_open = True
        self.channels: list[Channel] = []
        self.opening: list[Callable[[Any], None]] = []

    def channel(self, on_open_callback: Callable[[Any], None]) -> None:
        self.opening.append(on_open_callback)

    def open(self) -> Channel:
        self.channels.append(Channel())
        self.opening.pop(0)(self.channels[-1])
        return self.channels[-1]

    def lose(self) -> None:
        """As pika does it: the state first, then the channels."""
        self.is_open = False
        for channel in self.channels:
            channel.close()

    @property
    def rung(self) -> list[str]:
        return [key for channel in self.channels for _, key, _, _ in channel.published]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connection() -> Connection:
    return Connection()


@pytest.fixture
def bell(clock: Clock, connection: Connection) -> Bell:
    bell = Bell(clock)
    bell.attach(connection)
    return bell


def test_it_rings_with_an_empty_transient_message_that_names_the_queue(bell: Bell, connection: Connection) -> None:
    bell.confirmed("w»t1")
    assert connection.open().published == [(EXCHANGE, "w»t1", b"", 1)]
    assert bell.rings == 1


def test_it_rings_for_the_first_message_after_a_quiet_second(
    bell: Bell, clock: Clock, connection: Connection
) -> None:
    bell.confirmed("q")
    connection.open()
    for later in (0.5, 0.9, 0.9, 0.99):  # never quiet for a second
        clock.now += later
        bell.confirmed("q")
    assert connection.rung == ["q"]
    clock.now += 1.0
    bell.confirmed("q")
    assert connection.rung == ["q", "q"]


def test_queues_are_quiet_each_for_itself(bell: Bell, connection: Connection) -> None:
    for queue in ("a", "b", "a", "b"):
        bell.confirmed(queue)
    connection.open()
    assert connection.rung == ["a", "b"]


def test_one_channel_does_for_all(bell: Bell, clock: Clock, connection: Connection) -> None:
    bell.confirmed("a")
    bell.confirmed("b")
    connection.open()
    bell.confirmed("c")
    assert connection.rung == ["a", "b", "c"]
    assert not connection.opening


def test_a_process_rings_fifty_times_a_second_at_most(bell: Bell, clock: Clock, connection: Connection) -> None:
    for number in range(500):
        bell.confirmed(f"q{number}")
    connection.open()
    assert len(connection.rung) == 50
    clock.now += 0.5
    for number in range(500, 1000):
        bell.confirmed(f"q{number}")
    assert len(connection.rung) == 75
    clock.now += 3600
    for number in range(1000, 1500):
        bell.confirmed(f"q{number}")
    assert len(connection.rung) == 125


def test_after_a_refusal_it_is_silent_for_a_while_and_longer_each_time(
    bell: Bell, clock: Clock, connection: Connection
) -> None:
    for silence in (30, 60, 120, 240, 480, 600, 600):
        bell.confirmed(f"rings before {silence}")
        connection.open().close()
        clock.now += silence - 1
        bell.confirmed(f"silent for {silence}")
        assert not connection.opening
        clock.now += 1
    assert not [queue for queue in connection.rung if queue.startswith("silent")]


def test_a_lost_connection_is_no_refusal(bell: Bell, connection: Connection) -> None:
    bell.confirmed("a")
    connection.open()
    connection.lose()
    bell.detach()
    another = Connection()
    bell.attach(another)
    bell.confirmed("b")
    another.open()
    assert another.rung == ["b"]


def test_without_a_connection_it_rings_nothing(clock: Clock, connection: Connection) -> None:
    bell = Bell(clock)
    bell.confirmed("a")
    bell.attach(connection)
    connection.is_open = False
    bell.confirmed("b")
    assert not connection.opening


def test_what_waited_for_a_channel_is_forgotten_with_its_connection(bell: Bell, connection: Connection) -> None:
    bell.confirmed("a")
    bell.detach()
    another = Connection()
    bell.attach(another)
    bell.confirmed("b")
    another.open()
    assert another.rung == ["b"]


def test_memory_for_queues_is_bounded(bell: Bell) -> None:
    for number in range(20_000):
        bell.confirmed(f"q{number}")
    assert len(bell._last) <= 10_000
