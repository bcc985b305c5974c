"""Runs a contender in a process of its own, so that the processor time measured is its own and nobody else's.

The process is started, and everything imported, before the clock: it says `ready`, waits for `go`, and answers with
one line of JSON. The clock runs from `go`, so connecting counts, as it does for a shovel. Processor time counts from
the moment the contender is connected until its last message is confirmed.

A contender is a module with `run(stopwatch, **job)`. It calls `stopwatch.connected()` and `stopwatch.done()`.
"""

import json
import resource
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from benchmarks.child import ContenderFailed, ended_after, hear, say, started

__all__ = ["ContenderFailed", "Measured", "Stopwatch", "measure_apart"]

_TO_GET_READY = 30.0


@dataclass(frozen=True)
class Measured:
    """How long something took, and its own processor time where that can be known."""

    seconds: float
    cpu_seconds: float | None = None


class Stopwatch:
    """Wall time since it was made; processor time between `connected` and `done`."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._cpu_at_connect = self._seconds = self._cpu_seconds = 0.0

    def connected(self) -> None:
        self._cpu_at_connect = _cpu_seconds()

    def done(self) -> None:
        self._seconds = time.perf_counter() - self._begun
        self._cpu_seconds = _cpu_seconds() - self._cpu_at_connect

    def measured(self) -> dict[str, float]:
        return {"seconds": self._seconds, "cpu_seconds": self._cpu_seconds}


def measure_apart(module: str, job: dict[str, Any], deadline: float) -> Measured:
    """Run `module` on `job` in a process of its own; it is ended when `deadline` seconds have passed."""
    with tempfile.TemporaryFile("w+") as complaints, started("benchmarks.apart", module, complaints) as process:
        with ended_after(process, _TO_GET_READY):
            say(process, json.dumps(job))
            hear(process, complaints)
        with ended_after(process, deadline):
            say(process, "go")
            return Measured(**json.loads(hear(process, complaints)))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _be_contender(module: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is for the one who started us to talk about
    run = import_module(module).run
    job = json.loads(sys.stdin.readline())
    print("ready", flush=True)
    if sys.stdin.readline():
        stopwatch = Stopwatch()
        run(stopwatch, **job)
        print(json.dumps(stopwatch.measured()), flush=True)


if __name__ == "__main__":
    _be_contender(sys.argv[1])
