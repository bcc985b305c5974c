"""The lane: one staging queue for tenants without number, whose order a backlog keeps."""

from dataclasses import dataclass
from typing import ClassVar

from raquo.mutators.message import Message
from raquo.mutators.names import StagingName
from raquo.mutators.text import as_text

__all__ = ["LaneMutator"]


@dataclass(frozen=True, slots=True)
class LaneMutator:
    """Sends a message that has a fairness key to the lane `target»*`, whatever else it says.

    Put it before the tenant where keyed messages may come without one: the others then go on to the tenant.
    """

    header: str = "fairness-key"
    adds_no_discriminator: ClassVar[bool] = True

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """The lane, or the name as it is where there is no key."""
        return StagingName.lane(name.target) if as_text(message.headers.get(self.header)) else name
