"""One value as one part of a queue name, and back.

What would be mistaken for the grammar is percent-encoded, byte by byte in UTF-8 with capital hex digits:
`%`, `/`, `»`, `~` and control characters anywhere, a leading `@`, a value that is just `*`, a blank (U+0020)
at either end. Everything else, any script or emoji, stays as people write it. So a part never holds a `~`
that the router did not put there, and no tenant can be named like a reserved part or somebody's cut name.
"""

import re
from urllib.parse import unquote

from raquo.mutators.errors import BadName

__all__ = ["decode", "encode", "is_plain"]

_ANYWHERE = r"%/»~\x00-\x1f\x7f-\x9f\ud800-\udfff"
is_plain = re.compile(rf"(?![@ ]|\*\Z)[^{_ANYWHERE}]*(?<! )").fullmatch
_SPECIAL = re.compile(rf"[{_ANYWHERE}]|\A@|\A\*\Z|\A | \Z")


def encode(value: str) -> str:
    """The value as a part of a queue name."""
    if is_plain(value):
        return value
    try:
        return _SPECIAL.sub(_codes, value)
    except UnicodeEncodeError:
        raise BadName(f"{value!r} cannot be written in UTF-8, so no queue can be named by it") from None


def decode(part: str) -> str:
    """The value that a part stands for; what is no percent code of UTF-8 stands for itself."""
    if "%" not in part:
        return part
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        return part


def _codes(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
