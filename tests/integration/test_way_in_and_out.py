"""The whole way in and out, with messages all the time: each arrives once, and the broker is what it was before."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika
import pytest

from raquo.mutators import Message
from raquo.router import Publisher, Router
from support.admin import Admin
from support.amqp import Amqp
from support.brokers import Broker
from support.publishing import repeated, take_all
from support.serving import raquo, raquo_json
from support.waiting import wait_until
from support.way_out import DONE, configured, daemon, definitions, refusal

SMALL = tuple(f"small-{number}" for number in range(5))
FLOOD = 20  # messages of the flooding tenant for one of each small one


class Producer:
    """An application that publishes numbered messages all the time; its router's mode changes as by a restart."""

    def __init__(self, node: Broker, vhost_url: str) -> None:
        self.published = 0
        self.staged = 0
        self._where = vhost_url, node.management_url
        self._mode = "off"
        self._next_mode = "off"
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="producer")

    def __enter__(self) -> "Producer":
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.join(60)
        if self._failure is not None:
            raise self._failure

    def switch(self, mode: str) -> None:
        """Restart with another mode, and wait until messages are published in it."""
        self._next_mode = mode
        wait_until(lambda: self._mode == mode or self._failure, what=f"the router is in mode {mode}")
        self.publish_more(500)

    def publish_more(self, count: int) -> None:
        """Wait until so many more are published."""
        end = self.published + count
        wait_until(lambda: self.published >= end or self._failure, deadline=30, what=f"{count} more are published")

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._publish_in(self._next_mode)
        except BaseException as failure:  # told when the block ends
            self._failure = failure

    def _publish_in(self, mode: str) -> None:
        url, management_url = self._where
        with Publisher(url, Router(by=("tenant",), mode=mode), management_url=management_url) as publisher:
            while self._next_mode == mode and not self._over.wait(0.01):
                self._publish_some(publisher)
                self._mode = mode
            self.staged += publisher.stats()["staged"]

    def _publish_some(self, publisher: Publisher) -> None:
        tenants = ["flood"] * FLOOD + list(SMALL)
        messages = [
            Message(str(self.published + place).encode(), {"tenant": tenant}) for place, tenant in enumerate(tenants)
        ]
        publisher.publish_many("work", messages)
        self.published += len(messages)


@contextmanager
def worker(vhost_url: str, seen: list[bytes]) -> Iterator[None]:
    """An ordinary worker with a prefetch limit, for the length of a block."""
    over = threading.Event()

    def work() -> None:
        connection = pika.BlockingConnection(pika.URLParameters(vhost_url))
        channel = connection.channel()
        channel.basic_qos(prefetch_count=20)
        for method, _, body in channel.consume("work", inactivity_timeout=0.05):
            if method is not None:
                seen.append(body)
                channel.basic_ack(method.delivery_tag)
            if over.is_set():
                break
        channel.cancel()
        connection.close()

    thread = threading.Thread(target=work, name="worker")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)


def waiting(folder: Path) -> int:
    """How many messages are staged."""
    targets = raquo_json(folder, "status")["targets"]
    return sum(queue["depth"] for target in targets for queue in target["staging"])


@pytest.mark.timeout(240)
def test_every_message_arrives_once_and_the_broker_is_what_it_was_before(
    node: Broker, vhost: str, vhost_url: str, admin: Admin, amqp: Amqp, tmp_path: Path, queue_type: str
) -> None:
    configured(tmp_path, node, vhost_url, "[defaults]\nmax_length = 50\n")
    amqp.declare("work", queue_type)
    admin.set_policy(vhost, "own", "^work$", max_length=1_000_000)
    before = definitions(admin, vhost)
    seen: list[bytes] = []
    with Producer(node, vhost_url) as producer:
        with daemon(tmp_path) as process:
            with worker(vhost_url, seen):
                producer.switch("shadow")
                assert definitions(admin, vhost)["queues"] == before["queues"], "a shadow changes nothing"
                producer.switch("stage")
                wait_until(lambda: waiting(tmp_path) > 0, deadline=30, what="messages are staged")

                assert raquo(tmp_path, "bypass", "on", "--reason", "a test").returncode == 0
                producer.publish_more(500)
                assert raquo_json(tmp_path, "status")["bypass"]
                assert raquo(tmp_path, "bypass", "off", "--reason", "a test").returncode == 0
                producer.publish_more(500)

            # Without a worker the target stays full, and what is staged waits.
            producer.publish_more(500)
            producer.switch("off")
            assert "raquo bypass on" in refusal(tmp_path, "drain", "--all", *DONE)
            process.send(signal.SIGTERM)
            assert process.wait() == 0
        assert raquo_json(tmp_path, "drain", "--all", "--dry-run")["left"] > 0
        assert "raquo drain --all" in refusal(tmp_path, "uninstall", *DONE)
        drained = raquo_json(tmp_path, "drain", "--all", *DONE)
        assert (drained["moved"] > 0, drained["left"]) == (True, 0)
        uninstalled = raquo_json(tmp_path, "uninstall", *DONE)
        assert uninstalled["queues"] == sorted(f"work»{tenant}" for tenant in ("flood", *SMALL))
        producer.publish_more(100)
    seen += take_all(amqp, "work")
    assert definitions(admin, vhost) == before
    assert producer.staged > 1000
    numbers = [int(body) for body in seen]
    assert repeated(numbers) == {}
    assert set(numbers) == set(range(producer.published)), f"{producer.published - len(set(numbers))} are missing"
