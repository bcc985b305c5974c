"""What goes wrong around a running distributor: the rest goes on, nothing is lost, and it recovers unaided."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests

from raquo.broker.url import BrokerUrl
from raquo.distributor.telemetry import MoveFailed
from support import http_server
from support.admin import Admin
from support.amqp import Amqp, connected
from support.brokers import Broker
from support.moving import drained
from support.serving import Serving, config_for, serving
from support.waiting import wait_until

_FAST = {"discover_every": "200ms"}


def staged(amqp: Amqp, queue: str, count: int, queue_type: str = "classic", first: int = 0) -> list[bytes]:
    amqp.declare(queue, queue_type)
    return amqp.publish_numbered(queue, count, first=first)


def held_for(one: Serving, queue: str, reason: str) -> bool:
    staging = one.staging(queue)
    return staging is not None and staging.reason == reason


# Queues that go away


def test_a_staging_queue_that_is_deleted_in_the_middle_costs_the_others_nothing(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    staged(amqp, "work»gone", 20_000, queue_type)
    bodies = staged(amqp, "work»stays", 20_000, queue_type, first=100_000)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100_000})) as one:
        wait_until(lambda: amqp.depth("work") > 2000, what="both are being moved")
        amqp.channel.queue_delete("work»gone")
        wait_until(lambda: amqp.depth("work»stays") == 0 and one.target("work").staging[-1].depth == 0, 30, "it ends")
        wait_until(lambda: one.staging("work»gone") is None, what="it is forgotten")
    arrived = [message.body for message in drained(amqp, "work") if int(message.body) >= 100_000]
    assert arrived == bodies


def test_a_target_that_is_deleted_in_the_middle_is_filled_again_when_it_is_back(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    """What the target held, and what was on its way to it, is gone with it: the broker deleted it."""
    amqp.declare("work", queue_type)
    bodies = staged(amqp, "work»t1", 30_000, queue_type)
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100_000})) as one:
        wait_until(lambda: amqp.depth("work") > 2000, what="it is being moved")
        amqp.channel.queue_delete("work")
        wait_until(lambda: held_for(one, "work»t1", "target_missing"), 30, "it is held")
        left = wait_until(lambda: amqp.depth("work»t1"), what="the rest is back in staging")
        amqp.declare("work", queue_type)
        wait_until(lambda: amqp.depth("work") == left, 30, "the rest arrives")
    assert [message.body for message in drained(amqp, "work")] == bodies[-left:]


def test_a_virtual_host_that_is_removed_and_put_back_is_served_again(
    node: Broker, vhost: str, vhost_url: str, admin: Admin
) -> None:
    with connected(vhost_url) as amqp:
        amqp.declare("work")
        staged(amqp, "work»t1", 10)
    with serving(config_for(vhost_url, node.management_url, distributor=_FAST)) as one:
        wait_until(lambda: one.status().targets and one.target("work").depth == 10, what="it is served")
        admin.delete("vhosts", vhost)
        wait_until(lambda: one.status().problems, 30, "it says that it is not ready")
        admin.make_vhost(vhost)
        with connected(vhost_url) as amqp:
            amqp.declare("work")
            staged(amqp, "work»t1", 7)
            wait_until(lambda: amqp.depth("work") == 7, 60, "it is served again")
        wait_until(lambda: not one.status().problems, 60, "it is ready again")


# A target that refuses


def test_a_target_that_refuses_what_is_too_much_gets_everything_in_the_end(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    """A limit in bytes is nothing that room could respect, so the target has to say no, if not to the first grant."""
    amqp.declare("work", queue_type, x_max_length_bytes=4000, x_overflow="reject-publish")
    amqp.declare("work»t1", queue_type)
    bodies = amqp.publish_numbered("work»t1", 200, size=100)
    with serving(config_for(vhost_url, node.management_url)) as one:
        wait_until(lambda: amqp.depth("work") >= 20, what="the target has more than its limit, or nearly")
        bodies += amqp.publish_numbered("work»t1", 100, size=100, first=200)
        wait_until(lambda: one.heard(MoveFailed), what="the target refuses")
        arrived: list[bytes] = []
        wait_until(lambda: arrived.extend(amqp.bodies("work")) or len(arrived) >= 300, 60, "everything arrives")
    assert sorted(arrived) == sorted(bodies)


# Rights


@dataclass(frozen=True)
class Limited:
    """A user who may not do everything."""

    name: str
    url: str


@pytest.fixture
def limited(admin: Admin, vhost: str, vhost_url: str) -> Iterator[Limited]:
    name = f"user-{vhost}"
    admin.make_user(name, "secret", tags="management")
    admin.permit(name, vhost)
    broker = BrokerUrl.parse(vhost_url)
    yield Limited(name, f"amqp://{name}:secret@{broker.host}:{broker.port}/{vhost}")
    admin.delete("users", name)


def test_a_queue_that_may_not_be_read_is_held_and_the_others_go_on(
    node: Broker, vhost: str, admin: Admin, amqp: Amqp, limited: Limited, queue_type: str
) -> None:
    admin.permit(limited.name, vhost, read="^(?!work»secret).*$")
    amqp.declare("work", queue_type)
    staged(amqp, "work»secret", 5, queue_type)
    staged(amqp, "work»t1", 5, queue_type)
    with serving(config_for(limited.url, node.management_url)) as one:
        wait_until(lambda: amqp.depth("work") == 5, what="the other is moved")
        wait_until(lambda: held_for(one, "work»secret", "not_permitted"), what="it is held, and says why")
    assert amqp.depth("work»secret") == 5


def test_with_a_wrong_password_it_goes_on_trying_and_says_why_it_is_not_ready(
    node: Broker, vhost: str, admin: Admin, amqp: Amqp, limited: Limited
) -> None:
    amqp.declare("work")
    staged(amqp, "work»t1", 5)
    admin.make_user(limited.name, "another", tags="management")
    with serving(config_for(limited.url, node.management_url, distributor=_FAST)) as one:
        problem = wait_until(lambda: [text for text in one.status().problems if "refused" in text], what="it says why")
        assert "secret" not in problem[0]
        admin.make_user(limited.name, "secret", tags="management")
        wait_until(lambda: amqp.depth("work") == 5, 60, "it works once the password is right")
        wait_until(lambda: not one.status().problems, 60, "it is ready")


def test_a_connection_that_the_broker_closes_is_opened_again(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    staged(amqp, "work»t1", 10_000, queue_type)
    ours = amqp.connection._impl
    with serving(config_for(vhost_url, node.management_url, defaults={"max_length": 100_000})):
        wait_until(lambda: amqp.depth("work") > 1000, what="it is being moved")
        closed = wait_until(lambda: _close_all_but(admin, vhost, _port(ours)), what="connections are listed")
        assert closed
        arrived: set[int] = set()
        wait_until(lambda: arrived.update(map(int, amqp.bodies("work"))) or len(arrived) == 10_000, 60, "all arrive")


def _port(connection: object) -> int:
    return int(connection._transport._sock.getsockname()[1])  # type: ignore[attr-defined]


def _close_all_but(admin: Admin, vhost: str, port: int) -> int:
    others = [one["name"] for one in admin.get("vhosts", vhost, "connections") if f":{port} " not in one["name"]]
    for name in others:
        admin.delete("connections", name)
    return len(others)


# The management API


class Api:
    """The broker's management API, in front of which things can go wrong."""

    def __init__(self, real: str, broker: BrokerUrl) -> None:
        self.mode = "right"
        self._real = real
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.auth = (broker.user, broker.password)

    def answer(self, path: str) -> tuple[int, object]:
        if self.mode == "down":
            return 503, {"error": "no"}
        if self.mode == "garbage":
            return 200, b"<html>it works!</html>"
        if self.mode == "odd":
            return 200, [{"no": "name"}, 7, None]
        real = self._session.get(self._real + path, timeout=10)
        return real.status_code, real.content


@pytest.mark.parametrize("mode", ["down", "garbage", "odd"])
def test_without_the_management_api_the_known_queues_are_served_on(
    node: Broker, vhost_url: str, amqp: Amqp, mode: str
) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    api = Api(node.management_url, BrokerUrl.parse(vhost_url))
    with http_server.serving(api.answer) as proxy, serving(config_for(vhost_url, proxy.url, distributor=_FAST)) as one:
        wait_until(lambda: one.staging("work»t1"), what="the queue is known")
        api.mode = mode
        wait_until(lambda: one.status().problems, what="it says that it cannot list")
        amqp.publish_numbered("work»t1", 20)
        wait_until(lambda: amqp.depth("work") == 20, what="what is known is moved all the same")
        staged(amqp, "work»new", 5)
        api.mode = "right"
        wait_until(lambda: amqp.depth("work") == 25, 30, "new queues are found again")
        wait_until(lambda: not one.status().problems, 30, "it is ready again")
