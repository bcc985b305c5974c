"""An asyncio loop in a thread of its own, for libraries whose callers have none."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """Runs a loop until `stop`; the thread is a daemon, so that it never keeps a process alive."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run a function in the loop, soon; from any thread."""
        self._loop.call_soon_threadsafe(function, *arguments)

    def call_later(self, delay: float, function: Callable[..., None], *arguments: Any) -> None:
        """Run a function in the loop after so many seconds; from any thread."""
        self._loop.call_soon_threadsafe(self._loop.call_later, delay, function, *arguments)

    def run(self, coroutine: Coroutine[Any, Any, Result], timeout: float) -> Result:
        """Run a coroutine in the loop and wait for its result; what takes longer than `timeout` is cancelled."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise

    def stop(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._loop.close()
