"""The first thing that comes to mind: get one, publish it, wait for its confirm, acknowledge it, and again."""

from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingConnection

from benchmarks.apart import Stopwatch


def run(stopwatch: Stopwatch, url: str, sources: list[str], target: str, each: int) -> None:
    connection: Any = BlockingConnection(pika.URLParameters(url))
    stopwatch.connected()
    channel = connection.channel()
    channel.confirm_delivery()
    for source in sources:
        for _ in range(each):
            _move_one(channel, source, target)
    stopwatch.done()
    connection.close()


def _move_one(channel: Any, source: str, target: str) -> None:
    method, properties, body = channel.basic_get(source)
    if method is None:
        raise RuntimeError(f"{source} is empty too early")
    channel.basic_publish("", target, body, properties, mandatory=True)
    channel.basic_ack(method.delivery_tag)
