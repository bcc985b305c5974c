"""The broker goes away in the middle of a call and comes back: what was confirmed is there."""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from raquo.broker.local import LocalBroker
from raquo.mutators import Message
from raquo.router import Publisher
from support.amqp import Amqp, connected
from support.publishing import HANG, assert_nothing_broke, fresh, meanwhile, missing, numbers, of, take_all
from support.waiting import wait_until


@pytest.fixture(autouse=True)
def _nothing_breaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert_nothing_broke(caplog.records)


def restart(node: LocalBroker) -> None:
    """As an administrator would."""
    node.restart()


def kill(node: LocalBroker) -> None:
    """As a power cut would."""
    node.kill()
    node.start()


def arrived(url: str, queue: str, at_least: int) -> list[int]:
    """What is in a queue, when it is there again with so many."""

    def ready(amqp: Amqp) -> bool:
        return amqp.exists(queue) and amqp.depth(queue) >= at_least

    with connected(url) as amqp:
        wait_until(lambda: ready(amqp), deadline=HANG, what=queue)
        return numbers(take_all(amqp, queue))


@pytest.mark.parametrize("outage", [restart, kill])
def test_nothing_is_missing_after_an_outage_in_the_middle_of_a_call(
    private_node: LocalBroker, outage: Callable[[LocalBroker], None]
) -> None:
    target, given = fresh("work"), 0
    with connected(private_node.url) as amqp:
        amqp.declare(f"{target}»quorum", "quorum")
    settled_at = time.monotonic() + 1.5  # 3.10 forgets a quorum queue when it is killed just after the declare

    def break_it(publisher: Publisher) -> None:
        wait_until(lambda: time.monotonic() > settled_at and publisher.stats()["confirmed"] > 1000, deadline=HANG)
        outage(private_node)

    def messages(broken: "Future[None]") -> Iterator[Message]:
        """Some before, some while it is away, some after."""
        nonlocal given
        end = math.inf
        while given < end:
            yield of(("classic", "quorum")[given % 2], str(given))
            given += 1
            if broken.done() and end == math.inf:
                end = given + 1000

    with Publisher(private_node.url, queue_type="classic") as publisher:
        with meanwhile(break_it, publisher) as broken:
            assert publisher.publish_many(target, messages(broken), timeout=2 * HANG) == given
        assert broken.result() is None
        assert publisher.stats()["reconnects"] >= 1
    for first, tenant in enumerate(("classic", "quorum")):
        expected = range(first, given, 2)
        assert not missing(expected, arrived(private_node.url, f"{target}»{tenant}", len(expected)))
