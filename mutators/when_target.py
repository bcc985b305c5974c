"""A mutator for some targets only."""

from raquo.mutators.globs import matcher
from raquo.mutators.message import Message
from raquo.mutators.mutator import QueueNameMutator, adds_discriminator
from raquo.mutators.named import mutator_of
from raquo.mutators.names import StagingName

__all__ = ["WhenTarget"]


class WhenTarget:
    """Runs a mutator where the target matches a glob, and adds nothing elsewhere."""

    def __init__(self, glob: str, mutator: QueueNameMutator | str) -> None:
        self.glob = glob
        self.mutator = mutator_of(mutator)
        self.adds_no_discriminator = not adds_discriminator(self.mutator)
        self._matches = matcher([glob])

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """What the mutator makes of the name, or the name as it is."""
        return self.mutator(name, message) if self._matches(name.target) else name

    def __repr__(self) -> str:
        return f"WhenTarget({self.glob!r}, {self.mutator!r})"
