"""How fast a publisher gets rid of many messages: `publish_many` against a pika loop with a confirm per message.

50,000 messages of 1 KiB for one target, over 50 tenants. Both publish into the same staging queues, which are there
already, on the same broker, in turns, each in a process of its own. The loop is given fewer messages; rates compare.
"""

import sys
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from benchmarks.apart import ContenderFailed, measure_apart
from benchmarks.figure import Figure, ratio
from benchmarks.queues import Queues
from benchmarks.rounds import Rounds
from benchmarks.session import Section, Session, main

_MESSAGES = 50_000
_TENANTS = 50
_SIZE = 1024
_DEADLINE = 90.0
_REQUIRED = 5


@dataclass
class Contender(Rounds):
    """One way to publish."""

    name: str = ""
    module: str = ""
    messages: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"publisher": self.name, **super().as_json()}


def run(session: Session) -> Section:
    """Let both publish in turns."""
    scale = 5 if session.quick else 1
    many = Contender(name="raquo publish_many", module="benchmarks.publishers.many", messages=_MESSAGES // scale)
    loop = Contender(name="pika loop", module="benchmarks.publishers.loop", messages=_MESSAGES // scale // 20)
    _take_turns(session, [many, loop])
    figure = Figure("publish_many against a pika loop", _REQUIRED, ratio(many.rate, loop.rate))
    results = [many.as_json(), loop.as_json()]
    return Section("publish", _table([many, loop]), results, [figure], many.failures + loop.failures)


def _take_turns(session: Session, contenders: list[Contender]) -> None:
    queues = Queues(session.broker.url)
    task = session.progress.add_task("publish", total=session.rounds * len(contenders))
    try:
        for number in range(session.rounds):
            session.say(f"publish: round {number + 1}")
            for contender in contenders:
                session.progress.update(task, description=contender.name)
                _measure(session.broker.url, contender, queues)
                session.progress.advance(task)
    finally:
        queues.close()


def _measure(url: str, contender: Contender, queues: Queues) -> None:
    staging = [f"bench»tenant-{number}" for number in range(_TENANTS)]
    job = {"url": url, "target": "bench", "tenants": _TENANTS, "messages": contender.messages, "size": _SIZE}
    try:
        queues.declare(staging, "classic")
        measured = measure_apart(contender.module, job, _DEADLINE)
        _check(contender, queues.take_all(staging))
        contender.note(measured, contender.messages)
    except (ContenderFailed, TimeoutError) as error:
        contender.failures.append(str(error))
    finally:
        queues.delete(staging)


def _check(contender: Contender, arrived: int) -> None:
    if arrived != contender.messages:
        raise ContenderFailed(f"{arrived} of {contender.messages} arrived")


def _table(contenders: list[Contender]) -> Table:
    table = Table(title="Publishing 1 KiB over 50 tenants, confirmed")
    table.add_column("publisher")
    for column in ("per second", "slowest–fastest", "CPU µs"):
        table.add_column(column, justify="right")
    for contender in contenders:
        table.add_row(contender.name, *contender.cells())
    return table


if __name__ == "__main__":
    sys.exit(main(run))
