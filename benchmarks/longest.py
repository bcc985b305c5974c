"""The longest that a queue was seen while something else is measured: a passive declare every ten milliseconds.

A hundred of them a second cost the broker about three milliseconds of its time.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.queues import Queues

_EVERY = 0.01


class Longest:
    """Ready messages, the most of all looks so far."""

    def __init__(self) -> None:
        self.ready = 0
        self.looks = 0


@contextmanager
def longest_seen(url: str, queue: str) -> Iterator[Longest]:
    """Look until the end of the block."""
    seen, ended = Longest(), threading.Event()
    watching = threading.Thread(target=_look, args=(url, queue, seen, ended), daemon=True)
    watching.start()
    try:
        yield seen
    finally:
        ended.set()
        watching.join(5)


def _look(url: str, queue: str, seen: Longest, ended: threading.Event) -> None:
    queues = Queues(url)
    while not ended.wait(_EVERY):
        seen.ready = max(seen.ready, queues.depth(queue))
        seen.looks += 1
    queues.close()
