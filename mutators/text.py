"""The text that a value has as a discriminator.

Headers and JSON fields are not always text: a tenant may be the number 17. Every producer must come to the
same queue for the same value, so the text of each kind is fixed here:

| value | text |
| --- | --- |
| text | as it is |
| nothing (`None`) | empty: adds no discriminator |
| bytes | decoded as UTF-8; refused where they are not UTF-8 |
| truth value | `true` or `false`, as in JSON |
| integer, decimal, UUID | its digits |
| floating-point number | the shortest digits that read back as the same number: `1.5`, `2.0` |
| time | ISO 8601 |

Tables, lists and everything else are refused: they have no text that two languages would agree on.
"""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from raquo.mutators.errors import BadName

__all__ = ["as_text"]


def as_text(value: object) -> str:
    """The value as a discriminator's text; `BadName` for one that has none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str.__str__(value)  # an enumeration of texts: its value, not its name
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(value))
    return _scalar(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadName(f"{value[:40]!r} is not UTF-8, so it has no text to name a queue by") from None


def _scalar(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return int.__repr__(value)
        case float():
            return float.__repr__(value)
        case Decimal() | UUID():
            return str(value)
        case datetime():
            return value.isoformat()
    kind = type(value).__name__
    raise BadName(f"a value of type {kind} has no text to name a queue by: give text or a number")
