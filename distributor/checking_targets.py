"""Whether targets can be served well: are they there, what do they throw away, who consumes them, whose weights do not
count. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from raquo.broker.management_answers import ConsumerInfo, PolicyInfo, QueueInfo
from raquo.distributor.config import Config
from raquo.distributor.finding import Finding, Level
from raquo.distributor.limits_in_force import lowest, policies_in_force, refuses_when_full
from raquo.distributor.policy import NORMAL_WEIGHT
from raquo.distributor.rules import weights_of
from raquo.distributor.snapshot import Staging

_NORMAL = (NORMAL_WEIGHT, NORMAL_WEIGHT)


def check_target(
    name: str, queue: QueueInfo | None, policies: Iterable[PolicyInfo], config: Config
) -> Iterator[Finding]:
    """What is wrong with the queue itself."""
    settings = config.for_target(name)
    if queue is None:
        if not settings.declare_missing:
            text = (
                f"there is no queue {name!r}, so what is staged for it waits: declare it, or say declare_missing = true"
            )
            yield Finding("target_missing", Level.WARNING, name, text)
    elif queue.type == "stream":
        text = f"{name!r} is a stream, which tells no depth, and is not served: use a classic or quorum queue as target"
        yield Finding("stream_target", Level.WARNING, name, text)
    else:
        yield from _check_limits(queue, policies_in_force(policies, queue), settings.max_length)


def check_prefetch(targets: Iterable[str], consumers: Iterable[ConsumerInfo]) -> Iterator[Finding]:
    """Workers that take whatever comes."""
    greedy: dict[str, int] = {}
    for one in consumers:
        if not one.prefetch:
            greedy[one.queue] = greedy.get(one.queue, 0) + 1
    for name in targets:
        if count := greedy.get(name):
            text = (
                f"{count} of the workers of {name!r} have no prefetch limit: they take whatever comes, and nothing is"
                " left to share; set one (basic.qos), a few times what a worker does at once"
            )
            yield Finding("unlimited_prefetch", Level.WARNING, name, text)


def check_weights(by_target: Mapping[str, Mapping[str, Staging]], config: Config) -> Iterator[Finding]:
    """Weights that are configured, and that the target's policy does not heed."""
    for name, staging in by_target.items():
        settings = config.for_target(name)
        if settings.policy != "equal":
            continue
        weighed = [one for one in staging.values() if _weights(one, config, settings.fair_by) != _NORMAL]
        if weighed:
            text = (
                f"the policy of {name!r} is equal, which ignores weights, and a [[weight]] speaks of"
                f" {weighed[0].queue!r}: give the target the policy weighted, or the rule a target"
            )
            yield Finding("weights_ignored", Level.WARNING, name, text)


def _check_limits(queue: QueueInfo, in_force: Sequence[PolicyInfo], wanted: int) -> Iterator[Finding]:
    if refuses_when_full(queue, in_force):
        return
    length, size = (lowest(key, queue, in_force) for key in ("max-length", "max-length-bytes"))
    if length is not None and length < wanted:
        text = (
            f"{queue.name!r} drops its oldest message beyond {length} (max-length), and max_length is {wanted}: Raquo"
            f" keeps below it, but others may not; set max_length = {length} or lower, or overflow to reject-publish"
        )
        yield Finding("target_drops", Level.WARNING, queue.name, text)
    if size is not None:
        text = (
            f"{queue.name!r} drops its oldest messages beyond {size} bytes (max-length-bytes), which Raquo does not"
            " count: take the limit away, or set overflow to reject-publish"
        )
        yield Finding("target_drops_bytes", Level.WARNING, queue.name, text)


def _weights(one: Staging, config: Config, fair_by: str) -> tuple[int, int]:
    return weights_of(config.weight, one.name, one.queue, fair_by)
