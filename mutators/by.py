"""A discriminator that a function of the message computes."""

from collections.abc import Callable
from dataclasses import dataclass

from raquo.mutators.message import Message
from raquo.mutators.names import StagingName

__all__ = ["By"]


@dataclass(frozen=True, slots=True)
class By:
    """Adds what the function returns: `By(lambda message: message.headers["customer"])`."""

    function: Callable[[Message], object]

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """The name with the function's value."""
        return name.add(self.function(message))
