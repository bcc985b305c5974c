"""A closer look at targets: their own limits, their consumers, how fast they are consumed.

The cheap listing does not tell policies, consumers or rates. A target is looked at before it is first served, because a
policy may limit its length and the broker would throw away what is too much, and once a minute from then on; one that
others keep full every second, because its consumption decides what staging gets.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from raquo.broker.errors import ManagementError
from raquo.broker.management import ConsumerInfo, ManagementClient, PolicyInfo, QueueDetails
from raquo.broker.run import CONSUMER_TAG
from raquo.distributor.api_thread import ApiThread
from raquo.distributor.limits_in_force import lowest, policies_in_force, refuses_when_full
from raquo.mutators.names import MARK, StagingName

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found; None for the queue: there is none."""

    queue: QueueDetails | None
    max_length: int | None = None  # its own, by argument or policy
    unlimited_prefetch: bool = False
    drops_bytes: bool = False  # beyond a number of bytes it throws its oldest messages away


class Inspector:
    """Asks the management API about single queues, one call at a time."""

    def __init__(self, management: ManagementClient) -> None:
        self.oddities: tuple[str, ...] = ()  # in words, as of the last look
        self._management = management
        self._thread = ApiThread("raquo-inspection")

    async def targets(self, names: Iterable[str]) -> dict[str, Inspected]:
        """What each of them is; raises `BrokerError` where the API does not answer."""
        wanted = list(names)
        return await self._thread.call(lambda: self._inspect(wanted))

    async def queue(self, name: str) -> QueueDetails | None:
        """One queue, or None where there is none."""
        return await self._thread.call(lambda: self._details(name))

    def close(self) -> None:
        """End the thread."""
        self._thread.close()
        self._management.close()

    def _inspect(self, names: list[str]) -> dict[str, Inspected]:
        consumers = self._management.consumers()
        self.oddities = other_consumers(consumers)
        greedy = {one.queue for one in consumers if not one.prefetch}
        policies = self._management.policies()
        found = {name: self._details(name) for name in names}
        return {
            name: Inspected(queue, own_max_length(queue, policies), name in greedy, drops_bytes(queue, policies))
            for name, queue in found.items()
        }

    def _details(self, name: str) -> QueueDetails | None:
        try:
            return self._management.queue(name)
        except ManagementError as error:
            if error.status == _NOT_FOUND:
                return None
            raise


def other_consumers(consumers: Iterable[ConsumerInfo]) -> tuple[str, ...]:
    """Who else takes messages out of staging queues, in words."""
    staging = {one.queue for one in consumers if MARK in one.queue and one.tag != CONSUMER_TAG}
    return tuple(
        f"{queue!r} has another consumer (other_consumer): what that one takes is not distributed"
        for queue in sorted(staging)
        if StagingName.parse(queue)
    )


def own_max_length(queue: QueueDetails | None, policies: Iterable[PolicyInfo]) -> int | None:
    """How long the broker lets it become; of a new queue whose policy is not told yet, by any that may apply."""
    if queue is None:
        return None
    limits = [queue.max_length]
    if not queue.policy_known:
        limits += [policy.definition.get("max-length") for policy in policies if policy.may_apply_to(queue.name)]
    return min((limit for limit in limits if isinstance(limit, int)), default=None)


def drops_bytes(queue: QueueDetails | None, policies: Iterable[PolicyInfo]) -> bool:
    """Whether the broker throws away its oldest messages beyond a number of bytes."""
    if queue is None:
        return False
    in_force = policies_in_force(policies, queue)
    return lowest("max-length-bytes", queue, in_force) is not None and not refuses_when_full(queue, in_force)
