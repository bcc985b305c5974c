"""What tests of the publisher share: messages of tenants, what a queue holds, and work in another thread."""

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from raquo.broker.local import LocalBroker
from raquo.mutators import Message
from support.admin import Admin
from support.amqp import Amqp
from support.waiting import wait_until

Result = TypeVar("Result")

HANG = 45.0
"""Longer than anything here takes: what is not back by then hangs."""


def fresh(text: str) -> str:
    """A name that no other test uses, for brokers that tests share."""
    return f"{text}-{uuid.uuid4().hex[:8]}"


def of(tenant: str, body: bytes | str = b"", **properties: Any) -> Message:
    """A message of a tenant."""
    return Message(body, {"tenant": tenant}, **properties)


def numbered(count: int, *tenants: str, size: int = 0) -> list[Message]:
    """Messages that start with their number, `size` bytes long or more, of the tenants in turn."""
    names = tenants or ("t1",)
    return [
        of(names[number % len(names)], str(number).encode().ljust(size, b".")) for number in range(count)
    ]


def numbers(bodies: Iterable[bytes]) -> list[int]:
    """The numbers that `numbered` put into bodies."""
    return [int(body.rstrip(b".")) for body in bodies]


def take(amqp: Amqp, queue: str, count: int) -> list[bytes]:
    """The first `count` bodies of a queue, acknowledged; faster than one `get` after the other."""
    channel = amqp.connection.channel()
    channel.basic_qos(prefetch_count=count)
    bodies: list[bytes] = []
    if count:
        for method, _, body in channel.consume(queue, inactivity_timeout=HANG):
            assert method is not None, f"{queue} gave {len(bodies)} messages and then no more"
            bodies.append(body)
            if len(bodies) == count:
                channel.basic_ack(method.delivery_tag, multiple=True)
                break
    channel.close()
    return bodies


def take_all(amqp: Amqp, queue: str) -> list[bytes]:
    """Every body in a queue, acknowledged, until it stays empty."""
    bodies: list[bytes] = []
    while depth := amqp.depth(queue):
        bodies += take(amqp, queue, depth)
    return bodies


def arguments_of(admin: Admin, vhost: str, queue: str) -> dict[str, Any]:
    """The arguments that a queue was declared with."""
    found: dict[str, Any] = admin.get("queues", vhost, queue)["arguments"]
    return found


def connections_named(admin: Admin, vhost: str, name: str) -> list[str]:
    """The broker's names of the connections that a client of ours calls `name`."""
    return [
        connection["name"]
        for connection in admin.get("vhosts", vhost, "connections")
        if connection.get("client_properties", {}).get("connection_name") == name
    ]


def wait_for_connections(admin: Admin, vhost: str, name: str, count: int) -> list[str]:
    """Wait until the management API shows so many connections of this name; it is seconds late at times."""

    def found() -> list[str]:
        names = connections_named(admin, vhost, name)
        return names if len(names) == count else []

    return wait_until(found, deadline=HANG, what=f"{count} connections {name!r}")


@contextmanager
def meanwhile(work: Callable[..., Result], *arguments: Any, **options: Any) -> Iterator["Future[Result]"]:
    """Let another thread do some work during a block; the block's end waits for it."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work, *arguments, **options)


@contextmanager
def memory_alarm(node: LocalBroker) -> Iterator[None]:
    """A broker that accepts no messages during the block."""
    node.ctl("set_vm_memory_high_watermark", "0")
    try:
        yield
    finally:
        node.ctl("set_vm_memory_high_watermark", "0.4")


def assert_nothing_broke(records: Iterable[logging.LogRecord]) -> None:
    """No exception fell through in a background thread: asyncio would have logged it."""
    ours = [record for record in records if record.name == "asyncio" and record.threadName != "proxy"]
    broken = [record for record in ours if record.levelno >= logging.ERROR]
    assert not broken, "\n".join(logging.Formatter().format(record) for record in broken)


def missing(expected: Iterable[int], found: Iterable[int]) -> list[int]:
    """What was expected and is not there; twice is fine."""
    return sorted(set(expected) - set(found))


def repeated(found: Iterable[int]) -> Mapping[int, int]:
    """What is there more than once."""
    return {number: count for number, count in Counter(found).items() if count > 1}
