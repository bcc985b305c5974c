"""Mutators run one after the other, and a message is never lost to a bad one.

The first that can add a discriminator is required: it names the tenant. If it adds nothing or raises, the
chain ends there and the message has no tenant, so that a workflow can never pass for one. Any other that
raises, returns something that is no name or changes the target is counted and skipped.

Counting is a plain increment: threads that share a chain may lose a count, never a message.
"""

import logging
from collections.abc import Iterable
from typing import TypeGuard

from raquo.mutators.errors import BadMutator
from raquo.mutators.header import HeaderMutator
from raquo.mutators.message import Message
from raquo.mutators.mutator import QueueNameMutator, adds_discriminator
from raquo.mutators.named import mutator_of
from raquo.mutators.names import StagingName

__all__ = ["Chain"]

_log = logging.getLogger("raquo.mutators")


class Chain:
    """Mutators in the order given; `headers` are those that decide, None where something else does too."""

    def __init__(self, mutators: Iterable[QueueNameMutator | str]) -> None:
        self.mutators = tuple(map(mutator_of, mutators))
        if not self.mutators:
            raise BadMutator("a chain needs at least one mutator: the first names the tenant")
        can_name = [adds_discriminator(mutator) for mutator in self.mutators]
        first = can_name.index(True) if True in can_name else 0
        self._before, self._required = self.mutators[:first], self.mutators[first]
        self._later = self.mutators[first + 1 :]
        self.headers = _headers_that_decide(self.mutators)
        self.failures = dict.fromkeys(map(repr, self.mutators), 0)

    def run(self, name: StagingName, message: Message) -> StagingName | None:
        """The name with all that the mutators add, or None for a message without a tenant."""
        for mutator in self._before:
            name = self._applied(mutator, name, message)
        name = self._applied(self._required, name, message)
        if not name.parts:
            return None
        for mutator in self._later:
            name = self._applied(mutator, name, message)
        return name if name.parts else None

    def _applied(self, mutator: QueueNameMutator, name: StagingName, message: Message) -> StagingName:
        try:
            made = mutator(name, message)
            if type(made) is StagingName and made.target == name.target:
                return made
            raise BadMutator(f"it returned {made!r}, not a name for the target {name.target!r}")  # noqa: TRY301
        except Exception as error:  # it is anybody's code, and the message goes on without it
            self._count(mutator, error)
        return name

    def _count(self, mutator: QueueNameMutator, error: Exception) -> None:
        count = self.failures[repr(mutator)] = self.failures.get(repr(mutator), 0) + 1
        if str(count).strip("0") == "1":  # the first, the tenth, the hundredth, …
            words = "the mutator %r failed (%d so far), and messages go on without it: %s: %s"
            _log.warning(words, mutator, count, type(error).__name__, error)


def _headers_that_decide(mutators: tuple[QueueNameMutator, ...]) -> tuple[str, ...] | None:
    readers = [mutator for mutator in mutators if _reads_one_header(mutator)]
    return tuple(reader.header for reader in readers) if len(readers) == len(mutators) else None


def _reads_one_header(mutator: QueueNameMutator) -> TypeGuard[HeaderMutator]:
    if not isinstance(mutator, HeaderMutator) or mutator.property is not None:
        return False
    return type(mutator).__call__ is HeaderMutator.__call__
