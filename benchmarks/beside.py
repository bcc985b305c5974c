"""Runs something beside a measurement, in a process of its own: consumers, workers, producers.

It says `ready` when it is at work, and answers with one line of JSON when it is told to stop or done by itself. Its
times are those of the monotonic clock, which all processes of a machine share.

What runs is a module with `async def run(ready, stop, **job) -> dict`: it calls `ready()` and watches the event `stop`.
"""

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any

from benchmarks.child import ContenderFailed, ended_after, hear, say, started

_TO_GET_READY = 30.0


class Beside:
    """One such process."""

    def __init__(self, process: "subprocess.Popen[str]", complaints: IO[str]) -> None:
        self._process = process
        self._complaints = complaints

    def stop(self, within: float = 30.0) -> Any:
        """Tell it to stop; what it answers."""
        if self._process.poll() is None:
            try:
                say(self._process, "stop")
            except OSError as error:
                raise ContenderFailed("it ended too early") from error
        return self.answer(within)

    def answer(self, within: float) -> Any:
        """What it answers when it is done by itself."""
        with ended_after(self._process, within):
            return json.loads(hear(self._process, self._complaints))


@contextmanager
def beside(module: str, **job: Any) -> Iterator[Beside]:
    """Run `module` on `job` until the end of the block; it is at work when the block begins."""
    with tempfile.TemporaryFile("w+") as complaints, started("benchmarks.beside", module, complaints) as process:
        with ended_after(process, _TO_GET_READY):
            say(process, json.dumps(job))
            hear(process, complaints)
        yield Beside(process, complaints)


async def _be_beside(module: str) -> None:
    job = json.loads(sys.stdin.readline())
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), stop.set)  # a line, or the end of who started us
    answer = await import_module(module).run(lambda: print("ready", flush=True), stop, **job)
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is for the one who started us to talk about
    asyncio.run(_be_beside(sys.argv[1]))
