"""Runs a contender in a process of its own, so that the processor time measured is its own and nobody else's.

The process is started, and everything imported, before the clock: it says `ready`, waits for `go`, and answers with
one line of JSON. The clock runs from `go`, so connecting counts, as it does for a shovel. Processor time counts from
the moment the contender is connected until its last message is confirmed.

A contender is a module with `run(stopwatch, **job)`. It calls `stopwatch.connected()` and `stopwatch.done()`.
"""

import json
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

_PROJECT = Path(__file__).resolve().parent.parent
_TO_GET_READY = 30.0


class ContenderFailed(RuntimeError):
    """A contender did not do its job, or not in time."""


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
    with tempfile.TemporaryFile("w+") as complaints, _started(module, complaints) as process:
        with _ended_after(process, _TO_GET_READY):
            _say(process, json.dumps(job))
            _hear(process, complaints)
        with _ended_after(process, deadline):
            _say(process, "go")
            return Measured(**json.loads(_hear(process, complaints)))


@contextmanager
def _started(module: str, complaints: IO[str]) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "benchmarks.apart", module]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, cwd=_PROJECT, stdin=pipe, stdout=pipe, stderr=complaints, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _ended_after(process: "subprocess.Popen[str]", seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(process: "subprocess.Popen[str]", line: str) -> None:
    if process.stdin is not None:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()


def _hear(process: "subprocess.Popen[str]", complaints: IO[str]) -> str:
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        complaints.seek(0)
        said = complaints.read().strip().splitlines()
        raise ContenderFailed(said[-1] if said else "it did not end in time")
    return line


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
