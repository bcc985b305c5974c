"""The one place where tests wait."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result], deadline: float = 10.0, what: str = "") -> Result:
    """Ask again and again until the answer is true, and return it; fail after `deadline` seconds."""
    end = time.monotonic() + deadline
    while not (answer := condition()):
        assert time.monotonic() < end, f"not within {deadline:g} s: {what}, last answer {answer!r}"
        time.sleep(0.02)
    return answer
