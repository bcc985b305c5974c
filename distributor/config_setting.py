"""How one setting is read, checked, written and shown.

pydantic checks types, and its messages are several lines that quote the value. A `Setting` beside the type knows the
rest: how the value is read from text (in the environment everything is text), how it is written in a file, what may be
shown of it, and, in half a line that never quotes a password, what was expected where it does not fit.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

__all__ = ["Setting", "expected", "mask_url", "same"]

_SCHEME = re.compile(r"[A-Za-z]+://")
_WITHOUT_PASSWORD = re.compile(r"([a-z]+://)?([^\s:/?#@\[\]]*|\[[^\]\s]*\])(:\d+)?(/[^?#]*)?")


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False)
class Setting:
    """How one kind of value is read, checked, written and shown."""

    expected: str
    from_text: Callable[[str], object] = same
    prepare: Callable[[Any], object] = same  # raises ValueError, with better words than `expected` where it has them
    write: Callable[[Any], object] = same  # as it stands in a file
    mask: Callable[[str], str] = same  # of a text, what may be shown
    schema: dict[str, Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return dict(self.schema) if self.schema else handler(schema)

    def shown(self, value: object) -> object:
        """The value as it may be printed, secrets masked."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, list | tuple):
            return [self.shown(item) for item in value]
        return value if self.mask is same else "***"  # a password may be a number

    def _checked(self, value: Any, handler: core_schema.ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(self.prepare(value))
        except ValidationError as error:
            raise expected(self.expected) from error
        except ValueError as error:
            raise expected(str(error) or self.expected) from error


def expected(words: str, key: str | None = None) -> PydanticCustomError:
    """The error that says what was expected; `key` where it is about one of a section's keys."""
    return PydanticCustomError("expected", "{words}", {"words": words, "key": key})


def mask_url(url: str) -> str:
    """A URL without its password, also where it is broken and nobody knows which part that is."""
    begins = _SCHEME.match(url)
    scheme = begins[0] if begins else ""
    address, _, parameters = url.removeprefix(scheme).partition("?")
    if "@" in parameters:  # perhaps a password with a question mark in it
        return f"{scheme}***"
    before, at, after = address.rpartition("@")
    if at:
        user, colon, _ = before.partition(":")
        return f"{scheme}{user if colon else ''}{colon}***@{after}"
    return scheme + after if _WITHOUT_PASSWORD.fullmatch(scheme + after) else f"{scheme}***"
