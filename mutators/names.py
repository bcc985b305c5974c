"""The grammar of staging queues' names: `target»tenant/workflow`.

    name     = target "»" ( part *( "/" part ) [ "/" class ] / reserved )
    class    = "@sync" / "@async"
    reserved = "*" (the lane) / "@none" (messages without a tenant) / "@in" (intake)

A name keeps its parts as they stand in the queue's name, already encoded, because those tell apart what
values cannot: the lane `*` from a tenant called `*` (`%2A`), a cut tenant from one called like it.
`discriminators`, `tenant` and `workflow` are the decoded values. Two names with the same parts are equal.

Names from elsewhere are read as far as they go: empty parts are left out (so the older form with a slash
behind the mark reads the same), a `%` that begins no code stands for itself, a part with a `~` in it is taken
for a cut one and never encoded again. For those `str(parse(text))` may differ from `text`: whoever works on a
queue that exists uses the name it was listed under.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from raquo.mutators.cutting import LONGEST, cut, digest_of_tenant
from raquo.mutators.encoding import decode, encode, is_plain
from raquo.mutators.errors import BadName
from raquo.mutators.target import check_target, fault_of_target
from raquo.mutators.text import as_text

__all__ = ["INTAKE", "LANE", "MARK", "SERVICE_CLASSES", "UNTENANTED", "StagingName", "typed"]

MARK = "»"
LANE = "*"
UNTENANTED = "@none"
INTAKE = "@in"
SERVICE_CLASSES = ("sync", "async")
_RESERVED = frozenset({LANE, UNTENANTED, INTAKE})
_CLASS_OF = {f"@{name}": name for name in SERVICE_CLASSES}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SURELY_FITS = LONGEST // 4  # characters; one has four bytes at most


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class StagingName:
    """The name of a staging queue, or of a target to which nothing has been added yet."""

    target: str
    parts: tuple[str, ...]
    service_class: str | None

    def __init__(
        self, target: str, discriminators: Iterable[object] = (), service_class: str | None = None
    ) -> None:
        if isinstance(discriminators, str | bytes):
            raise BadName(f"discriminators are several values, not one text: give ({discriminators!r},)")
        check_target(target)
        encoded = (encode(as_text(value)) for value in discriminators)
        _set_target(self, target)
        _set_parts(self, tuple(part for part in encoded if part))
        _set_service_class(self, _checked_class(service_class))

    @classmethod
    def lane(cls, target: str) -> "StagingName":
        """The lane of a target, which tenants without number share."""
        return cls._reserved(target, LANE)

    @classmethod
    def untenanted(cls, target: str) -> "StagingName":
        """The staging queue that all messages without a tenant share."""
        return cls._reserved(target, UNTENANTED)

    @classmethod
    def intake(cls, target: str) -> "StagingName":
        """The queue for messages that are yet to be put into staging queues."""
        return cls._reserved(target, INTAKE)

    @classmethod
    def parse(cls, text: str) -> "StagingName | None":
        """The name that a text stands for, or None where it is no staging queue's name."""
        target, _, behind = text.partition(MARK)
        parts = [part for part in behind.split("/") if part]
        if not parts or fault_of_target(target) or _LONE_SURROGATE.search(behind):
            return None
        service_class = _CLASS_OF.get(parts[-1])
        return _made(target, _canonical(parts[:-1] if service_class else parts), service_class)

    @property
    def discriminators(self) -> tuple[str, ...]:
        """The decoded values behind the mark."""
        return tuple(map(decode, self.parts))

    @property
    def tenant(self) -> str | None:
        """The first discriminator."""
        return decode(self.parts[0]) if self.parts else None

    @property
    def workflow(self) -> str | None:
        """The second discriminator."""
        return decode(self.parts[1]) if len(self.parts) > 1 else None

    @property
    def tenant_key(self) -> str | None:
        """One text for all queues of a tenant, on every target, cut or not: what shares are counted by."""
        return digest_of_tenant(self.parts[0]) if self.parts else None

    @property
    def reserved(self) -> str | None:
        """`*`, `@none` or `@in` for the names that stand for no single tenant, else None."""
        return self.parts[0] if self.parts and self.parts[0] in _RESERVED else None

    def add(self, value: object) -> "StagingName":
        """This name and one more discriminator; an empty value adds none, a reserved name stays alone."""
        part = value if type(value) is str and is_plain(value) else encode(as_text(value))
        parts = self.parts
        if not part or (parts and parts[0] in _RESERVED):
            return self
        return _made(self.target, (*parts, part), self.service_class)

    def with_service_class(self, service_class: str | None) -> "StagingName":
        """This name with `sync`, `async` or no service class; a reserved name stays as it is."""
        checked = _checked_class(service_class)
        return self if self.reserved else _made(self.target, self.parts, checked)

    def __str__(self) -> str:
        """The queue's name, cut where it is too long; the bare target where nothing was added."""
        full = self._full()
        if len(full) <= _SURELY_FITS or len(full.encode()) <= LONGEST or full == self.target:
            return full
        tail = f"/@{self.service_class}" if self.service_class else ""
        return cut(full, self.target, self.parts, tail)

    def __repr__(self) -> str:
        return f"<StagingName {self._full()}>"

    def _full(self) -> str:
        if self.service_class:
            return f"{self.target}»{'/'.join((*self.parts, f'@{self.service_class}'))}"
        return f"{self.target}»{'/'.join(self.parts)}" if self.parts else self.target

    @classmethod
    def _reserved(cls, target: str, part: str) -> "StagingName":
        check_target(target)
        return _made(target, (part,), None)


# What a frozen dataclass does in its __init__, at half the cost: names are made several times a message.
_slots: dict[str, Any] = dict(vars(StagingName))
_set_target, _set_parts = _slots["target"].__set__, _slots["parts"].__set__
_set_service_class = _slots["service_class"].__set__
_new = object.__new__


def _made(target: str, parts: tuple[str, ...], service_class: str | None) -> StagingName:
    name = _new(StagingName)
    _set_target(name, target)
    _set_parts(name, parts)
    _set_service_class(name, service_class)
    return name


def _canonical(parts: list[str]) -> tuple[str, ...]:
    """Parts of a name that was read, as the router would write them."""
    if len(parts) == 1 and parts[0] in _RESERVED:
        return (parts[0],)
    return tuple(part if "~" in part else encode(decode(part)) for part in parts)


def _checked_class(service_class: str | None) -> str | None:
    if service_class is not None and service_class not in SERVICE_CLASSES:
        raise BadName(f"the service class is sync or async, not {service_class!r}")
    return service_class


def typed(text: str) -> str:
    """A queue name as a person types it: `>>` is read as `»`."""
    return text.replace(">>", MARK)
