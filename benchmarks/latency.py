"""How long one message takes on an idle system, from before `publish()` until a consumer of the target has it.

Publisher and consumer are in this process, so one clock measures. A message is sent when the last one has arrived and a
random moment has passed, so that it meets the daemon's loops anywhere. The bell rings for a queue that was quiet for a
second, so known queues are used in turn, each after more than that. *New* queues are declared by their first message. A
*foreign* producer publishes to a known queue with plain pika: no bell, so it waits until the rotation comes by.

Idle staging queues are classic also where the measured ones are quorum queues: thousands of those are no idle system.
"""

import queue as waiting_line
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingConnection
from rich.table import Table

from benchmarks.child import ContenderFailed
from benchmarks.daemon import DaemonApart, daemon
from benchmarks.figure import Figure
from benchmarks.queues import Queues
from benchmarks.session import Section, Session, main
from raquo.router import Publisher, Router

KNOWN, NEW, FOREIGN = "known queue", "new queue", "known queue, foreign producer"
_TARGET = "bench"
_TENANTS = 25
_PAUSE = (0.03, 0.12)  # between messages: a queue's turn comes after more than a second
_LOST_AFTER = 20.0
_READINGS_A_SECOND = 2000  # of idle queues, as the distributor promises
_ROUND_MS = 150.0
_REQUIRED_MS = {KNOWN: 150.0, NEW: 300.0}

Send = Callable[[str], Any]
"""Publish one message for this tenant."""


@dataclass
class Result:
    """One way to publish, on one kind of system."""

    way: str
    queue_type: str
    idle_queues: int
    seconds: list[float] = field(default_factory=list)

    @property
    def title(self) -> str:
        return f"{self.way}, {self.queue_type}, {self.idle_queues:,} idle queues"

    @property
    def required_ms(self) -> float:
        return _REQUIRED_MS.get(self.way, 1000 * self.idle_queues / _READINGS_A_SECOND + _ROUND_MS)

    def percentile(self, percent: int) -> float | None:
        """In milliseconds."""
        if len(self.seconds) < 2:
            return None
        return 1000 * statistics.quantiles(self.seconds, n=100, method="inclusive")[percent - 1]

    def as_json(self) -> dict[str, Any]:
        figures = {f"p{percent}_ms": round(self.percentile(percent) or 0, 1) for percent in (50, 90, 99)}
        return {"case": self.title, **figures, "messages": len(self.seconds)}


def run(session: Session) -> Section:
    """Every way, on an empty system and beside many idle queues."""
    results: list[Result] = []
    failures: list[str] = []
    systems = [(idle, type_) for idle in (0, 500 if session.quick else 5000) for type_ in ("classic", "quorum")]
    each = 25 if session.quick else 200
    task = session.progress.add_task("latency", total=len(systems) * 3 * each)
    idle_cpu: dict[str, float] = {}
    for idle, queue_type in systems:
        if session.time_is_up():
            session.console.print(f"The time is up: {idle} idle queues, {queue_type}: left out.", highlight=False)
            continue
        try:
            with _system(session, idle, queue_type) as process:
                idle_cpu[f"{queue_type}, {idle} idle queues"] = _cpu_when_idle(process)
                for way in (KNOWN, NEW, FOREIGN):
                    results.append(Result(way, queue_type, idle))
                    session.say(results[-1].title)
                    session.progress.update(task, description=results[-1].title)
                    _measure(session, results[-1], each, lambda: session.progress.advance(task))
        except (ContenderFailed, TimeoutError) as error:
            failures.append(f"{queue_type}, {idle} idle queues: {error}")
    saved = {"latency": [one.as_json() for one in results], "idle_daemon_cpu_percent": idle_cpu}
    return Section("latency", _table(results, idle_cpu), saved, _figures(results), failures)


@contextmanager
def _system(session: Session, idle: int, queue_type: str) -> Iterator[DaemonApart]:
    """A target, known staging queues, idle ones of another target, and a daemon that knows them all."""
    names = [f"idle»tenant-{number}" for number in range(idle)]
    known = [_TARGET, *(f"{_TARGET}»{_known(number)}" for number in range(_TENANTS))]
    queues = Queues(session.broker.url)
    making = session.progress.add_task("declaring", total=2 * idle or 1)
    try:
        queues.declare([*known, "idle"], queue_type)
        queues.declare_many(names, "classic", lambda count: session.progress.advance(making, count))
        queues.close()  # it would be silent for longer than a heartbeat
        with daemon(session.broker) as process:
            process.wait_until_ready()
            time.sleep(3)  # until it has listed everything once more, and rests
            yield process
            process.stop()
    finally:
        queues = Queues(session.broker.url)
        queues.delete([*known, "idle"])
        queues.delete_many(names, lambda count: session.progress.advance(making, count))
        queues.close()
        session.progress.remove_task(making)


