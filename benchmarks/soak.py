"""Does the distributor stay as it is for hours? `make soak MINUTES=10`; it ends by itself.

A private broker with 10,000 staging queues, of which 20 are busy with a steady flow of numbered messages; the daemon as
a process of its own, as its users start it; workers that can do a little more than what comes. Every few seconds memory
and processor time of the daemon, and the depths, are noted.

At the end nothing more is published, and everything must get through: every number of every tenant, once. Memory is
compared between the moment when a fifth of the time has passed (everything has been in use by then) and the end.

Exit code 1: a message was lost or repeated, or memory grew by more than a tenth.
"""

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.beside import Beside, beside
from benchmarks.child import ContenderFailed
from benchmarks.daemon import DaemonApart, daemon
from benchmarks.queues import Queues
from raquo.broker.errors import LocalBrokerError
from raquo.broker.local import LocalBroker

_RESULTS = Path(__file__).resolve().parent / "results"
_TARGET = "bench"
_SIZE = 512
_WORKERS, _PREFETCH = 4, 50
_SPARE = 1.25  # what the workers can do, of what comes
_SETTLED_AFTER = 0.2  # of the time
_GROWTH = 0.1
_TO_FINISH = 120.0
_AS_PROMISED = (10.0, 10_000)  # minutes and queues: less is a try, and is not kept in git
_INTERRUPTED = 130


@dataclass(frozen=True)
class Sample:
    """What was seen at one moment, in seconds since the start."""

    at: float
    memory: int
    cpu_percent: float
    target: int
    staged: int

    def __str__(self) -> str:
        depths = f"target {self.target:>6,}  staged {self.staged:>7,}"
        return f"{self.at:>6.0f} s  {self.memory / 2**20:>6.1f} MiB  CPU {self.cpu_percent:>5.1f} %  {depths}"


@dataclass
class Verdict:
    """What is wrong; nothing: all is well."""

    lost: int = 0
    repeated: int = 0
    growth: float | None = None
    problems: list[str] = field(default_factory=list)


def main() -> int:
    """Soak, say how it was, and save it."""
    options = _options()
    try:
        _say("starting a private RabbitMQ")
        with LocalBroker() as broker:
            _say(f"RabbitMQ {broker.version}: {options.minutes:g} minutes, {options.queues:,} staging queues")
            samples, published, verdict = _soak(broker, options)
            _save(broker.version, options, samples, published, verdict)
    except KeyboardInterrupt:
        _say("interrupted; nothing is saved")
        return _INTERRUPTED
    except (LocalBrokerError, ContenderFailed, TimeoutError) as error:
        _say(f"failed: {error}")
        return 1
    for problem in verdict.problems:
        _say(f"failed: {problem}")
    return 1 if verdict.problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the daemon for a while under a steady load.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long messages are published (10)")
    parser.add_argument("--queues", type=int, default=10_000, help="staging queues (10,000)")
    parser.add_argument("--busy", type=int, default=20, help="of these with messages (20)")
    parser.add_argument("--rate", type=float, default=500.0, help="messages a second, of all together (500)")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples (5)")
    options = parser.parse_args()
    if not 0 < options.busy <= options.queues or min(options.minutes, options.rate, options.every) <= 0:
        parser.error("all of these are above zero, and no more queues are busy than there are")
    return options


def _soak(broker: LocalBroker, options: argparse.Namespace) -> tuple[list[Sample], dict[str, int], Verdict]:
    tenants = [f"tenant-{number}" for number in range(options.queues)]
    busy = tenants[: options.busy]
    queues = Queues(broker.url)
    _declare(queues, [_queue(tenant) for tenant in tenants])
    task = _WORKERS / (options.rate * _SPARE)
    crew = {"workers": _WORKERS, "prefetch": _PREFETCH, "seconds": task, "numbered": True}
    flow = {"tenants": busy, "size": _SIZE, "rate": options.rate}
    with (
        daemon(broker) as process,
        beside("benchmarks.consumers.paced", url=broker.url, queue=_TARGET, **crew) as workers,
    ):
        process.wait_until_ready()
        with beside("benchmarks.producers.numbered", url=broker.url, target=_TARGET, **flow) as producer:
            samples = _watch(process, queues, [_queue(tenant) for tenant in busy], options)
            published: dict[str, int] = producer.stop()["published"]
        _say(f"{sum(published.values()):,} were published; the last are on their way")
        ledger = _finish(queues, [_queue(tenant) for tenant in busy], workers, _PREFETCH * task + 2)
        process.stop()
    queues.close()
    return samples, published, _judge(samples, published, ledger, options.minutes * 60)


