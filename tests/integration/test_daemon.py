"""`raquo run` as its users meet it: a process with signals, a file, and an address."""

import json
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.amqp import Amqp
from support.brokers import Broker
from support.serving import DaemonProcess, raquo, raquo_json, toml_for
from support.waiting import wait_until

_ON_ANY_PORT = '[distributor]\nhttp = "127.0.0.1:0"\n[log]\nformat = "json"\n'


@pytest.fixture
def daemon(node: Broker, vhost_url: str, tmp_path: Path) -> Iterator[DaemonProcess]:
    daemon = DaemonProcess(tmp_path, toml_for(vhost_url, node.management_url, _ON_ANY_PORT))
    yield daemon
    daemon.close()


def started(daemon: DaemonProcess) -> str:
    """Start it; the address at which it can be asked."""
    daemon.start()
    wait_until(lambda: daemon.log.exists() and daemon.logged('"started"'), what="it has started")
    lines = [json.loads(line) for line in daemon.log.read_text(encoding="utf-8").splitlines()]
    return str(next(line["http"] for line in reversed(lines) if line["event"] == "started"))


def asked(address: str, path: str) -> Any:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(f"{address}{path}", timeout=5) as answer:
        return json.load(answer)


def stop(daemon: DaemonProcess) -> int:
    daemon.send(signal.SIGTERM)
    return daemon.wait()


def test_it_serves_says_so_and_stops_with_zero(amqp: Amqp, daemon: DaemonProcess) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 20)
    address = started(daemon)
    wait_until(lambda: amqp.depth("work") == 20, what="it moves")
    status = asked(address, "/api/v1/status")
    (target,) = status["targets"]
    assert [target[key] for key in ("target", "policy", "transport", "moved")] == ["work", "weighted", "client", 20]
    assert {"depth", "unacked", "consumers", "room", "max_length", "owner"} <= target.keys()
    assert target["in_flight_limit"] > 0
    (staging,) = target["staging"]
    assert (staging["queue"], staging["tenant"], staging["moved"]) == ("work»t1", "t1", 20)
    assert asked(address, "/readyz")["ready"]
    assert stop(daemon) == 0
    assert daemon.logged('"stopped"')


def test_a_hangup_reads_the_file_again(amqp: Amqp, daemon: DaemonProcess) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 100)
    text = daemon.file.read_text(encoding="utf-8")
    daemon.file.write_text(text + "[defaults]\nmax_length = 10\n", encoding="utf-8")
    started(daemon)
    wait_until(lambda: amqp.depth("work") == 10, what="the target is full")
    daemon.file.write_text(text + "[defaults]\nmax_length = 30\n", encoding="utf-8")
    daemon.send(signal.SIGHUP)
    wait_until(lambda: amqp.depth("work") == 30, what="the new length is in force")
    daemon.file.write_text(text + "[defaults]\nmax_length = 'many'\n", encoding="utf-8")
    daemon.send(signal.SIGHUP)
    wait_until(lambda: daemon.logged("the old one stays"), what="a wrong file is refused")
    assert daemon.logged("max_length")
    amqp.bodies("work")
    wait_until(lambda: amqp.depth("work") == 30, what="the old file is still in force")
    assert stop(daemon) == 0


def test_a_wrong_file_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    (tmp_path / "raquo.toml").write_text("[defaults]\nmax_lenght = 5\n", encoding="utf-8")
    done = raquo(tmp_path, "run")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "max_lenght" in done.stderr
    assert "max_length" in done.stderr


def test_an_address_that_is_taken_is_one_line(
    node: Broker, vhost_url: str, daemon: DaemonProcess, tmp_path: Path
) -> None:
    port = started(daemon).rpartition(":")[2]
    second = tmp_path / "second"
    second.mkdir()
    more = f'[distributor]\nhttp = "127.0.0.1:{port}"\n'
    (second / "raquo.toml").write_text(toml_for(vhost_url, node.management_url, more), encoding="utf-8")
    done = raquo(second, "run")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"raquo: cannot listen on 127.0.0.1:{port}")


def test_commands_ask_the_daemon_and_say_so(node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 20)
    by_itself = tmp_path / "by-itself"
    by_itself.mkdir()
    (by_itself / "raquo.toml").write_text(toml_for(vhost_url, node.management_url), encoding="utf-8")
    looked = raquo_json(by_itself, "status")
    assert looked["source"] == "broker"
    assert [(one["target"], one["depth"], one["staging"][0]["depth"]) for one in looked["targets"]] == [("work", 0, 20)]
    plan = raquo_json(by_itself, "plan", "work")
    assert plan["targets"][0]["grants"] == [{"queue": "work»t1", "count": 20}]
    assert amqp.depth("work»t1") == 20, "looking moves nothing"


def test_a_dry_run_plans_and_moves_nothing(amqp: Amqp, node: Broker, vhost_url: str, tmp_path: Path) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 20)
    daemon = DaemonProcess(tmp_path, toml_for(vhost_url, node.management_url, _ON_ANY_PORT), "--dry-run")
    try:
        address = started(daemon)
        wait_until(lambda: asked(address, "/api/v1/status")["targets"], what="it sees the target")
        wait_until(lambda: asked(address, "/api/v1/plan")["targets"][0]["grants"], what="it plans")
        assert amqp.depth("work»t1") == 20
        assert stop(daemon) == 0
    finally:
        daemon.close()
