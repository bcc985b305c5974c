"""A process of our own, and the lines we exchange with it: what `apart.py` and `beside.py` have in common."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PROJECT = Path(__file__).resolve().parent.parent


class ContenderFailed(RuntimeError):
    """A contender did not do its job, or not in time."""


@contextmanager
def started(main: str, module: str, complaints: IO[str]) -> "Iterator[subprocess.Popen[str]]":
    """`python -m main module`, ended with the block."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", main, module]
    process = subprocess.Popen(command, cwd=_PROJECT, stdin=pipe, stdout=pipe, stderr=complaints, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def ended_after(process: "subprocess.Popen[str]", seconds: float) -> Iterator[None]:
    """It is killed when the block takes longer."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(process: "subprocess.Popen[str]", line: str) -> None:
    """Send it a line."""
    if process.stdin is not None:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()


def hear(process: "subprocess.Popen[str]", complaints: IO[str]) -> str:
    """Its next line; where there is none, its last complaint is raised."""
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        complaints.seek(0)
        said = complaints.read().strip().splitlines()
        raise ContenderFailed(said[-1] if said else "it did not end in time")
    return line
