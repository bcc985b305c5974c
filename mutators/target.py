"""Which texts can be the name of a queue, and which of a target.

The broker removes CR and LF from queue names without a word, so `a\\nb»t1` would be staged for a target `ab`
that nobody meant; a `»` would make the target's own name look like a staging queue's. Both are refused.
"""

import re

from raquo.mutators.cutting import LONGEST
from raquo.mutators.errors import BadName

__all__ = ["check_queue", "check_target", "fault_of_target"]

_FAULT = re.compile(r"[\r\n\ud800-\udfff]")
_WORDS = {
    "\r": "a carriage return in it, which the broker would remove",
    "\n": "a line feed in it, which the broker would remove",
}


def check_queue(name: object) -> None:
    """`BadName`, in words, where no queue can have this name."""
    _refuse(name, "queue", _fault_of_text(name) or _fault_of_size(str(name)))


def check_target(target: object) -> None:
    """`BadName`, in words, where the target cannot have staging queues."""
    _refuse(target, "target", fault_of_target(target))


def fault_of_target(target: object) -> str | None:
    """What keeps a value from being a target, or None."""
    marked = "it has a » in it, which belongs behind it" if "»" in str(target) else None
    return _fault_of_text(target) or marked


def _fault_of_text(name: object) -> str | None:
    if not isinstance(name, str):
        return f"it is of type {type(name).__name__}, and a queue's name is text"
    if not name:
        return "it is empty"
    found = _FAULT.search(name)
    return f"it has {_WORDS.get(found[0], 'half a surrogate pair in it')}" if found else None


def _fault_of_size(name: str) -> str | None:
    size = len(name.encode())
    return f"it has {size} bytes, and a queue's name has {LONGEST} at most" if size > LONGEST else None


def _refuse(name: object, what: str, fault: str | None) -> None:
    if fault:
        raise BadName(f"{str(name)[:80]!r} cannot be the name of a {what}: {fault}")
