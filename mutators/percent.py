"""A mutator for some per cent of the messages: canaries.

A key of the message decides, not chance: the same key falls on the same side in every process and every
language, and whoever is in at 10 per cent is still in at 20.
"""

from collections.abc import Callable

from raquo.mutators.cutting import digest
from raquo.mutators.errors import BadMutator
from raquo.mutators.message import Message
from raquo.mutators.mutator import QueueNameMutator, adds_discriminator
from raquo.mutators.named import mutator_of
from raquo.mutators.names import StagingName
from raquo.mutators.text import as_text

__all__ = ["Percent"]

_BUCKETS = 10_000  # so that hundredths of a per cent can be told apart


class Percent:
    """Runs a mutator for a part of the keys: `Percent(10, by="tenant", mutator=TenantMutator())`.

    `by` is a header's name or a function of the message; a message without a key is never in.
    """

    def __init__(
        self, percent: float, mutator: QueueNameMutator | str, *, by: str | Callable[[Message], object]
    ) -> None:
        if not isinstance(percent, int | float) or not 0 <= percent <= 100:
            raise BadMutator(f"a part is a number from 0 to 100 per cent, not {percent!r}")
        self.percent = percent
        self.by = by
        self.mutator = mutator_of(mutator)
        self.adds_no_discriminator = not adds_discriminator(self.mutator)
        self._below = round(percent * _BUCKETS / 100)

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """What the mutator makes of the name where the key is in, else the name as it is."""
        key = as_text(message.headers.get(self.by) if isinstance(self.by, str) else self.by(message))
        is_in = key and int(digest(key), 16) % _BUCKETS < self._below
        return self.mutator(name, message) if is_in else name

    def __repr__(self) -> str:
        return f"Percent({self.percent!r}, {self.mutator!r}, by={self.by!r})"
