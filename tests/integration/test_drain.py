"""`raquo drain` and `raquo bypass`: everything staged goes into the targets."""

import asyncio
import signal
from pathlib import Path

import pytest

from raquo.distributor import draining
from raquo.distributor.draining import Drained, drain
from raquo.distributor.transports import client_transports
from support.amqp import Amqp
from support.brokers import Broker
from support.serving import config_for, raquo, raquo_json
from support.waiting import wait_until
from support.way_out import DONE, configured, daemon, refusal


@pytest.fixture
def folder(tmp_path: Path, node: Broker, vhost_url: str) -> Path:
    """Where commands are run; the target is kept short, so that most of what is staged waits."""
    configured(tmp_path, node, vhost_url, "[defaults]\nmax_length = 10\n[[weight]]\ntenant = 't2'\nweight = 0\n")
    return tmp_path


def stage(amqp: Amqp, queue_type: str, target: str = "work") -> dict[str, list[bytes]]:
    """Messages of two tenants, by queue."""
    amqp.declare(target, queue_type)
    queues = [amqp.declare(f"{target}»{tenant}", queue_type) for tenant in ("t1", "t2")]
    return {queue: amqp.publish_numbered(queue, 150, first=1000 * place) for place, queue in enumerate(queues)}


def test_everything_goes_in_order_whatever_the_length_or_the_weight(
    amqp: Amqp, folder: Path, queue_type: str
) -> None:
    staged = stage(amqp, queue_type)
    assert raquo_json(folder, "drain", "--all", *DONE) == {"moved": 300, "left": 0}
    bodies = amqp.bodies("work")
    assert len(bodies) == 300
    for own in staged.values():
        assert [body for body in bodies if body in set(own)] == own


def test_only_the_target_that_is_named_is_drained(amqp: Amqp, folder: Path) -> None:
    stage(amqp, "classic")
    stage(amqp, "classic", "other")
    assert raquo_json(folder, "drain", "other", *DONE) == {"moved": 300, "left": 0}
    assert (amqp.depth("other"), amqp.depth("work")) == (300, 0)


def test_a_dry_run_counts_and_moves_nothing(amqp: Amqp, folder: Path) -> None:
    stage(amqp, "classic")
    assert raquo_json(folder, "drain", "--all", "--dry-run") == {"moved": 0, "left": 300}
    assert amqp.depth("work") == 0


def test_it_asks_what_why_and_whether(amqp: Amqp, folder: Path) -> None:
    stage(amqp, "classic")
    assert "--all" in refusal(folder, "drain", code=2)
    assert "--reason" in refusal(folder, "drain", "--all", code=2)
    assert "--yes" in refusal(folder, "drain", "--all", "--reason", "a test", code=2)
    assert amqp.depth("work") == 0


@pytest.mark.parametrize("http", ["on", "off"])
def test_beside_a_running_distributor_it_refuses_and_says_what_to_do(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path, http: str
) -> None:
    more = "" if http == "on" else '[distributor]\nhttp = "off"\n'
    configured(tmp_path, node, vhost_url, f"{more}[defaults]\nmax_length = 10\n")
    stage(amqp, "classic")
    with daemon(tmp_path) as process:
        wait_until(lambda: amqp.depth("work") == 10, deadline=30, what="the target is full")
        assert "raquo bypass on" in refusal(tmp_path, "drain", "--all", *DONE)
        assert amqp.depth("work") == 10
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    assert raquo_json(tmp_path, "drain", "--all", *DONE) == {"moved": 290, "left": 0}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain that gives up sooner."""
    monkeypatch.setattr(draining, "_STUCK_AFTER", 7.0)


def drained(node: Broker, vhost_url: str) -> Drained:
    config = config_for(vhost_url, node.management_url)
    return asyncio.run(drain(config, client_transports(config), (), lambda moved, left: None))


@pytest.mark.usefixtures("impatient")
def test_what_cannot_be_moved_is_told_with_the_reason(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    stage(amqp, "classic")
    amqp.declare("missing»t1")
    amqp.publish("missing»t1", b"x")
    told = drained(node, vhost_url)
    assert told.moved == 300
    assert [(one.queue, one.depth, one.reason) for one in told.left] == [("missing»t1", 1, "target_missing")]


@pytest.mark.usefixtures("impatient")
def test_what_another_client_holds_is_not_taken_for_gone(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    stage(amqp, queue_type)
    amqp.channel.basic_get("work»t1")
    told = drained(node, vhost_url)
    assert told.moved == 299
    assert [(one.queue, one.depth, one.reason) for one in told.left] == [("work»t1", 1, "unacked")]


def test_a_bypass_lets_everything_flow_and_can_be_ended(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path
) -> None:
    configured(tmp_path, node, vhost_url, "[defaults]\nmax_length = 10\n")
    stage(amqp, "classic")
    with daemon(tmp_path):
        wait_until(lambda: amqp.depth("work") == 10, deadline=30, what="the target is full")
        dry = raquo(tmp_path, "bypass", "on", "--reason", "a test", "--dry-run")
        assert dry.stdout == "would be bypass on\n"
        assert amqp.depth("work") == 10
        on = raquo(tmp_path, "bypass", "on", "--reason", "a test", "--for", "1h")
        assert (on.returncode, on.stdout) == (0, "bypass on for 1h\n")
        wait_until(lambda: amqp.depth("work") == 300, deadline=30, what="everything is in the target")
        assert raquo_json(tmp_path, "status")["bypass"] is True
        assert raquo(tmp_path, "bypass", "off", "--reason", "a test").returncode == 0
        amqp.publish_numbered("work»t1", 5)
        wait_until(lambda: raquo_json(tmp_path, "status")["bypass"] is False, what="it is off")
        wait_until(lambda: raquo_json(tmp_path, "plan")["targets"][0]["room"] == 0, what="there is no room")
        assert amqp.depth("work»t1") == 5


def test_without_a_daemon_there_is_nothing_to_bypass(folder: Path) -> None:
    assert "is it running?" in refusal(folder, "bypass", "on", "--reason", "a test")
    assert "--reason" in refusal(folder, "bypass", "on", code=2)
    assert "--for" in refusal(folder, "bypass", "on", "--reason", "a test", "--for", "soon", code=2)
