"""A discriminator from inside a JSON body: for producers whose headers say nothing.

The only mutator that opens a body, and it pays for that: the body is parsed for each message.
"""

import json
from dataclasses import dataclass
from typing import Any

from raquo.mutators.errors import BadMutator
from raquo.mutators.message import Message
from raquo.mutators.names import StagingName

__all__ = ["JsonFieldMutator"]


@dataclass(frozen=True, slots=True)
class JsonFieldMutator:
    """Adds the value at a dotted path: `customer.id`, or `orders.0.customer` where there is a list.

    A path that leads nowhere adds nothing; a body that is no JSON raises.
    """

    path: str

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not all(self.path.split(".")):
            raise BadMutator(f"a path into a JSON body looks like customer.id, not {self.path!r}")

    def __call__(self, name: StagingName, message: Message) -> StagingName:
        """The name with the value at the path."""
        value = json.loads(message.body)
        for step in self.path.split("."):
            value = _inside(value, step)
        return name.add(value)


def _inside(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None