def _cpu_when_idle(process: DaemonApart) -> float:
    """Per cent of a processor that the daemon takes while nothing happens."""
    before, begun = process.cpu_seconds(), time.monotonic()
    time.sleep(3)
    return round(100 * (process.cpu_seconds() - before) / (time.monotonic() - begun), 1)


def _measure(session: Session, result: Result, messages: int, advance: Callable[[], None]) -> None:
    url = session.broker.url
    with _arrivals(url) as arrived, _sender(url, result) as send:
        for tenant in range(_TENANTS if result.way == KNOWN else 1):  # declared, connected, the bell's channel is open
            _one(send, arrived, _known(tenant))
        time.sleep(1.5)
        for number in range(messages):
            time.sleep(random.uniform(*_PAUSE))
            tenant = f"new-{result.idle_queues}-{number}" if result.way == NEW else _known(number % _TENANTS)
            result.seconds.append(_one(send, arrived, tenant))
            advance()
    if result.way == NEW:
        queues = Queues(url)
        queues.delete([f"{_TARGET}»new-{result.idle_queues}-{number}" for number in range(messages)])
        queues.close()


def _known(number: int) -> str:
    return f"tenant-{number}"


def _one(send: Send, arrived: "waiting_line.Queue[float]", tenant: str) -> float:
    """Seconds until it is there."""
    begun = time.perf_counter()
    send(tenant)
    try:
        return arrived.get(timeout=_LOST_AFTER) - begun
    except waiting_line.Empty:
        raise ContenderFailed(f"a message of {tenant} did not arrive within {_LOST_AFTER:g} s") from None


@contextmanager
def _sender(url: str, result: Result) -> Iterator[Send]:
    if result.way != FOREIGN:
        with Publisher(url, Router(mode="stage"), queue_type=result.queue_type) as publisher:
            yield lambda tenant: publisher.publish(_TARGET, b"one", headers={"tenant": tenant})
        return
    connection: Any = BlockingConnection(pika.URLParameters(f"{url}?heartbeat=600"))
    channel = connection.channel()
    channel.confirm_delivery()
    yield lambda tenant: channel.basic_publish("", f"{_TARGET}»{tenant}", b"one", mandatory=True)
    connection.close()


@contextmanager
def _arrivals(url: str) -> "Iterator[waiting_line.Queue[float]]":
    """The moments at which messages arrive in the target, as a consumer sees them."""
    arrived: waiting_line.Queue[float] = waiting_line.Queue()
    connection: Any = BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.basic_qos(prefetch_count=10)

    def take(_channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        arrived.put(time.perf_counter())
        channel.basic_ack(method.delivery_tag)

    channel.basic_consume(_TARGET, take)
    consuming = threading.Thread(target=channel.start_consuming, daemon=True)
    consuming.start()
    try:
        yield arrived
    finally:
        connection.add_callback_threadsafe(channel.stop_consuming)
        consuming.join(5)
        connection.close()


def _figures(results: list[Result]) -> list[Figure]:
    return [Figure(f"p99 ms, {one.title}", one.required_ms, one.percentile(99), at_most=True) for one in results]


def _table(results: list[Result], idle_cpu: dict[str, float]) -> Table:
    caption = "CPU of the idle daemon: " + "; ".join(f"{system} {cpu} %" for system, cpu in idle_cpu.items())
    table = Table(title="One message on an idle system, publish → consumer of the target (ms)", caption=caption)
    table.add_column("message to")
    for column in ("p50", "p90", "p99", "most", "required"):
        table.add_column(column, justify="right")
    for result in results:
        cells = [f"{result.percentile(percent) or 0:,.1f}" for percent in (50, 90, 99)]
        most = 1000 * max(result.seconds, default=0)
        table.add_row(result.title, *cells, f"{most:,.1f}", f"≤ {result.required_ms:,.0f}")
    return table


if __name__ == "__main__":
    sys.exit(main(run))
