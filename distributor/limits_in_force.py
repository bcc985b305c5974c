"""Which limits hold for a queue: by its own arguments, by its policy, by the operator's policy. Pure.

Of the policies whose pattern matches, the one with the highest priority holds, and one of the operator's beside it;
among equals nobody knows which, so all of them are counted. Of two numbers the lower holds. Of two kinds of overflow
the argument's goes before the operator's, and that before the policy's. A dead-letter exchange drops nothing; it only
says where dropped messages go.

The statistics of a queue tell its policy too, but of a new one only after some seconds; patterns tell it at once.
"""

from collections.abc import Iterable, Sequence

from raquo.broker.management_answers import PolicyInfo, QueueInfo

__all__ = ["dropping", "lowest", "policies_in_force", "refuses_when_full"]

_LENGTHS = ("max-length", "max-length-bytes")
_DROPPING = ("message-ttl", "expires", *_LENGTHS)


def policies_in_force(policies: Iterable[PolicyInfo], queue: QueueInfo) -> list[PolicyInfo]:
    """The policies that hold for a queue, as far as patterns and priorities tell."""
    matching = [policy for policy in policies if policy.is_for(queue)]
    highest = {
        operator: max((one.priority for one in matching if one.operator is operator), default=0)
        for operator in (False, True)
    }
    return [policy for policy in matching if policy.priority == highest[policy.operator]]


def lowest(key: str, queue: QueueInfo, in_force: Iterable[PolicyInfo]) -> int | None:
    """The limit of that name that holds; None: there is none."""
    values = [queue.arguments.get(f"x-{key}"), *(policy.definition.get(key) for policy in in_force)]
    return min((value for value in values if isinstance(value, int)), default=None)


def refuses_when_full(queue: QueueInfo, in_force: Sequence[PolicyInfo]) -> bool:
    """Whether a full queue refuses new messages; otherwise it drops its oldest."""
    operators_first = sorted(in_force, key=lambda policy: not policy.operator)
    said = [queue.arguments.get("x-overflow"), *(policy.definition.get("overflow") for policy in operators_first)]
    overflow = next((value for value in said if value), "drop-head")
    return str(overflow).startswith("reject-publish")


def dropping(keys: Iterable[str], refuses: bool) -> list[str]:
    """Of these settings (by their names in policies), those that drop messages which wait."""
    found = set(keys)
    return [key for key in _DROPPING if key in found and not (refuses and key in _LENGTHS)]
