"""The project's own publisher: everything in one `publish_many`, as a user would write it.

A publisher connects with its first message, so a first one for every tenant goes ahead of the others. They are within
the time, as connecting is, and outside the processor time.
"""

from collections.abc import Iterator

from benchmarks.apart import Stopwatch
from raquo.mutators import Message
from raquo.router import Publisher, Router


def run(stopwatch: Stopwatch, url: str, target: str, tenants: int, messages: int, size: int) -> None:
    with Publisher(url, Router(mode="stage"), queue_type="classic") as publisher:
        confirmed = publisher.publish_many(target, _messages(tenants, tenants, size))
        stopwatch.connected()
        confirmed += publisher.publish_many(target, _messages(messages - tenants, tenants, size), timeout=60)
        stopwatch.done()
    if confirmed != messages:
        raise RuntimeError(f"{confirmed} of {messages} confirmed")


def _messages(count: int, tenants: int, size: int) -> Iterator[Message]:
    body = b"." * size
    for number in range(count):
        yield Message(body, {"tenant": f"tenant-{number % tenants}"})
