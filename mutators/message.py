"""A message as mutators see it: body, headers and the other properties of AMQP 0-9-1, all read-only."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, final

from raquo.mutators.errors import BadMessage

__all__ = ["PROPERTIES", "Message"]

PROPERTIES = (
    "content_type",
    "content_encoding",
    "headers",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
)
_KNOWN = frozenset(PROPERTIES) - {"headers"}
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@final
@dataclass(frozen=True, slots=True, init=False)
class Message:
    """One message, frozen; a property that was not given reads as None.

    The body is bytes, a bytearray or a memoryview, or text, which is encoded as UTF-8. Headers may be any
    mapping and are copied, so that a producer can use one dictionary for message after message.
    """

    body: bytes
    headers: Mapping[str, Any]
    properties: Mapping[str, Any]

    def __init__(
        self,
        body: bytes | bytearray | memoryview | str = b"",
        headers: Mapping[str, Any] | None = None,
        **properties: Any,
    ) -> None:
        _set_body(self, body if type(body) is bytes else _encoded(body))
        _set_headers(self, _read_only(headers) if headers else _NOTHING)
        _set_properties(self, _checked(properties) if properties else _NOTHING)

    def __getattr__(self, name: str) -> Any:
        if name in _KNOWN:
            return self.properties.get(name)
        raise AttributeError(f"a message has no {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.body, dict(self.headers), dict(self.properties))


_slots: dict[str, Any] = dict(vars(Message))
_set_body, _set_headers = _slots["body"].__set__, _slots["headers"].__set__
_set_properties = _slots["properties"].__set__


def _again(body: bytes, headers: dict[str, Any], properties: dict[str, Any]) -> Message:
    return Message(body, headers, **properties)


def _encoded(body: object) -> bytes:
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError as error:
            raise BadMessage(f"a body of text that UTF-8 cannot carry: {error.reason}") from error
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    raise BadMessage(f"a body is bytes or text, not a value of type {type(body).__name__}: encode it first")


def _read_only(headers: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(headers, Mapping):
        raise BadMessage(f"headers are a mapping of names to values, not a {type(headers).__name__}")
    return MappingProxyType(dict(headers))


def _checked(properties: dict[str, Any]) -> Mapping[str, Any]:
    for name in properties.keys() - _KNOWN:
        near = get_close_matches(name, PROPERTIES) or PROPERTIES
        raise BadMessage(f"{name!r} is no property of a message: did you mean {' or '.join(near)}?")
    return MappingProxyType(properties)
