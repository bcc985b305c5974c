"""Gathers what `raquo check` turns into findings: asks the management API, and tries over AMQP what the user may do.

One does not depend on the other: what can be found out is, also when a half of it does not answer. Nothing is changed.
"""

import asyncio
from collections.abc import Callable, Sequence
from importlib.metadata import version as installed
from typing import TypeVar

from raquo.broker.attempts import Attempts
from raquo.broker.bell import EXCHANGE
from raquo.broker.depths import DepthReader, Refused
from raquo.broker.errors import AccessRefused, BrokerError, ManagementError
from raquo.broker.management import ManagementClient, VhostLimits
from raquo.distributor.config import Config
from raquo.distributor.finding import AmqpFacts, Denied, Facts, ManagementFacts, Problem, Right, Trouble
from raquo.distributor.served import served
from raquo.distributor.snapshot import Snapshot, Staging, snapshot_of

__all__ = ["gather"]

Answer = TypeVar("Answer")

_MOST_TRIED = 500  # staging queues: each takes a trip to the broker
_ACCESS_REFUSED = 403
_NO_TAG = "Not management user"  # RabbitMQ's own words, 3.10 and 4.3
_DEFAULT_EXCHANGE = "amq.default"


def gather(config: Config) -> Facts:
    """Everything that can be found out now; what does not answer is a part of it."""
    management = _ask(config)
    snapshot = snapshot_of(management.listing, served(config), Snapshot())
    url = config.broker.urls()[0]
    return Facts(
        user=url.user,
        vhost=url.vhost,
        pika=installed("pika"),
        amqp=asyncio.run(_try(config, snapshot, management.alarmed)),
        management=management,
    )


# The management API


def _ask(config: Config) -> ManagementFacts:
    with ManagementClient.for_broker(config.broker.urls(), config.broker.management_url) as client:
        try:
            version = client.version  # a user without the tag `management` is refused even this
        except BrokerError as error:
            return ManagementFacts(problem=_problem(error))
        try:
            listing = tuple(client.queues())
        except (AccessRefused, ManagementError) as error:
            return ManagementFacts(version=version, problem=Problem(Trouble.VHOST, str(error)))
        except BrokerError as error:
            return ManagementFacts(version=version, problem=_problem(error))
        untold: list[str] = []
        return ManagementFacts(
            version=version,
            listing=listing,
            policies=tuple(client.policies()),
            consumers=tuple(_told("who consumes", client.consumers, [], untold)),
            limits=_told("the limits of the virtual host", client.limits, VhostLimits(), untold),
            alarmed=_told("alarms", client.alarmed, False, untold),
            untold=tuple(untold),
        )


def _told(what: str, call: Callable[[], Answer], otherwise: Answer, untold: list[str]) -> Answer:
    try:
        return call()
    except BrokerError as error:
        untold.append(f"{what} could not be asked: {error}")
        return otherwise


def _problem(error: BrokerError) -> Problem:
    text = str(error)
    refused = Trouble.TAG if _NO_TAG in text else Trouble.REFUSED
    return Problem(refused if isinstance(error, AccessRefused) else Trouble.UNREACHABLE, text)


# AMQP


async def _try(config: Config, snapshot: Snapshot, alarmed: bool) -> AmqpFacts:
    staging = [one for one in snapshot.staging.values() if not one.auto_delete][:_MOST_TRIED]
    try:
        async with Attempts(config.broker.urls()) as attempts:
            denied = [
                *await _try_staging(attempts, config, staging),
                *await _try_targets(attempts, config, snapshot),
                *await _try_common(attempts, alarmed),
            ]
            return AmqpFacts(attempts.version, tuple(denied), len(staging))
    except BrokerError as error:
        return AmqpFacts(problem=_problem(error))


async def _try_staging(attempts: Attempts, config: Config, staging: Sequence[Staging]) -> list[Denied]:
    queues = [one.queue for one in staging]
    denied = [Denied(Right.MOVE, queue, words) for queue in queues if (words := await attempts.read(queue))]
    if config.staging.idle_ttl is not None:
        idle = [one.queue for one in staging if one.type == "classic"]
        denied += [Denied(Right.DELETE, queue, words) for queue in idle if (words := await attempts.configure(queue))]
    return denied


async def _try_targets(attempts: Attempts, config: Config, snapshot: Snapshot) -> list[Denied]:
    targets = sorted(snapshot.by_target())
    missing = [name for name in targets if name not in snapshot.targets and config.for_target(name).declare_missing]
    denied = [Denied(Right.DECLARE, name, words) for name in missing if (words := await attempts.configure(name))]
    reader = DepthReader(config.broker.urls(), "raquo check")
    try:
        readings = await reader.read(targets)
    finally:
        await reader.close()
    return denied + [
        Denied(Right.LOOK, name, reading.text)
        for name, reading in readings.items()
        if isinstance(reading, Refused) and reading.code == _ACCESS_REFUSED
    ]


async def _try_common(attempts: Attempts, alarmed: bool) -> list[Denied]:
    denied = [Denied(Right.LISTEN, EXCHANGE, words)] if (words := await attempts.listen()) else []
    if not alarmed and (words := await attempts.publish()):  # from its first publish on an alarm would block us
        denied.append(Denied(Right.PUBLISH, _DEFAULT_EXCHANGE, words))
    return denied
