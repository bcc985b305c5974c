"""Is everything as it must be? Turns what was gathered into findings. Pure.

A failure is what keeps Raquo from its work: no way to the broker, or a right that is missing. Everything else that is
not as it should be is a warning: messages that may be dropped, sharing that does not take place. Where a part is sound
one line says what was looked at, so that silence never passes for a check.
"""

from collections.abc import Iterator

from raquo.distributor.checking_staging import (
    check_arguments,
    check_consumers,
    check_oddities,
    check_policies,
    check_returns,
)
from raquo.distributor.checking_targets import check_prefetch, check_target, check_weights
from raquo.distributor.config import Config
from raquo.distributor.finding import Facts, Finding, Level, Right, Trouble, some
from raquo.distributor.served import served, staging_in
from raquo.distributor.snapshot import Snapshot, snapshot_of

__all__ = ["findings", "good"]

_OLDEST, _TOO_NEW = (3, 10), (5,)
_NEARLY = 0.9
_CONNECTIONS_BESIDES = 3  # for depths, for the bell, for declaring; and one for each target
_SETUP = "`raquo check --print-setup` prints the lines"
_ORDER = (Level.FAILURE, Level.WARNING, Level.OK)
_RIGHTS = {
    Right.MOVE: "may not read {}, so nothing moves from there: it needs `read` on staging queues",
    Right.PUBLISH: "may not publish to queues, so nothing moves: it needs `write` on {}",
    Right.LOOK: "may not see how many messages {} has, so nothing moves there: it needs any right on targets, such as"
    " `write`",
    Right.DECLARE: "may not declare {}, as declare_missing says: it needs `configure` on targets",
    Right.DELETE: "may not delete {}, as staging.idle_ttl says: it needs `configure` on staging queues",
    Right.LISTEN: "may not listen to {}, so a message on an idle system waits for the next discovery: it needs"
    " `configure` and `read` on it, and all rights on amq.gen-…",
}


def findings(facts: Facts, config: Config) -> list[Finding]:
    """Everything worth saying, the worst first."""
    found = [*_of_broker(facts), *_of_rights(facts)]
    if facts.management.problem is None:
        found += _of_queues(facts, config)
    return sorted(found, key=lambda finding: _ORDER.index(finding.level))


def good(found: list[Finding]) -> bool:
    """Whether nothing failed; warnings are no failures."""
    return all(finding.level is not Level.FAILURE for finding in found)


def _of_broker(facts: Facts) -> Iterator[Finding]:
    yield from _of_amqp(facts)
    yield from _of_management(facts)
    if facts.version and not _OLDEST <= _numbers(facts.version) < _TOO_NEW:
        text = f"RabbitMQ {facts.version} was not tried with Raquo: use 3.10 or later, before 5"
        yield Finding("broker_version", Level.WARNING, "broker", text)
    if facts.management.alarmed:
        text = (
            "the broker has a memory or disk alarm and takes no messages: `rabbitmq-diagnostics alarms` says where;"
            " publishing was not tried"
        )
        yield Finding("alarm", Level.WARNING, "broker", text)


def _of_amqp(facts: Facts) -> Iterator[Finding]:
    if problem := facts.amqp.problem:
        yield Finding(f"amqp_{problem.trouble}", Level.FAILURE, "amqp", problem.text)
        return
    text = f"RabbitMQ {facts.version} lets user {facts.user!r} into vhost {facts.vhost!r} (AMQP, pika {facts.pika})"
    yield Finding("amqp", Level.OK, "amqp", text)


def _of_management(facts: Facts) -> Iterator[Finding]:
    management = facts.management
    for words in management.untold:
        yield Finding("not_checked", Level.WARNING, "management", words)
    if management.problem is None:
        text = f"the management API answers, and lists {len(management.listing)} queues"
        yield Finding("management", Level.OK, "management", text)
        return
    text = management.problem.text
    if management.problem.trouble is Trouble.TAG:
        text = f"user {facts.user!r} lacks the tag `management`, without which staging queues cannot be found: {_SETUP}"
    elif management.problem.trouble is Trouble.VHOST:
        text = f"the management API does not show user {facts.user!r} the queues of vhost {facts.vhost!r}: {_SETUP}"
    yield Finding(f"management_{management.problem.trouble}", Level.FAILURE, "management", text)


def _of_rights(facts: Facts) -> Iterator[Finding]:
    for right, words in _RIGHTS.items():
        if denied := [one for one in facts.amqp.denied if one.right is right]:
            subjects = [one.subject for one in denied]
            level = Level.WARNING if right is Right.LISTEN else Level.FAILURE
            text = f"user {facts.user!r} {words.format(some(subjects))}; {_SETUP} ({denied[0].words})"
            yield Finding(right.value, level, min(subjects), text)
    if facts.amqp.problem is None and not facts.amqp.denied:
        text = f"user {facts.user!r} has every right that was tried: {_tried(facts)}"
        yield Finding("rights", Level.OK, "amqp", text)


def _tried(facts: Facts) -> str:
    acts = ["to listen to the bell"]
    if not facts.management.alarmed:
        acts.append("to publish")
    count = facts.amqp.tried_staging
    acts.append(f"to move from {count} staging queues" if count else "(there is no staging queue to try)")
    return ", ".join(acts)


def _of_queues(facts: Facts, config: Config) -> list[Finding]:
    management, serves = facts.management, served(config)
    staging = staging_in(management.listing, serves)
    snapshot = snapshot_of(management.listing, serves, Snapshot())
    major = (_numbers(facts.version) or (0,))[0]
    of_staging = [
        *check_policies(staging, management.policies, major),
        *check_arguments(staging, config.staging.arguments),
        *check_returns(staging, major),
        *check_oddities(management.listing, serves),
        *check_consumers(staging, management.consumers),
    ]
    of_targets = list(_of_targets(facts, config, snapshot))
    targets = len(snapshot.by_target())
    if not of_staging:
        text = f"{len(staging)} staging queues: no policy and no argument drops what waits there"
        of_staging.append(Finding("staging", Level.OK, "staging", text))
    if not of_targets:
        text = f"{targets} targets: all are served, throw nothing away, and no worker is without a prefetch limit"
        of_targets.append(Finding("targets", Level.OK, "targets", text))
    return [*of_staging, *of_targets, *_of_limits(facts, targets)]


def _of_targets(facts: Facts, config: Config, snapshot: Snapshot) -> Iterator[Finding]:
    by_target = dict(sorted(snapshot.by_target().items()))
    for name in by_target:
        yield from check_target(name, snapshot.targets.get(name), facts.management.policies, config)
    yield from check_prefetch(by_target, facts.management.consumers)
    yield from check_weights(by_target, config)


def _of_limits(facts: Facts, targets: int) -> Iterator[Finding]:
    limits, queues = facts.management.limits, len(facts.management.listing)
    if limits.max_queues is not None and queues >= _NEARLY * limits.max_queues:
        text = (
            f"vhost {facts.vhost!r} has {queues} of at most {limits.max_queues} queues, and each new tenant needs one:"
            " raise max-queues (rabbitmqctl set_vhost_limits)"
        )
        yield Finding("vhost_limit", Level.WARNING, facts.vhost, text)
    needed = targets + _CONNECTIONS_BESIDES
    if limits.max_connections is not None and limits.max_connections < needed:
        text = (
            f"vhost {facts.vhost!r} lets in {limits.max_connections} connections, and a distributor of {targets}"
            f" targets needs {needed}: raise max-connections (rabbitmqctl set_vhost_limits)"
        )
        yield Finding("vhost_limit", Level.WARNING, facts.vhost, text)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("-")[0].split("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())
