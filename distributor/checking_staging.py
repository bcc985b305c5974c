"""What may happen to messages that wait: checks of staging queues, and of the policies that hold for them. Pure.

A staging queue has to keep what it holds for as long as it takes. Policies match by name, so one that was made for
`worker-input` may also hold for `worker-input»t1`, and drop what waits there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from raquo.broker.management_answers import ConsumerInfo, PolicyInfo, QueueInfo
from raquo.broker.run import CONSUMER_TAG
from raquo.distributor.finding import Finding, Level, some
from raquo.distributor.limits_in_force import dropping, policies_in_force, refuses_when_full
from raquo.distributor.served import Serves
from raquo.distributor.snapshot import limited_returns, oddity
from raquo.mutators.names import MARK, StagingName

_DOES = {
    "message-ttl": "drops messages that wait longer than that",
    "expires": "deletes the queue with all it holds when it was not used for that long",
    "max-length": "drops the oldest when more wait",
    "max-length-bytes": "drops the oldest when more bytes wait",
    "delivery-limit": "drops messages that were given back more often",
}
_FOUR = 4


def check_policies(staging: Iterable[QueueInfo], policies: Iterable[PolicyInfo], major: int) -> Iterator[Finding]:
    """Policies that drop what waits: one finding for each, with an example."""
    known = list(policies)
    hit: dict[tuple[bool, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for queue in staging:
        in_force = policies_in_force(known, queue)
        refuses = refuses_when_full(queue, in_force)
        for policy in in_force:
            keys = dropping(policy.definition, refuses)
            if queue.type == "quorum" and _limits(policy.definition.get("delivery-limit"), major):
                keys.append("delivery-limit")
            for key in keys:
                hit[policy.operator, policy.name][key].add(queue.name)
    for (operator, name), keys_hit in sorted(hit.items()):
        queues = sorted(set().union(*keys_hit.values()))
        kind = "operator policy" if operator else "policy"
        text = (
            f"the {kind} {name!r} holds for {some(queues)} and has {_what(keys_hit)}:"
            f" give it a pattern that matches no staging queue, such as ^[^{MARK}]*$"
        )
        yield Finding("policy_drops", Level.WARNING, queues[0], text)


def check_arguments(staging: Iterable[QueueInfo], configured: Mapping[str, Any]) -> Iterator[Finding]:
    """Arguments that drop what waits, of queues that are there and of those that will be declared."""
    if keys := _dropping_arguments(configured):
        text = f"staging.arguments has {_what(keys, 'x-')}: take it out of the configuration"
        yield Finding("argument_drops", Level.WARNING, "staging.arguments", text)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for queue in staging:
        if keys := _dropping_arguments(queue.arguments):
            alike[tuple(keys)].append(queue.name)
    for same, queues in sorted(alike.items()):
        text = (
            f"{some(queues)} was declared with {_what(same, 'x-')}: delete it when it is empty,"
            " and have it declared without"
        )
        yield Finding("argument_drops", Level.WARNING, min(queues), text)


def check_returns(staging: Iterable[QueueInfo], major: int) -> Iterator[Finding]:
    """Quorum queues that drop a message after so many crashes of a distributor."""
    if limited := [queue.name for queue in staging if _limited(queue, major)]:
        remedy = "x-delivery-limit = -1" if major >= _FOUR else "no x-delivery-limit"
        text = (
            f"the quorum queue {some(limited)} has a delivery limit: the broker drops messages that a crashing"
            f" distributor gave back too often; declare it with {remedy}, as the publisher does"
        )
        yield Finding("delivery_limit", Level.WARNING, min(limited), text)


def check_oddities(listing: Iterable[QueueInfo], serves: Serves) -> Iterator[Finding]:
    """Queues with the mark in their name that are left alone, or that do not keep what they hold."""
    marked = [queue for queue in listing if MARK in queue.name and _may_be_served(queue, serves)]
    for queue in marked:
        if words := oddity(queue):
            yield Finding("staging_odd", Level.WARNING, queue.name, words)
    sound = [queue for queue in marked if not oddity(queue)]
    if fleeting := [queue.name for queue in sound if queue.auto_delete]:
        text = f"{some(fleeting)} is auto-delete: with its last consumer it goes, and all it holds; declare it without"
        yield Finding("staging_auto_delete", Level.WARNING, min(fleeting), text)
    if transient := [queue.name for queue in sound if not queue.durable]:
        text = f"{some(transient)} is not durable: what waits is gone when the broker restarts; declare it durable"
        yield Finding("staging_transient", Level.WARNING, min(transient), text)


def check_consumers(staging: Iterable[QueueInfo], consumers: Iterable[ConsumerInfo]) -> Iterator[Finding]:
    """Others who take messages out of staging queues."""
    names = {queue.name for queue in staging}
    if others := sorted({one.queue for one in consumers if one.queue in names and one.tag != CONSUMER_TAG}):
        text = f"{some(others)} has another consumer: what that one takes is not distributed; stop it"
        yield Finding("other_consumer", Level.WARNING, others[0], text)


def _what(keys: Iterable[str], prefix: str = "") -> str:
    """The settings that drop, and what the broker does by each."""
    known = [key for key in _DOES if key in set(keys)]
    return ", ".join(f"{prefix}{key} (the broker {_DOES[key]})" for key in known)


def _dropping_arguments(arguments: Mapping[str, Any]) -> list[str]:
    refuses = str(arguments.get("x-overflow", "")).startswith("reject-publish")
    return dropping([key.removeprefix("x-") for key in arguments if key.startswith("x-")], refuses)


def _limited(queue: QueueInfo, major: int) -> bool:
    if queue.type != "quorum":
        return False
    argument = queue.arguments.get("x-delivery-limit")
    if argument is not None:  # a policy over it is told as the policy's
        return _limits(argument, major)
    return limited_returns(queue)


def _limits(limit: object, major: int) -> bool:
    """On 4.x a negative limit is none; on 3.x it drops at the first return."""
    return isinstance(limit, int) and (limit >= 0 or major < _FOUR)


def _may_be_served(queue: QueueInfo, serves: Serves) -> bool:
    name = StagingName.parse(queue.name)
    return name is None or serves(name.target)
