"""A staging queue is deleted under a publisher: it is declared again, and the numbers add up.

What a queue held when somebody deletes it is gone, and so is what was on its way into it: a classic queue
confirms that all the same. So these tests know when the deletion was over: what was given to the publisher
after that must be there, and of what was given before no more may be missing than the deletion took, and
what was in flight.
"""

from collections.abc import Iterator

import pytest

from raquo.mutators import Message
from raquo.router import Publisher, Unroutable
from support.amqp import Amqp, connected
from support.publishing import HANG, assert_nothing_broke, meanwhile, missing, numbered, numbers, of, take_all
from support.waiting import wait_until

T1 = {"tenant": "t1"}
QUEUE = "work»t1"
IN_FLIGHT = 500


@pytest.fixture(autouse=True)
def _nothing_breaks(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert_nothing_broke(caplog.records)


def test_a_queue_deleted_between_two_messages_is_declared_again(
    vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    with Publisher(vhost_url, queue_type=queue_type) as publisher:
        publisher.publish("work", b"1", headers=T1)
        for number in (b"2", b"3"):
            amqp.channel.queue_delete(QUEUE)
            publisher.publish("work", number, headers=T1)
            wait_until(lambda: amqp.depth(QUEUE) == 1, what="the message")
        assert amqp.bodies(QUEUE) == [b"3"]
        figures = publisher.stats()
    assert figures.items() >= {"declared": 3, "returned": 2, "resent": 2, "confirmed": 3, "reconnects": 0}.items()


def test_queues_deleted_between_two_calls_are_declared_again_and_keep_their_order(
    vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    tenants = [f"t{number}" for number in range(5)]
    with Publisher(vhost_url, queue_type=queue_type) as publisher:
        publisher.publish_many("work", numbered(5, *tenants))
        for tenant in tenants:
            amqp.channel.queue_delete(f"work»{tenant}")
        assert publisher.publish_many("work", numbered(2000, *tenants)) == 2000
    for first, tenant in enumerate(tenants):
        wait_until(lambda: amqp.depth(f"work»{tenant}") == 400, what=tenant)  # noqa: B023
        assert numbers(take_all(amqp, f"work»{tenant}")) == list(range(first, 2000, 5))


class Deletion:
    """Messages of which some trigger a deletion, in another thread; remembers what it took, and when it was over."""

    def __init__(self, url: str, *, total: int, at: tuple[int, ...]) -> None:
        self.url = url
        self.total = total
        self.at = at
        self.over_at: list[int] = []
        self.took: list[int] = []
        self._given = 0

    def delete(self) -> None:
        with connected(self.url) as amqp:
            self.took.append(amqp.channel.queue_delete(QUEUE).method.message_count)
        self.over_at.append(self._given)

    def messages(self) -> Iterator[Message]:
        for number in range(self.total):
            self._given = number
            if number in self.at:
                with meanwhile(self.delete):
                    for extra in range(number, number + IN_FLIGHT // 2):  # while it is being deleted
                        self._given = extra
                        yield of("t1", str(extra))
            elif not any(at < number < at + IN_FLIGHT // 2 for at in self.at):
                yield of("t1", str(number))


def test_a_queue_deleted_while_messages_flow_loses_only_what_the_deletion_took(
    vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    deletion = Deletion(vhost_url, total=6000, at=(3000,))
    with Publisher(vhost_url, queue_type=queue_type, max_in_flight=IN_FLIGHT) as publisher:
        assert publisher.publish_many("work", deletion.messages(), timeout=HANG) == 6000
    wait_until(lambda: amqp.depth(QUEUE) >= 6000 - deletion.over_at[0] - 1, what="what came after the deletion")
    gone = missing(range(6000), numbers(take_all(amqp, QUEUE)))
    assert not [number for number in gone if number > deletion.over_at[0]]
    assert len(gone) <= deletion.took[0] + 2 * IN_FLIGHT  # a quorum queue says how many it knew of when it was asked


def test_a_queue_deleted_again_and_again_never_ends_a_call(vhost_url: str, amqp: Amqp) -> None:
    deletion = Deletion(vhost_url, total=11_000, at=tuple(range(2000, 11_000, 3000)))
    with Publisher(vhost_url, queue_type="classic", max_in_flight=IN_FLIGHT) as publisher:
        assert publisher.publish_many("work", deletion.messages(), timeout=HANG) == 11_000
        assert publisher.stats()["returned"] > 0
    gone = missing(range(11_000), numbers(take_all(amqp, QUEUE)))
    assert not [number for number in gone if number > deletion.over_at[-1]]
    assert len(gone) <= sum(deletion.took) + IN_FLIGHT * len(deletion.took)


def test_one_queue_deleted_costs_the_others_nothing(vhost_url: str, amqp: Amqp) -> None:
    def messages() -> Iterator[Message]:
        for number, message in enumerate(numbered(4000, "t1", "other")):
            if number == 2000:
                amqp.channel.queue_delete(QUEUE)
            yield message

    with Publisher(vhost_url, queue_type="classic") as publisher:
        assert publisher.publish_many("work", messages()) == 4000
    assert numbers(take_all(amqp, "work»other")) == list(range(1, 4000, 2))


def test_a_target_deleted_under_direct_messages_is_unroutable(vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    with Publisher(vhost_url) as publisher:
        publisher.publish("work", b"1")
        amqp.channel.queue_delete("work")
        with pytest.raises(Unroutable):
            publisher.publish("work", b"2")
        amqp.declare("work")
        publisher.publish("work", b"3")
    assert amqp.bodies("work") == [b"3"]
