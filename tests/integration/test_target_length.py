"""However fast workers are and however much is staged: a target never holds more than its length."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pika

from support.amqp import Amqp, connected
from support.brokers import Broker
from support.serving import config_for, serving
from support.waiting import wait_until

_LENGTH = 200
_EACH = 2000
_TENANTS = 8


@contextmanager
def worker(url: str, prefetch: int) -> Iterator[list[bytes]]:
    """A worker that takes whatever it gets, as fast as it can."""
    done: list[bytes] = []
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.basic_qos(prefetch_count=prefetch)

    def work(_channel: object, method: pika.spec.Basic.Deliver, _properties: object, body: bytes) -> None:
        done.append(body)
        channel.basic_ack(method.delivery_tag)

    channel.basic_consume("work", work)
    thread = threading.Thread(target=channel.start_consuming)
    thread.start()
    try:
        yield done
    finally:
        connection.add_callback_threadsafe(channel.stop_consuming)
        thread.join()
        connection.close()


def test_a_target_is_never_longer_than_it_may_be_while_workers_run_at_full_speed(
    node: Broker, vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    amqp.declare("work", queue_type)
    for tenant in range(_TENANTS):
        amqp.declare(f"work»t{tenant}", queue_type)
        amqp.publish_numbered(f"work»t{tenant}", _EACH, first=tenant * _EACH)
    config = config_for(vhost_url, node.management_url, defaults={"max_length": _LENGTH})
    longest = 0
    with serving(config), worker(vhost_url, prefetch=20) as done, connected(vhost_url) as observer:

        def all_done() -> bool:
            nonlocal longest
            longest = max(longest, observer.depth("work"))
            return len(done) >= _TENANTS * _EACH

        wait_until(all_done, 60, "everything is worked off")
    assert longest <= _LENGTH
    assert sorted(map(int, done)) == list(range(_TENANTS * _EACH))


def test_messages_that_are_unacked_count_where_that_is_asked_for(node: Broker, vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("work")
    amqp.declare("work»t1")
    amqp.publish_numbered("work»t1", 500)
    config = config_for(vhost_url, node.management_url, defaults={"max_length": 100, "max_unacked": 120})
    with serving(config), connected(vhost_url) as hoarder:
        held: list[int] = []
        hoarder.channel.basic_consume("work", lambda _c, method, _p, _b: held.append(method.delivery_tag))

        def takes_what_comes() -> int:
            hoarder.connection.process_data_events(time_limit=0)
            return len(held)

        wait_until(lambda: takes_what_comes() == 120, 20, "as many are moved as may be there")
        for tag in held[:50]:
            hoarder.channel.basic_ack(tag)
        wait_until(lambda: takes_what_comes() == 170, 20, "as many follow as are done")
        assert amqp.depth("work") == 0
