"""What a staging queue's declare says depends on the broker's version; what is declared is remembered, not for ever."""

from collections.abc import Callable
from typing import Any

import pytest

from raquo.broker.declarer import Declarer, check_arguments, for_this_broker
from raquo.broker.errors import BrokerError

QUORUM = {"x-queue-type": "quorum"}
UNLIMITED = {"x-queue-type": "quorum", "x-delivery-limit": -1}


@pytest.mark.parametrize("version", ["4.0.0", "4.3.6", "4.3.6-rc.1", "4.1.0+beta", "10.0.1"])
def test_a_quorum_queue_never_drops_what_comes_back_from_4_0_on(version: str) -> None:
    assert for_this_broker(QUORUM, version) == UNLIMITED


@pytest.mark.parametrize("version", ["3.10.8", "3.13.7", "", "unknown"])
def test_on_3_x_the_limit_is_never_named_because_there_it_would_drop(version: str) -> None:
    assert for_this_broker(QUORUM, version) == QUORUM


@pytest.mark.parametrize("version", ["3.10.8", "4.3.6"])
@pytest.mark.parametrize("arguments", [{"x-queue-type": "classic"}, {"x-queue-type": "classic", "x-max-priority": 5}])
def test_a_classic_queue_has_no_limit(arguments: dict[str, Any], version: str) -> None:
    assert for_this_broker(arguments, version) == arguments


@pytest.mark.parametrize("version", ["3.10.8", "4.3.6"])
def test_a_limit_that_the_configuration_names_stays(version: str) -> None:
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": 5}
    assert for_this_broker(arguments, version) == arguments


def test_where_the_broker_may_choose_quorum_the_limit_is_lifted_too() -> None:
    assert for_this_broker({}, "4.3.6", may_choose_quorum=True) == {"x-delivery-limit": -1}
    assert for_this_broker({}, "4.3.6", may_choose_quorum=False) == {}
    assert for_this_broker({}, "3.10.8", may_choose_quorum=True) == {}
    assert for_this_broker({"x-queue-type": "classic"}, "4.3.6", True) == {"x-queue-type": "classic"}


@pytest.mark.parametrize("value", [1.5, 2**64, ..., {"deep": 1.5}, {1, 2}], ids=str)
def test_an_argument_that_no_declare_can_carry_is_refused_in_words(value: object) -> None:
    with pytest.raises(BrokerError, match="x-odd = "):
        check_arguments({"x-fine": 1, "x-odd": value})


def test_arguments_of_the_usual_kinds_are_fine() -> None:
    check_arguments({"x-max-length": 10, "x-overflow": "reject-publish", "x-single-active-consumer": True})


def test_the_arguments_given_are_not_changed() -> None:
    arguments = dict(QUORUM)
    for_this_broker(arguments, "4.3.6")["more"] = 1
    assert arguments == QUORUM


class Channel:
    """Takes declares down; answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answer: Callable[[Any], None] = lambda _: None

    def add_on_close_callback(self, callback: Callable[[Any, Any], None]) -> None:
        pass

    def queue_declare(
        self, queue: str, *, durable: bool, arguments: dict[str, Any], callback: Callable[[Any], None]
    ) -> None:
        assert durable
        self.asked.append((queue, arguments))
        self.answer = callback


class Connection:
    """Opens the channel when the test says so."""

    is_open = True

    def __init__(self, version: str = "4.3.6") -> None:
        self.server_properties = {"version": version}
        self.opened = Channel()
        self.open: Callable[[], None] = lambda: None

    def channel(self, on_open_callback: Callable[[Any], None]) -> None:
        self.open = lambda: on_open_callback(self.opened)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_queues_are_declared_one_after_the_other_and_then_known() -> None:
    declared: list[str] = []
    declarer, connection = Declarer(declared.append, Clock()), Connection()
    declarer.attach(connection)
    for queue in ("a", "b", "a"):
        declarer.want(queue, QUORUM)
    connection.open()
    assert connection.opened.asked == [("a", UNLIMITED)]
    connection.opened.answer(None)
    assert (declared, declarer.knows("a"), declarer.knows("b")) == (["a"], True, False)
    connection.opened.answer(None)
    assert declared == ["a", "b"]
    assert [queue for queue, _ in connection.opened.asked] == ["a", "b"]


def test_what_was_asked_on_a_lost_connection_is_asked_again_on_the_next() -> None:
    declarer, lost, another = Declarer(lambda _: None, Clock()), Connection(), Connection()
    declarer.attach(lost)
    declarer.want("a", {})
    lost.open()
    declarer.detach()
    declarer.attach(another)
    another.open()
    assert [queue for queue, _ in another.opened.asked] == ["a"]


def test_an_answer_is_overdue_from_the_opening_of_the_channel_on() -> None:
    clock, connection = Clock(), Connection()
    declarer = Declarer(lambda _: None, clock)
    declarer.attach(connection)
    declarer.want("a", {})
    clock.now = 11.0
    assert declarer.overdue(10.0)
    connection.open()
    assert not declarer.overdue(10.0)
    connection.opened.answer(None)
    clock.now = 100.0
    assert not declarer.overdue(10.0)


def test_memory_for_queues_is_bounded_and_keeps_those_in_use() -> None:
    declarer, connection = Declarer(lambda _: None, Clock()), Connection()
    declarer.attach(connection)
    declarer.want("in use", {})
    connection.open()
    connection.opened.answer(None)
    for number in range(15_000):
        declarer.want(f"queue {number}", {})
        connection.opened.answer(None)
        assert declarer.knows("in use")
    assert len(declarer._known) <= 10_000
    assert not declarer.knows("queue 0")
