"""A thread for calls that block, such as those of the management API: one at a time, awaited from the loop.

It is a daemon thread. Python's own pools are joined when the process ends, so an API that hangs would hold up a
shutdown for as long as its deadline is.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")
_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class ApiThread:
    """Runs one call after the other, from its first call to `close`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[[], Answer]) -> Answer:
        """Run it in the thread; whoever is cancelled meanwhile does not wait for it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Answer] = loop.create_future()
        self._jobs.put((function, loop, answered))
        return await answered

    def close(self) -> None:
        """End the thread after the call that runs, without waiting for it."""
        self._jobs.put(None)

    def _run(self) -> None:
        while job := self._jobs.get():
            function, loop, answered = job
            try:
                result, error = function(), None
            except Exception as raised:
                result, error = None, raised
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, answered, result, error)


def _settle(answered: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if answered.done():
        return
    if error is None:
        answered.set_result(result)
    else:
        answered.set_exception(error)
