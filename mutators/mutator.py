"""What a mutator is: a callable that adds a discriminator to a name from what it sees in a message.

Plain functions and lambdas qualify; a class only where there are settings. A mutator never changes the
message, keeps the target, and returns the name it was given where it has nothing to add.

The first mutator of a chain names the tenant and is required. One that never adds a discriminator (a service
class, the lane) says so by an attribute `adds_no_discriminator = True` and may stand before it.
"""

from collections.abc import Callable

from raquo.mutators.message import Message
from raquo.mutators.names import StagingName

__all__ = ["QueueNameMutator", "adds_discriminator"]

QueueNameMutator = Callable[[StagingName, Message], StagingName]


def adds_discriminator(mutator: QueueNameMutator) -> bool:
    """Whether a mutator may name a tenant; false for those that only mark or redirect a name."""
    return not getattr(mutator, "adds_no_discriminator", False)
