"""What the status says, as gauges: made anew for each look, so that a target that is gone leaves nothing behind."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from raquo.distributor.status import QueueState, StagingStatus, Status, TargetStatus

Sample = tuple[str, float]  # the value of the family's own label ("" where it has none), and the number
Reading = Callable[[TargetStatus], Iterable[Sample]]


def status_gauges(status: Status, vhost: str) -> Iterator[Metric]:
    """One family a row of the table in docs/metrics.md."""
    for name, text, label, read in _PER_TARGET:
        family = GaugeMetricFamily(name, text, labels=["vhost", "target", *([label] if label else [])])
        for target in status.targets:
            for value_of_label, value in read(target):
                family.add_metric([vhost, target.target, *([value_of_label] if label else [])], value)
        yield family
    yield _switch("raquo_bypass_active", "1 while everything staged flows at once.", vhost, status.bypass)
    yield _switch("raquo_dry_run_active", "1 while everything is done but moving.", vhost, status.dry_run)


def tenant_gauges(status: Status, vhost: str, label: Callable[[str], str]) -> Iterator[Metric]:
    """What waits, by tenant; `label` says what a tenant is called."""
    family = GaugeMetricFamily(
        "raquo_tenant_staged_messages", "Messages in staging queues, by tenant.", labels=["vhost", "target", "tenant"]
    )
    for target in status.targets:
        staged: Counter[str] = Counter()
        for queue in target.staging:
            staged[label(queue.tenant)] += queue.depth
        for tenant, messages in staged.items():
            family.add_metric([vhost, target.target, tenant], messages)
    yield family


def staged_by_tenant(status: Status) -> Counter[str]:
    """How many messages each tenant has in all its staging queues."""
    staged: Counter[str] = Counter()
    for target in status.targets:
        for queue in target.staging:
            staged[queue.tenant] += queue.depth
    return staged


def _switch(name: str, text: str, vhost: str, on: bool) -> Metric:
    family = GaugeMetricFamily(name, text, labels=["vhost"])
    family.add_metric([vhost], float(on))
    return family


def _drain_seconds(target: TargetStatus) -> Iterator[Sample]:
    seconds = target.drain_seconds
    yield "", math.inf if seconds is None else seconds  # an autoscaler must see "never", not a gap


def _target_messages(target: TargetStatus) -> Iterator[Sample]:
    yield "ready", target.depth
    if target.unacked is not None:
        yield "unacked", target.unacked


def _staged_messages(target: TargetStatus) -> Iterator[Sample]:
    yield "waiting", target.waiting(QueueState.WAITING, QueueState.MOVING)
    yield "held", target.waiting(QueueState.HELD)
    yield "paused", target.waiting(QueueState.PAUSED)


def _staging_queues(target: TargetStatus) -> Iterator[Sample]:
    busy = sum(_busy(queue) for queue in target.staging)
    yield "busy", busy
    yield "empty", len(target.staging) - busy


def _busy(queue: StagingStatus) -> bool:
    return queue.depth > 0 or queue.state is QueueState.MOVING  # the last messages of a queue may be on their way


def _oldest_age(target: TargetStatus) -> Iterator[Sample]:
    """0 where nothing waits; nothing where something waits and no stamp tells since when."""
    waiting = [queue for queue in target.staging if queue.depth]
    ages = [queue.oldest_age_seconds for queue in waiting if queue.oldest_age_seconds is not None]
    if ages or not waiting:
        yield "", max(ages, default=0.0)


_PER_TARGET: tuple[tuple[str, str, str, Reading], ...] = (
    ("raquo_eligible_messages", "Ready in the target, and staged and not held.", "", lambda t: [("", t.eligible)]),
    ("raquo_drain_seconds", "Eligible messages by present consumption.", "", _drain_seconds),
    ("raquo_target_messages", "Messages in the target.", "state", _target_messages),
    ("raquo_target_max_length", "Ready messages to keep in the target.", "", lambda t: [("", t.max_length)]),
    ("raquo_target_consumers", "Consumers of the target.", "", lambda t: [("", t.consumers)]),
    ("raquo_staged_messages", "Messages in staging queues.", "state", _staged_messages),
    ("raquo_staging_queues", "Staging queues.", "state", _staging_queues),
    ("raquo_oldest_age_seconds", "Age of the oldest message in staging.", "", _oldest_age),
    (
        "raquo_unlimited_prefetch",
        "1 if workers take whatever comes, so that there is nothing to share.",
        "",
        lambda t: [("", t.unlimited_prefetch)],
    ),
)
