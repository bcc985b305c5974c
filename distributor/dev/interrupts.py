"""Ctrl-C and SIGTERM for a command that has to clean up behind itself.

The first one counts, and the rest cannot disturb the cleaning up. Before there is something to stop it raises
`KeyboardInterrupt`, which ends whatever is being waited for.
"""

import signal
from collections.abc import Callable
from types import FrameType


class Interrupts:
    """Listens from the moment it is made."""

    def __init__(self) -> None:
        self._stop: Callable[[], object] | None = None
        self._over = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def call(self, stop: Callable[[], object]) -> None:
        """From now on call this; it is called in the middle of anything, as signal handlers are."""
        self._stop = stop

    def ignore(self) -> None:
        """It is stopping anyway."""
        self._over = True

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._over:
            return
        self._over = True
        if self._stop is None:
            raise KeyboardInterrupt
        self._stop()
