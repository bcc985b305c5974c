"""The daemon is stopped, killed and started again while messages flow: every one arrives.

A daemon that is told to stop settles what is on its way, so nothing is repeated. One that is killed leaves messages
that were published and not acknowledged: they are repeated, no more than were on their way.
"""

import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from raquo.broker.mover import Limits
from support.amqp import Amqp
from support.brokers import Broker
from support.moving import drained
from support.serving import DaemonProcess, toml_for
from support.waiting import wait_until

_TENANTS = 10
_EACH = 10_000
_EVERYTHING = "[defaults]\nmax_length = 1000000\n"


@pytest.fixture
def daemon(node: Broker, vhost_url: str, tmp_path: Path) -> Iterator[DaemonProcess]:
    daemon = DaemonProcess(tmp_path, toml_for(vhost_url, node.management_url, _EVERYTHING))
    yield daemon
    daemon.close()


def flood(amqp: Amqp, queue_type: str, tenants: int = _TENANTS, each: int = _EACH) -> None:
    """Numbers from 0 on; a tenant's are its own, and rise."""
    amqp.declare("work", queue_type)
    for tenant in range(tenants):
        amqp.declare(f"work»t{tenant}", queue_type, **_unlimited(amqp, queue_type))
        amqp.publish_numbered(f"work»t{tenant}", each, first=tenant * each)


def _unlimited(amqp: Amqp, queue_type: str) -> dict[str, int]:
    """As a publisher declares them."""
    version = amqp.connection._impl.server_properties["version"]
    return {"x_delivery_limit": -1} if queue_type == "quorum" and int(version.split(".")[0]) >= 4 else {}


def arrived(amqp: Amqp) -> list[int]:
    """Everything in the target, once nothing comes any more."""
    return [int(message.body) for message in drained(amqp, "work")]


def by_tenant(numbers: list[int], each: int) -> list[list[int]]:
    tenants = sorted({number // each for number in numbers})
    return [[number for number in numbers if number // each == tenant] for tenant in tenants]


def test_a_daemon_that_is_told_to_stop_and_started_again_repeats_nothing_and_keeps_the_order(
    amqp: Amqp, daemon: DaemonProcess, queue_type: str
) -> None:
    flood(amqp, queue_type)
    for part in (0.2, 0.5):
        daemon.start()
        wait_until(lambda part=part: amqp.depth("work") > part * _TENANTS * _EACH, 60, "it is in the middle of it")  # type: ignore[misc]
        daemon.send(signal.SIGTERM)
        assert daemon.wait() == 0
        assert amqp.depth("work") < _TENANTS * _EACH
    daemon.start()
    wait_until(lambda: amqp.depth("work") >= _TENANTS * _EACH, 60, "everything is moved")
    daemon.send(signal.SIGTERM)
    assert daemon.wait() == 0
    numbers = arrived(amqp)
    assert sorted(numbers) == list(range(_TENANTS * _EACH))
    assert all(own == sorted(own) for own in by_tenant(numbers, _EACH))


def test_a_daemon_that_is_killed_repeats_no_more_than_was_on_its_way_and_loses_nothing(
    amqp: Amqp, daemon: DaemonProcess, queue_type: str
) -> None:
    flood(amqp, queue_type)
    kills = (0.2, 0.5)
    for part in kills:
        daemon.start()
        wait_until(lambda part=part: amqp.depth("work") > part * _TENANTS * _EACH, 60, "it is in the middle of it")  # type: ignore[misc]
        daemon.kill()
    daemon.start()
    wait_until(lambda: _staged(amqp) == 0, 60, "everything is moved")
    daemon.send(signal.SIGTERM)
    assert daemon.wait() == 0
    numbers = arrived(amqp)
    assert set(numbers) == set(range(_TENANTS * _EACH))
    assert len(numbers) - _TENANTS * _EACH <= len(kills) * min(_TENANTS, Limits().channels) * Limits().window
    for own in by_tenant(numbers, _EACH):
        assert _goes_back(own) <= len(kills), "the order within a staging queue is kept, but where it was repeated"


def _goes_back(numbers: list[int]) -> int:
    """How often a number is followed by a smaller one: each time a part was repeated."""
    return sum(later <= earlier for earlier, later in pairwise(numbers))


def _staged(amqp: Amqp) -> int:
    return sum(amqp.depth(f"work»t{tenant}") for tenant in range(_TENANTS))


@pytest.mark.timeout(240)
def test_thirty_kills_in_a_row_over_quorum_staging_queues_lose_nothing(
    amqp: Amqp, daemon: DaemonProcess
) -> None:
    """Twenty-one are enough to lose messages where the broker counts returns."""
    each = 2000
    flood(amqp, "quorum", tenants=3, each=each)
    everything_fits = daemon.file.read_text(encoding="utf-8")
    daemon.file.write_text(everything_fits.replace("1000000", "40"), encoding="utf-8")
    numbers: list[int] = []
    for _ in range(30):
        daemon.start()
        wait_until(lambda: amqp.depth("work") > 0, 30, "it moves")
        daemon.kill()
        numbers += map(int, amqp.bodies("work"))
    daemon.file.write_text(everything_fits, encoding="utf-8")
    daemon.start()

    def everything() -> bool:
        numbers.extend(map(int, amqp.bodies("work")))
        return set(numbers) == set(range(3 * each))

    wait_until(everything, 60, "everything is moved")