def _queue(tenant: str) -> str:
    return f"{_TARGET}»{tenant}/workflow-1"


def _declare(queues: Queues, names: list[str]) -> None:
    queues.declare([_TARGET], "classic")
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        if done % 1000 == 0 or done == len(names):
            _say(f"{done:,} of {len(names):,} staging queues declared")

    queues.declare_many(names, "classic", advance)


def _watch(process: DaemonApart, queues: Queues, busy: list[str], options: argparse.Namespace) -> list[Sample]:
    """A sample every few seconds, until the time is over."""
    samples: list[Sample] = []
    begun = time.monotonic()
    at, cpu = 0.0, process.cpu_seconds()
    while at < options.minutes * 60:
        time.sleep(min(options.every, max(0.1, options.minutes * 60 - at)))
        now, used = time.monotonic() - begun, process.cpu_seconds()
        percent = round(100 * (used - cpu) / (now - at), 1)
        samples.append(Sample(round(now, 1), process.memory(), percent, queues.depth(_TARGET), queues.depths(busy)))
        _say(str(samples[-1]))
        at, cpu = now, used
    return samples


def _finish(queues: Queues, busy: list[str], workers: Beside, in_hand: float) -> Any:
    """Wait until all queues have been empty for as long as the workers need for what is in their hands."""
    end = time.monotonic() + in_hand + _TO_FINISH
    empty_since = time.monotonic()
    while time.monotonic() < empty_since + in_hand:
        if left := queues.depths([*busy, _TARGET]):
            empty_since = time.monotonic()
        if time.monotonic() > end:
            raise ContenderFailed(f"{left} are still there after {_TO_FINISH:.0f} s")
        time.sleep(0.2)
    return workers.stop()["ledger"]


def _judge(samples: list[Sample], published: dict[str, int], ledger: Any, seconds: float) -> Verdict:
    verdict = Verdict()
    verdict.repeated = sum(one["repeated"] for one in ledger.values())
    verdict.lost = sum(count - ledger.get(tenant, {"done": 0})["done"] for tenant, count in published.items())
    settled = next((one for one in samples if one.at >= _SETTLED_AFTER * seconds), samples[-1])
    verdict.growth = samples[-1].memory / settled.memory - 1
    if verdict.lost:
        verdict.problems.append(f"{verdict.lost} messages were lost")
    if verdict.repeated:
        verdict.problems.append(f"{verdict.repeated} messages were repeated")
    if verdict.growth > _GROWTH:
        verdict.problems.append(f"memory grew by {100 * verdict.growth:.1f} %")
    percent = sum(one.cpu_percent for one in samples) / len(samples)
    _say(f"lost {verdict.lost}, repeated {verdict.repeated}, memory {100 * verdict.growth:+.1f} %, CPU {percent:.1f} %")
    return verdict


def _save(
    version: str, options: argparse.Namespace, samples: list[Sample], published: dict[str, int], verdict: Verdict
) -> None:
    short = options.minutes < _AS_PROMISED[0] or options.queues < _AS_PROMISED[1]
    path = _RESULTS / f"{version}-soak{'-quick' if short else ''}.json"
    saved = {
        "when": time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime()),
        "processors": os.cpu_count(),
        **vars(options),
        "published": sum(published.values()),
        **asdict(verdict),
        "samples": [asdict(one) for one in samples],
    }
    path.write_text(json.dumps(saved, indent=1) + "\n")
    _say(f"saved in {os.path.relpath(path)}")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
