"""A plain pika loop into the same queues: publish one, wait for its confirm, and again."""

from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingConnection

from benchmarks.apart import Stopwatch


def run(stopwatch: Stopwatch, url: str, target: str, tenants: int, messages: int, size: int) -> None:
    connection: Any = BlockingConnection(pika.URLParameters(url))
    stopwatch.connected()
    channel = connection.channel()
    channel.confirm_delivery()
    body = b"." * size
    for number in range(messages):
        tenant = f"tenant-{number % tenants}"
        properties = pika.BasicProperties(headers={"tenant": tenant}, delivery_mode=2)
        channel.basic_publish("", f"{target}»{tenant}", body, properties, mandatory=True)
    stopwatch.done()
    connection.close()
