"""What a broker refuses: who may not, what is full, what is too large. In words, at once, and for the guilty only."""

import time
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from raquo.broker.errors import AccessRefused
from raquo.broker.local import LocalBroker
from raquo.mutators import Message
from raquo.router import Publisher, PublishRefused, StagingFull, Unroutable
from support.admin import Admin
from support.amqp import Amqp, connected
from support.publishing import HANG, fresh, missing, numbered, numbers, of, take_all

T1 = {"tenant": "t1"}
PASSWORD = "s3cret-w0rd"


@pytest.fixture
def user(admin: Admin, vhost: str) -> Iterator[str]:
    """A user without any rights yet."""
    name = fresh("user")
    admin.make_user(name, PASSWORD)
    yield name
    admin.delete("users", name)


@pytest.fixture
def users_url(vhost_url: str, user: str) -> str:
    """This test's virtual host, for that user."""
    return vhost_url.replace("guest:guest@", f"{user}:{PASSWORD}@")


def refusal(publisher: Publisher) -> AccessRefused:
    """The refusal of a publish that would have had a minute's time; it comes at once."""
    started = time.monotonic()
    with pytest.raises(AccessRefused) as caught:
        publisher.publish("work", b"", headers=T1, timeout=60)
    assert time.monotonic() - started < 30
    return caught.value


def test_a_wrong_password_is_refused_at_once_and_never_shown(
    vhost_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Publisher(vhost_url.replace("guest:guest@", f"guest:{PASSWORD}@")) as publisher:
        error = refusal(publisher)
        text = "".join(traceback.format_exception(error)) + repr(error) + repr(publisher) + caplog.text
    assert "'guest'" in str(error)
    assert PASSWORD not in text


def test_a_missing_vhost_is_refused_at_once_and_named(vhost_url: str) -> None:
    with Publisher(f"{vhost_url}-nowhere") as publisher:
        assert "-nowhere" in str(refusal(publisher))


def test_a_user_without_any_right_is_refused_at_once(users_url: str, user: str) -> None:
    with Publisher(users_url) as publisher:
        assert user in str(refusal(publisher))


def test_each_thread_gets_a_refusal_of_its_own(vhost_url: str) -> None:
    with Publisher(vhost_url.replace("guest:guest@", f"guest:{PASSWORD}@")) as publisher:
        errors = []
        for _ in range(2):
            with pytest.raises(AccessRefused) as caught:
                publisher.publish_many("work", numbered(300))
            errors.append(caught.value)
    assert errors[0] is not errors[1]
    assert [error.confirmed for error in errors] == [0, 0]
    assert [len(error.__notes__) for error in errors] == [1, 1]


def test_a_refused_publisher_works_when_the_password_is_right_again(
    users_url: str, user: str, admin: Admin, vhost: str, amqp: Amqp
) -> None:
    with Publisher(users_url) as publisher:
        refusal(publisher)
        admin.permit(user, vhost)
        publisher.publish("work", b"", headers=T1, timeout=HANG)
    assert amqp.depth("work»t1") == 1


def test_without_the_right_to_declare_a_queue_that_is_there_is_used(
    users_url: str, user: str, admin: Admin, vhost: str, amqp: Amqp
) -> None:
    admin.permit(user, vhost, configure="^$")
    amqp.declare("work»t1")
    with Publisher(users_url) as publisher:
        assert publisher.publish_many("work", numbered(500)) == 500
    assert amqp.depth("work»t1") == 500


def test_without_the_right_to_declare_a_missing_queue_is_unroutable_and_says_why(
    users_url: str, user: str, admin: Admin, vhost: str, amqp: Amqp
) -> None:
    admin.permit(user, vhost, configure="^$")
    with Publisher(users_url) as publisher:
        with pytest.raises(Unroutable, match=r"'work»t1'.*declaring it was refused: 403 ACCESS_REFUSED"):
            publisher.publish("work", b"", headers=T1)
        admin.permit(user, vhost)
        publisher.publish("work", b"now", headers=T1)
    assert amqp.bodies("work»t1") == [b"now"]


def test_without_the_right_to_publish_it_is_refused_in_words(
    users_url: str, user: str, admin: Admin, vhost: str, amqp: Amqp
) -> None:
    admin.permit(user, vhost, write="^$")
    with Publisher(users_url) as publisher:
        assert "refuses publishing: 403 ACCESS_REFUSED" in str(refusal(publisher))
        with pytest.raises(AccessRefused) as caught:
            publisher.publish_many("work", numbered(3000))
        assert caught.value.confirmed == 0
    assert amqp.depth("work»t1") == 0


def test_a_full_staging_queue_is_said_to_be_full(vhost_url: str, amqp: Amqp, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type, x_max_length=3, x_overflow="reject-publish")
    with Publisher(vhost_url) as publisher:
        with pytest.raises(StagingFull, match="'work»t1': the queue is full"):
            deque((publisher.publish("work", b"", headers=T1) for _ in range(50)), maxlen=0)
        confirmed = publisher.stats()["confirmed"]
        assert 3 <= confirmed < 50
        publisher.publish("work", b"", headers={"tenant": "t2"})
    assert amqp.depth("work»t1") == confirmed


def test_a_foreign_user_id_is_refused_and_the_others_are_there(vhost_url: str, amqp: Amqp) -> None:
    messages = numbered(120)
    messages[60] = of("t1", b"60", user_id="somebody")
    with Publisher(vhost_url) as publisher:
        with pytest.raises(PublishRefused, match="user_id property set to 'somebody'") as caught:
            publisher.publish_many("work", messages)
        publisher.publish("work", b"mine", headers=T1, user_id="guest")
    assert caught.value.confirmed == 119
    arrived = take_all(amqp, "work»t1")
    assert arrived.pop() == b"mine"
    assert missing(range(120), numbers(arrived)) == [60]


def test_several_refused_messages_leave_the_others_alone(vhost_url: str, amqp: Amqp) -> None:
    messages = [
        of("t1", str(number), expiration="soon") if number % 20 == 10 else of("t1", str(number))
        for number in range(100)
    ]
    with Publisher(vhost_url) as publisher:
        with pytest.raises(PublishRefused, match="invalid expiration 'soon'") as caught:
            publisher.publish_many("work", messages)
        assert publisher.stats()["reconnects"] == 0
    assert caught.value.confirmed == 95
    assert missing(range(100), numbers(take_all(amqp, "work»t1"))) == [10, 30, 50, 70, 90]


@contextmanager
def largest_message(node: LocalBroker, size: int) -> Iterator[None]:
    """A broker that takes no message above a size during the block; where it keeps the limit depends on its age."""
    put = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
    before = node.ctl("eval", "{ok, Size} = application:get_env(rabbit, max_message_size), Size.")
    node.ctl("eval", put.format(size))
    try:
        yield
    finally:
        node.ctl("eval", put.format(before.strip()))


def test_a_message_too_large_is_refused_and_the_others_are_there(private_node: LocalBroker) -> None:
    target = fresh("work")
    messages: list[Message] = numbered(100)
    messages[50] = of("t1", b"x" * 1_000_001)
    with largest_message(private_node, 1_000_000), Publisher(private_node.url) as publisher:
        with pytest.raises(PublishRefused, match="size") as caught:
            publisher.publish_many(target, messages)
    assert caught.value.confirmed == 99
    with connected(private_node.url) as amqp:
        assert missing(range(100), numbers(take_all(amqp, f"{target}»t1"))) == [50]
