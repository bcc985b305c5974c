"""A broker with a memory alarm takes no messages: callers are told whether theirs may have arrived."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from raquo.broker.local import LocalBroker
from raquo.router import Publisher, PublishTimeout
from support.amqp import connected
from support.publishing import (
    HANG,
    assert_nothing_broke,
    fresh,
    meanwhile,
    memory_alarm,
    missing,
    numbered,
    numbers,
    take_all,
)
from support.waiting import wait_until

T1 = {"tenant": "t1"}


@pytest.fixture(autouse=True)
def _nothing_breaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert_nothing_broke(caplog.records)


def publish_until_blocked(
    publisher: Publisher, target: str, first: int = 0
) -> tuple[list[int], PublishTimeout]:
    """Publish until the alarm is felt: the numbers that were confirmed, and the first failure."""
    confirmed: list[int] = []
    for number in count(first):
        try:
            publisher.publish(target, str(number), headers=T1, timeout=1.5)
        except PublishTimeout as error:
            return confirmed, error
        confirmed.append(number)
    raise AssertionError


def test_an_alarm_times_out_and_says_whether_the_message_was_sent(private_node: LocalBroker) -> None:
    target = fresh("work")
    with Publisher(private_node.url) as publisher:
        with memory_alarm(private_node):
            confirmed, error = publish_until_blocked(publisher, target)
            assert error.may_have_arrived
            with pytest.raises(PublishTimeout, match=r"has an alarm.*was not sent") as caught:
                publisher.publish(target, b"-1", headers=T1, timeout=0.5)
            assert not caught.value.may_have_arrived
            with pytest.raises(PublishTimeout) as caught:
                publisher.publish_many(target, numbered(500), timeout=0.5)
            assert (caught.value.may_have_arrived, caught.value.confirmed) == (False, 0)
        publisher.publish(target, b"1000000", headers=T1, timeout=HANG)
    with connected(private_node.url) as amqp:
        arrived = numbers(take_all(amqp, f"{target}»t1"))
    assert not missing([*confirmed, 1_000_000], arrived)
    assert set(arrived) <= {*confirmed, len(confirmed), 1_000_000}


def test_a_patient_call_survives_an_alarm(private_node: LocalBroker) -> None:
    target = fresh("work")
    with Publisher(private_node.url) as publisher, ExitStack() as alarm:
        alarm.enter_context(memory_alarm(private_node))
        publish_until_blocked(publisher, target, first=10_000)
        with meanwhile(publisher.publish_many, target, numbered(2000), timeout=HANG) as call:
            wait_until(lambda: publisher.stats()["waiting"] > 1000, what="messages that wait")
            assert not call.done()
            alarm.close()
            assert call.result(HANG) == 2000
        assert publisher.stats()["reconnects"] == 0
    with connected(private_node.url) as amqp:
        arrived = [number for number in numbers(take_all(amqp, f"{target}»t1")) if number < 10_000]
    assert arrived == list(range(2000))


def test_closing_during_an_alarm_does_not_wait_for_its_end(private_node: LocalBroker) -> None:
    target = fresh("work")
    publisher = Publisher(private_node.url)
    with memory_alarm(private_node):
        publish_until_blocked(publisher, target)
        started = time.monotonic()
        publisher.close(timeout=5)
        assert time.monotonic() - started < 20
    publisher.publish(target, b"0", headers=T1, timeout=HANG)
    publisher.close()
