"""The private broker: it serves, it stands what tests do to it, and it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
from dataclasses import astuple
from pathlib import Path

import pytest

from raquo.broker import local
from raquo.broker.errors import LocalBrokerError
from raquo.broker.local import LocalBroker, find_server
from raquo.broker.local_settings import Ports, free_ports
from support.amqp import connected
from support.brokers import wait_until_on_disk
from support.leftovers import assert_nothing_left, directory_of_child, listening_addresses
from support.waiting import wait_until

SERVE = """
import sys
from raquo.broker.local import LocalBroker

with LocalBroker() as broker:
    print(broker.url, flush=True)
    sys.stdin.read()
"""
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}  # 127.0.0.1 and ::1


def test_it_serves_amqp_and_the_management_api(private_node: LocalBroker) -> None:
    with connected(private_node.url) as amqp:
        amqp.declare("serves")
        amqp.publish("serves", b"hello")
        assert amqp.bodies("serves") == [b"hello"]
    assert int(private_node.version.split(".")[0]) >= 3
    assert "rabbit" in private_node.ctl("status").lower()


def test_everything_it_listens_on_is_loopback(private_node: LocalBroker) -> None:
    ports = private_node.node.ports
    for port in (ports.amqp, ports.management, ports.distribution, ports.epmd):
        addresses = listening_addresses(port)
        assert addresses
        assert addresses <= LOOPBACK


def test_its_directory_is_for_its_owner_only(private_node: LocalBroker) -> None:
    assert private_node.directory.stat().st_mode & 0o777 == 0o700


def test_a_restart_keeps_ports_and_messages(private_node: LocalBroker) -> None:
    url = private_node.url
    with connected(url) as amqp:
        amqp.declare("restarted")
        amqp.publish("restarted", b"kept")
    private_node.restart()
    assert private_node.url == url
    with connected(url) as amqp:
        assert amqp.bodies("restarted") == [b"kept"]


def test_a_killed_node_starts_again_with_its_messages(private_node: LocalBroker, queue_type: str) -> None:
    queue = f"killed-{queue_type}"
    with connected(private_node.url) as amqp:
        amqp.declare(queue, queue_type)
        amqp.publish(queue, b"kept")
    wait_until_on_disk(private_node, queue, queue_type)
    private_node.kill()
    assert not private_node.running
    private_node.start()
    with connected(private_node.url) as amqp:
        assert wait_until(lambda: amqp.bodies(queue), what=queue) == [b"kept"]


def test_two_at_once_know_nothing_of_each_other(private_node: LocalBroker) -> None:
    with LocalBroker() as other:
        assert not set(astuple(other.node.ports)) & set(astuple(private_node.node.ports))
        with connected(private_node.url) as here, connected(other.url) as there:
            here.declare("only-here")
            assert here.exists("only-here")
            assert not there.exists("only-here")
        directory = other.directory
    assert_nothing_left(directory)


def test_nothing_is_left_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline().startswith(b"amqp://guest:guest@127.0.0.1:")
        directory = directory_of_child(owner.pid)
        owner.kill()
    assert directory is not None
    assert_nothing_left(directory)


def test_a_process_that_it_adopted_ends_with_it() -> None:
    with _private_broker() as broker, subprocess.Popen(["sleep", "60"], start_new_session=True) as adopted:
        broker.adopt("sleeper", adopted.pid)
        broker.stop()
        assert adopted.wait(10) == -signal.SIGKILL


def test_a_node_that_cannot_start_says_why_at_once() -> None:
    broker = _private_broker(config="no.such.setting = 1")
    began = time.monotonic()
    with pytest.raises(LocalBrokerError, match=r"no\.such\.setting"):
        broker.start()
    assert time.monotonic() - began < 60


def test_settings_of_another_rabbitmq_in_the_environment_do_not_reach_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RABBITMQ_NODE_PORT", "1")
    monkeypatch.setenv("RABBITMQ_CONFIG_FILE", "/nonexistent/elsewhere.conf")
    monkeypatch.setenv("ERL_EPMD_PORT", "1")
    with _private_broker() as broker, connected(broker.url) as amqp:
        assert amqp.exists(amqp.declare("undisturbed"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif("RAQUO_RABBITMQ_ROOT" in os.environ, reason="a chroot needs root")
def test_another_user_can_run_one() -> None:
    if _as_nobody("-c", "import raquo.broker.local").returncode:
        pytest.skip("the user nobody cannot import raquo here")
    done = _as_nobody("-c", SERVE)
    assert done.returncode == 0, done.stderr
    assert "amqp://" in done.stdout


def test_taken_ports_are_given_up_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[Ports] = []

    def launch(self: LocalBroker, node: local.LocalNode) -> None:
        attempts.append(node.ports)
        if len(attempts) < 3:
            raise LocalBrokerError("could not listen: eaddrinuse")

    monkeypatch.setattr(LocalBroker, "_launch", launch)
    broker = _private_broker()
    broker.start()
    broker.stop()
    assert len(set(attempts)) == 3


def test_ports_are_outside_of_what_clients_are_given() -> None:
    first_for_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(astuple(free_ports())) < max(first_for_clients, 32_001)


def test_without_any_rabbitmq_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_FOLDERS", ())
    monkeypatch.setattr(local, "engine_answers", lambda: False)
    with pytest.raises(LocalBrokerError, match="apt-get install rabbitmq-server"):
        find_server({"PATH": "/nonexistent"})


def test_a_folder_without_rabbitmq_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocalBrokerError, match=str(tmp_path)):
        find_server({"RAQUO_RABBITMQ_ROOT": str(tmp_path)})


def test_a_broker_that_is_not_started_has_no_address() -> None:
    with pytest.raises(LocalBrokerError, match="not started"):
        _ = _private_broker().url


def _private_broker(config: str = "") -> LocalBroker:
    try:
        return LocalBroker(config=config)
    except LocalBrokerError as error:
        pytest.skip(str(error))


def _as_nobody(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the machine's own Python as another user; the one that runs the tests may be out of its reach."""
    packages = [str(Path(local.__file__).parents[2]), sysconfig.get_path("purelib")]
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*become, *arguments]
    return subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
