"""Names over 255 bytes, which no queue can have, become short ones that still say whose they are.

The digest of the full name keeps different names apart. The tenant comes first, because shares are given to
tenants: were it cut together with what follows, a tenant with a long name would be a new one with every
workflow, and splitting oneself would pay. In order of preference, `tail` being the service class if any:

1. `target»tenant/start of the rest~digest of the full name` + tail, where the tenant fits whole;
2. `target»start of the tenant~digest of the tenant/~digest of the full name` + tail. The start has the same
   length with and without a tail, so that all queues of the tenant begin alike;
3. `target»~digest of the full name` + tail, where the target leaves room for nothing else: such targets
   (over 211 bytes) know a cut tenant only queue by queue.

A digest is BLAKE2b with 8 bytes of output, in 16 small hex digits, over the UTF-8 of the text it stands for.
"""

import re
from hashlib import blake2b

from raquo.mutators.errors import NameTooLong

__all__ = ["LONGEST", "cut", "digest", "digest_of_tenant"]

LONGEST = 255
_LONGEST_TAIL = len("/@async")
_BROKEN_CODE = re.compile(r"(%C2(%[0-9A-F]?)?|%[0-9A-F]?)\Z")  # two codes: » and the C1 controls, %C2%…
_CUT_PART = re.compile(r"~([0-9a-f]{16})\Z")


def cut(full: str, target: str, parts: tuple[str, ...], tail: str) -> str:
    """The short name for a full one that does not fit; `NameTooLong` where the target leaves no room."""
    mark = f"~{digest(full)}"
    room = LONGEST - _size(target) - _size("»") - len(tail)
    if room < len(mark):
        raise NameTooLong(f"no staging name fits behind a target of {_size(target)} bytes: {target[:60]!r}…")
    middle = _behind_tenant(parts, mark, room) or _inside_tenant(parts[0], mark, room, len(tail)) or mark
    return f"{target}»{middle}{tail}"


def digest(text: str) -> str:
    """Sixteen hex digits that stand for a text."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def digest_of_tenant(part: str) -> str:
    """The digest of a tenant's part, be it whole or cut."""
    found = _CUT_PART.search(part)
    return found[1] if found else digest(part)


def _behind_tenant(parts: tuple[str, ...], mark: str, room: int) -> str | None:
    left = room - _size(parts[0]) - len("/") - len(mark)
    return f"{parts[0]}/{_start('/'.join(parts[1:]), left)}{mark}" if left >= 0 else None


def _inside_tenant(tenant: str, mark: str, room: int, tail: int) -> str | None:
    behind = f"~{digest(tenant)}/{mark}"
    left = room - len(behind) - (_LONGEST_TAIL - tail)
    if room < len(behind):
        return None
    return f"{_start(tenant, max(left, 0))}{behind}"


def _start(text: str, size: int) -> str:
    """As many whole characters as fit, a character that is written in percent codes being one."""
    return _BROKEN_CODE.sub("", text.encode()[:size].decode(errors="ignore"))


def _size(text: str) -> int:
    return len(text.encode())
