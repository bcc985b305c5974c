"""Which rule of the configuration speaks of which queue.

A pattern is a shell glob, or, behind `re:`, a regular expression that must match the whole value. It is held against
decoded fields: a tenant `a/b` is written `a/b`, though its queue's name has `a%2Fb`. A queue that lacks a field (no
workflow) is matched by no pattern for it, not even by `*`. `match` is different: a regular expression searched anywhere
in the queue's name as the broker lists it, for those who have such rules from elsewhere.

Rules are read from top to bottom, and the first that matches decides. Two weights are decided separately: that of the
tenant, by rules without `workflow` and `match`, and that of the queue within its tenant, by the others.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Protocol

from raquo.distributor.policy import NORMAL_WEIGHT
from raquo.mutators.globs import matcher
from raquo.mutators.names import StagingName

__all__ = ["REGEX", "Weighing", "matches", "pattern", "weights_of"]

REGEX = "re:"


class Weighing(Protocol):
    """What a rule about weights says; None is "any"."""

    @property
    def target(self) -> str | None: ...

    @property
    def tenant(self) -> str | None: ...

    @property
    def workflow(self) -> str | None: ...

    @property
    def match(self) -> str | None: ...

    @property
    def thousandths(self) -> int: ...


@lru_cache(maxsize=4096)
def pattern(text: str) -> Callable[[str], bool]:
    """The test that a glob or a `re:…` stands for; `re.error` for an expression that is none."""
    if not text.startswith(REGEX):
        return matcher([text])
    compiled = re.compile(text.removeprefix(REGEX))
    return lambda value: compiled.fullmatch(value) is not None


def matches(wanted: str | None, value: str | None) -> bool:
    """Whether a field is as a rule wants it; a rule that wants nothing is content with anything."""
    return wanted is None or (value is not None and pattern(wanted)(value))


def weights_of(rules: Iterable[Weighing], name: StagingName, listed: str, fair_by: str) -> tuple[int, int]:
    """The weights, in thousandths, of a queue's tenant and of the queue within its tenant.

    With `fair_by = "queue"` every rule weighs the queue. It then shares the room by itself, a group of one, so both
    numbers are the queue's weight.
    """
    found = [rule for rule in rules if _speaks_of(rule, name, listed)]
    if fair_by == "queue":
        weight = _first(found)
        return weight, weight
    return _first(rule for rule in found if not _of_queue(rule)), _first(rule for rule in found if _of_queue(rule))


def _speaks_of(rule: Weighing, name: StagingName, listed: str) -> bool:
    return (
        matches(rule.target, name.target)
        and matches(rule.tenant, name.tenant)
        and matches(rule.workflow, name.workflow)
        and (rule.match is None or _searched(rule.match).search(listed) is not None)
    )


def _of_queue(rule: Weighing) -> bool:
    return rule.workflow is not None or rule.match is not None


def _first(rules: Iterable[Weighing]) -> int:
    return next((rule.thousandths for rule in rules), NORMAL_WEIGHT)


@lru_cache(maxsize=4096)
def _searched(text: str) -> re.Pattern[str]:
    return re.compile(text)
