"""The service class: within a tenant, what somebody waits for (`sync`) goes before the rest (`async`)."""

from dataclasses import dataclass
from typing import ClassVar

from raquo.mutators.message import Message
from raquo.mutators.names import StagingName
from raquo.mutators.text import as_text

__all__ = ["ServiceClassMutator"]


@dataclass(frozen=True, slots=True)
class ServiceClassMutator:
    """Marks the name `@sync` or `@async` as a header says; without the header nothing changes."""

    header: str = "service-class"
    adds_no_discriminator: ClassVar[bool] = True

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """The name with the service class; any other value than sync and async raises."""
        value = as_text(message.headers.get(self.header))
        return name.with_service_class(value) if value else name
