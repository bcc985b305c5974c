"""A discriminator from a header, or from one of the other properties of a message."""

from dataclasses import dataclass

from raquo.mutators.errors import BadMutator
from raquo.mutators.message import PROPERTIES, Message
from raquo.mutators.names import StagingName

__all__ = ["HeaderMutator"]

_READABLE = tuple(name for name in PROPERTIES if name != "headers")


@dataclass(frozen=True, slots=True)
class HeaderMutator:
    """Adds the value of a header, or of a property where one is named; neither there adds nothing."""

    header: str
    property: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.header, str) or not self.header:
            raise BadMutator(f"a header's name is text, not {self.header!r}")
        if self.property is not None and self.property not in _READABLE:
            raise BadMutator(f"{self.property!r} is no property of a message: one of {', '.join(_READABLE)}")

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """The name with the value of this header or property."""
        if self.property is None:
            return name.add(message.headers.get(self.header))
        return name.add(message.properties.get(self.property))
