"""Where a message goes: to its target, or to a staging queue of it.

The router decides and does nothing: no connection, no I/O. Every decision has a reason, and is counted:

| reason | goes to | |
| --- | --- | --- |
| `staged` | staging queue | the mutators named a tenant |
| `untenanted` | target, or `target»@none` | the first mutator named none; `untenanted` says which |
| `already_staged` | staging queue | the target given is a staging queue's name: taken as it is |
| `not_a_target` | target | no glob in `targets` matches it |
| `reserved_target` | target | it cannot have staging: `amq.…`, or a `»` with nothing before or behind it |
| `name_too_long` | target | its name leaves no room for a staging name |
| `shadow` | target | mode shadow: it would have been staged, under `Decision.name` |
| `off` | target | mode off: nothing was looked at |

A target that no queue can be called (empty, over 255 bytes, with CR or LF in it) is refused: `BadName`.

What depends on the target alone is decided once per target and remembered; so is the decision for a set of
headers where the mutators read nothing else. Both memories are bounded. A router may be shared by threads; a
count may then be lost, since counting is a plain increment.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from raquo.mutators.chain import Chain
from raquo.mutators.errors import BadMutator, NameTooLong
from raquo.mutators.globs import matcher
from raquo.mutators.message import Message
from raquo.mutators.mutator import QueueNameMutator
from raquo.mutators.names import MARK, StagingName
from raquo.mutators.target import check_queue
from raquo.router.errors import BadConfiguration
from raquo.router.settings import MODES, WITHOUT_TENANT, load, mode_in_force
from raquo.router.shadow import ShadowSummary

__all__ = ["REASONS", "Decision", "Router"]

REASONS = (
    "staged",
    "untenanted",
    "already_staged",
    "not_a_target",
    "reserved_target",
    "name_too_long",
    "shadow",
    "off",
)
_MOST_TARGETS = 4_096
_MOST_DECISIONS = 10_000
_ALL_TEXT = {str}


class Decision(NamedTuple):
    """Where one message goes, and why."""

    queue: str
    """The queue to publish to."""
    staged: bool
    """Whether that is a staging queue."""
    reason: str
    """One of `REASONS`."""
    name: StagingName | None
    """The staging queue's name, also where the message only would have gone there."""


class Router:
    """Decides, for each message, which queue it is published to."""

    def __init__(
        self,
        by: Iterable[str] | None = None,
        *,
        mutators: Iterable[QueueNameMutator | str] | None = None,
        targets: Iterable[str] = ("*",),
        untenanted: str = "direct",
        mode: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.mode = _one_of("mode", mode or mode_in_force(environ), MODES)
        self._chain = Chain(_chosen(by, mutators))
        self._is_target = matcher([targets] if isinstance(targets, str) else targets)
        self._stages_untenanted = _one_of("untenanted", untenanted, WITHOUT_TENANT) == "stage"
        self._summary = ShadowSummary(clock) if self.mode == "shadow" else None
        self._known: dict[str, StagingName | Decision] = {}
        self._remembered: dict[tuple[Any, ...], Decision] = {}
        self._counts = dict.fromkeys(REASONS, 0)

    @classmethod
    def from_config(
        cls, path: str | Path | None = None, *, environ: Mapping[str, str] = os.environ
    ) -> "Router":
        """A router as the section `[router]` of a configuration file and the environment say."""
        chosen = load(path, environ).router
        try:
            return cls(
                mutators=chosen.mutators,
                targets=chosen.targets,
                untenanted=chosen.untenanted,
                mode=chosen.mode,
            )
        except BadMutator as error:
            raise BadConfiguration(f"router.mutators = {list(chosen.mutators)}: {error}") from error

    @property
    def counts(self) -> dict[str, int]:
        """Decisions so far by reason, and `mutator_failures`."""
        return {**self._counts, "mutator_failures": sum(self._chain.failures.values())}

    def route(self, target: str, message: Message) -> Decision:
        """The queue for this message, which a producer meant for the target."""
        if self.mode == "off":
            self._counts["off"] += 1
            return Decision(target, False, "off", None)
        known = self._known.get(target) or self._meet(target)
        decision = known if isinstance(known, Decision) else self._recall(known, message)
        self._counts[decision.reason] += 1
        if self._summary:
            self._summary.note(str(decision.name) if decision.reason == "shadow" else None)
        return decision

    def _recall(self, start: StagingName, message: Message) -> Decision:
        """The decision for these headers, made once where each of them is text and adds its part."""
        headers = self._chain.headers
        if headers is None:
            return self._decide(start, message)
        key = (start.target, *map(message.headers.get, headers))
        if {*map(type, key)} != _ALL_TEXT:  # 1, 1.0 and True are one key, and not one tenant
            return self._decide(start, message)
        return self._remembered.get(key) or self._remember(key, self._decide(start, message))

    def _remember(self, key: tuple[Any, ...], decision: Decision) -> Decision:
        if len(self._remembered) >= _MOST_DECISIONS:
            self._remembered.clear()
        if decision.name and len(decision.name.parts) == len(key) - 1:  # no mutator failed, or it must again
            self._remembered[key] = decision
        return decision

    def _decide(self, start: StagingName, message: Message) -> Decision:
        """The decision for one message to a target that may be staged."""
        name, reason = self._chain.run(start, message), "staged"
        if name is None:
            if not self._stages_untenanted:
                return Decision(start.target, False, "untenanted", None)
            name, reason = StagingName.untenanted(start.target), "untenanted"
        try:
            queue = str(name)
        except NameTooLong:
            return Decision(start.target, False, "name_too_long", None)
        if self._summary:
            return Decision(start.target, False, "shadow", name)
        return Decision(queue, True, reason, name)

    def _meet(self, target: str) -> StagingName | Decision:
        """What is known of a target before any message: its decision, or the name to start from."""
        check_queue(target)
        if len(self._known) >= _MOST_TARGETS:
            self._known.clear()
        self._known[target] = known = self._verdict(target)
        return known

    def _verdict(self, target: str) -> StagingName | Decision:
        staged = StagingName.parse(target)
        if staged:
            return Decision(target, True, "already_staged", staged)
        if target.startswith("amq.") or MARK in target:
            return Decision(target, False, "reserved_target", None)
        if not self._is_target(target):
            return Decision(target, False, "not_a_target", None)
        return StagingName(target)


def _chosen(
    by: Iterable[str] | None, mutators: Iterable[QueueNameMutator | str] | None
) -> Iterable[QueueNameMutator | str]:
    if by is not None and mutators is not None:
        raise BadMutator("give a router either `by` or `mutators`, not both")
    if mutators is not None:
        return mutators
    if by is None:
        return ("tenant", "workflow")
    return [by] if isinstance(by, str) else by


def _one_of(setting: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise BadConfiguration(f"{setting} = {value!r}: expected one of {', '.join(choices)}")
    return value
