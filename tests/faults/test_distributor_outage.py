"""The broker itself is in trouble: it is late, it restarts, it has an alarm. The distributor waits, and goes on."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from raquo.broker.local import LocalBroker
from support.amqp import connected
from support.brokers import wait_until_on_disk
from support.publishing import fresh, memory_alarm
from support.serving import DaemonProcess, config_for, serving, toml_for
from support.waiting import wait_until

_COUNT = 10_000


@pytest.fixture
def target(private_node: LocalBroker) -> Iterator[str]:
    """A name that no other test uses; the broker is left as it was."""
    name = fresh("work")
    yield name
    private_node.start()
    with connected(private_node.url) as amqp:
        for queue in (name, f"{name}»t1"):
            amqp.channel.queue_delete(queue)


def restart(node: LocalBroker) -> None:
    """As an administrator would."""
    node.restart()


def kill(node: LocalBroker) -> None:
    """As a power cut would."""
    node.kill()
    node.start()


@pytest.mark.parametrize("outage", [restart, kill])
def test_after_an_outage_of_the_broker_everything_arrives(
    private_node: LocalBroker, target: str, outage: Callable[[LocalBroker], None], queue_type: str
) -> None:
    staging = f"{target}»t1"
    with connected(private_node.url) as amqp:
        for queue in (target, staging):
            amqp.declare(queue, queue_type)
        amqp.publish_numbered(staging, _COUNT)
        for queue in (target, staging):
            wait_until_on_disk(private_node, queue, queue_type)
    config = config_for(private_node.url, private_node.management_url, defaults={"max_length": 100_000})
    with serving(config, only=(target,)):
        with connected(private_node.url) as amqp:
            wait_until(lambda: amqp.depth(target) > 500, what="it is being moved")
        outage(private_node)
        with connected(private_node.url) as amqp:
            arrived: set[int] = set()
            wait_until(lambda: arrived.update(map(int, amqp.bodies(target))) or len(arrived) == _COUNT, 60, "all come")


def test_while_the_broker_has_an_alarm_nothing_is_granted_and_afterwards_it_goes_on(
    private_node: LocalBroker, target: str
) -> None:
    with connected(private_node.url) as amqp:
        for queue in (target, f"{target}»t1"):
            amqp.declare(queue)
        amqp.publish_numbered(f"{target}»t1", 500)
        config = config_for(private_node.url, private_node.management_url, defaults={"max_length": 100})
        with serving(config, only=(target,)) as one:
            wait_until(lambda: amqp.depth(target) == 100, what="the target is full")
            with memory_alarm(private_node):
                amqp.bodies(target)
                wait_until(lambda: one.target(target).reason == "blocked", 20, "it says that it is blocked")
            wait_until(lambda: amqp.depth(target) == 100, 20, "it goes on")


def test_a_daemon_stops_during_an_alarm_within_its_deadline_and_says_what_it_gave_back(
    private_node: LocalBroker, target: str, tmp_path: Path
) -> None:
    with connected(private_node.url) as amqp:
        for queue in (target, f"{target}»t1"):
            amqp.declare(queue)
        amqp.publish_numbered(f"{target}»t1", 500)
        more = '[distributor]\nhttp = "off"\ndrain_timeout = "1s"\n[defaults]\nmax_length = 100\n'
        toml = toml_for(private_node.url, private_node.management_url, more)
        daemon = DaemonProcess(tmp_path, toml, "--target", target)
        daemon.start()
        try:
            wait_until(lambda: amqp.depth(target) == 100, what="the target is full")
            with memory_alarm(private_node):
                amqp.bodies(target)
                wait_until(lambda: amqp.depth(f"{target}»t1") < 400, 20, "messages are on their way")
                daemon.send(signal.SIGTERM)
                assert daemon.wait(20) == 0
            stopped = next(line for line in daemon.lines() if line["event"] == "stopped")
            assert 0 < stopped["given_back"] <= 100
        finally:
            daemon.close()
        wait_until(lambda: amqp.depth(f"{target}»t1") + amqp.depth(target) >= 400, 30, "nothing is lost")


def test_a_daemon_that_starts_before_the_broker_serves_when_that_is_up(
    private_node: LocalBroker, target: str, tmp_path: Path
) -> None:
    with connected(private_node.url) as amqp:
        for queue in (target, f"{target}»t1"):
            amqp.declare(queue, "quorum")
        amqp.publish_numbered(f"{target}»t1", 10)
        wait_until_on_disk(private_node, f"{target}»t1", "quorum")
    toml = toml_for(private_node.url, private_node.management_url)
    private_node.kill()
    daemon = DaemonProcess(tmp_path, toml, "--target", target)
    daemon.start()
    try:
        wait_until(lambda: daemon.logged("cannot be listed"), what="it says that there is no broker")
        private_node.start()
        with connected(private_node.url) as amqp:
            wait_until(lambda: amqp.depth(target) == 10, 60, "it serves")
        daemon.send(signal.SIGTERM)
        assert daemon.wait() == 0
    finally:
        daemon.close()
