"""`raquo uninstall`: the broker as it was, or a reason why not."""

import signal
from pathlib import Path

import pytest

from raquo.router import Publisher, Router
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.serving import raquo, raquo_json
from support.waiting import wait_until
from support.way_out import DONE, configured, daemon, definitions, refusal


@pytest.fixture
def folder(tmp_path: Path, node: Broker, vhost_url: str) -> Path:
    """Where commands are run, with a configuration for this test's virtual host."""
    configured(tmp_path, node, vhost_url)
    return tmp_path


def use(vhost_url: str, amqp: Amqp, folder: Path, queue_type: str) -> None:
    """Stage two messages, and let a daemon move them."""
    with daemon(folder) as process:
        with Publisher(vhost_url, Router(by=("tenant",)), queue_type=queue_type) as publisher:
            for tenant in ("t1", "t2"):
                publisher.publish("work", b"x", headers={"tenant": tenant})
        wait_until(lambda: amqp.depth("work") == 2, deadline=30, what="both are in the target")
        process.send(signal.SIGTERM)
        assert process.wait() == 0


def test_the_broker_is_left_as_it_was(
    vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, folder: Path, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    amqp.declare("raquos-own")
    admin.set_policy(vhost, "own", "^nothing$", max_length=5)
    before = definitions(admin, vhost)
    use(vhost_url, amqp, folder, queue_type)
    assert definitions(admin, vhost) != before
    told = raquo_json(folder, "uninstall", *DONE)
    assert told == {"dry_run": False, "queues": ["work»t1", "work»t2"], "exchanges": ["raquo.wake"]}
    assert definitions(admin, vhost) == before
    assert amqp.depth("work") == 2, "targets and what they hold are not ours"
    assert raquo_json(folder, "uninstall", *DONE)["queues"] == [], "it can be repeated"


def test_a_dry_run_deletes_nothing_and_says_that_the_router_must_be_off(
    amqp: Amqp, folder: Path, queue_type: str
) -> None:
    amqp.declare("work»t1", queue_type)
    amqp.declare("raquo.parked")
    said = raquo(folder, "uninstall", "--dry-run").stdout
    assert "work»t1\n" in said
    assert "raquo.parked\n" in said
    assert "router must be off" in said
    assert amqp.exists("work»t1")


def test_it_asks_why_and_whether(amqp: Amqp, folder: Path) -> None:
    amqp.declare("work»t1", "quorum")
    assert "--reason" in refusal(folder, "uninstall", code=2)
    line = refusal(folder, "uninstall", "--reason", "a test", code=2)
    assert "--yes" in line
    assert "router must be off" in line
    assert amqp.exists("work»t1")


def test_it_refuses_while_anything_is_staged(amqp: Amqp, folder: Path, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type)
    amqp.declare("work»t2", queue_type)
    amqp.publish("work»t2", b"x")
    line = refusal(folder, "uninstall", *DONE)
    assert "1 messages wait in 1 queues, e.g. 'work»t2'" in line
    assert "raquo drain --all" in line
    assert amqp.exists("work»t1")


def test_it_refuses_while_somebody_holds_a_message(amqp: Amqp, folder: Path, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type)
    amqp.publish("work»t1", b"x")
    amqp.channel.basic_get("work»t1")
    line = refusal(folder, "uninstall", *DONE)
    assert "somebody holds 1 messages of 'work»t1' unacked" in line or "'work»t1' is consumed" in line
    assert amqp.exists("work»t1")


def test_it_refuses_while_somebody_consumes(amqp: Amqp, folder: Path, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type)
    amqp.channel.basic_consume("work»t1", lambda *_: None)
    assert "'work»t1' is consumed" in refusal(folder, "uninstall", *DONE)


def test_it_refuses_while_messages_are_parked(amqp: Amqp, folder: Path, queue_type: str) -> None:
    amqp.declare("work»t1", queue_type)
    amqp.declare("raquo.parked", queue_type)
    amqp.publish("raquo.parked", b"x")
    assert "raquo.parked holds 1 messages" in refusal(folder, "uninstall", *DONE)
    assert amqp.exists("work»t1")
    amqp.bodies("raquo.parked")
    assert raquo_json(folder, "uninstall", *DONE)["queues"] == ["raquo.parked", "work»t1"]


@pytest.mark.parametrize("http", ["on", "off"])
def test_it_refuses_while_a_distributor_runs(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, tmp_path: Path, http: str
) -> None:
    configured(tmp_path, node, vhost_url, "" if http == "on" else '[distributor]\nhttp = "off"\n')
    amqp.declare("work»t1")
    with daemon(tmp_path) as process:
        wait_until(
            lambda: any(one["name"] == "raquo.wake" for one in admin.get("exchanges", vhost)), what="it listens"
        )
        wait_until(lambda: "stop it first" in refusal(tmp_path, "uninstall", *DONE), what="it is seen")
        process.kill()
        wait_until(lambda: raquo(tmp_path, "uninstall", *DONE).returncode == 0, what="nobody runs any more")
    assert not amqp.exists("work»t1")


def test_targets_that_are_not_served_are_left_alone(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path
) -> None:
    configured(tmp_path, node, vhost_url, '[distributor]\nhttp = "off"\nserve = ["work*"]\n')
    amqp.declare("work»t1")
    amqp.declare("else»t1")
    amqp.publish("else»t1", b"x")
    assert raquo_json(tmp_path, "uninstall", *DONE)["queues"] == ["work»t1"]
    assert amqp.depth("else»t1") == 1
