"""What Prometheus reads: counters and histograms from events, gauges from the status at the moment of the scrape.

The table of names is docs/metrics.md. The registry is our own: a daemon that somebody embeds shares no names with its
host, and two distributors in one process (tests) do not meet. Everything runs in the daemon's loop.
"""

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric

from raquo.distributor.gauges import staged_by_tenant, status_gauges, tenant_gauges
from raquo.distributor.status import Status
from raquo.distributor.telemetry import (
    Discovered,
    Event,
    FloorGranted,
    Moved,
    MoveFailed,
    Reloaded,
    RoundDone,
    Telemetry,
)
from raquo.distributor.top_tenants import TopTenants

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_WAITS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)
_DURATIONS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TARGET = ("vhost", "target")


class Metrics:
    """Listens to events, and renders the whole table for a scrape."""

    def __init__(
        self,
        telemetry: Telemetry,
        look: Callable[[], Status],
        vhost: str,
        top_tenants: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._look = look
        self._vhost = vhost
        self._clock = clock
        self._tenants = TopTenants(top_tenants)
        self._registry = CollectorRegistry()
        self._make_target_metrics(self._registry)
        self._make_process_metrics(self._registry)
        telemetry.subscribe(self._hear)

    def render(self, with_tenants: bool = True) -> bytes:
        """The text for Prometheus; without tenants, nothing in it tells who they are."""
        return self.look(with_tenants)()

    def look(self, with_tenants: bool = True) -> Callable[[], bytes]:
        """See what there is now; what is returned makes the text of it, and may be called in another thread."""
        status = self._look()
        for target in status.targets:
            self._touch(target.target)
        by_tenant = list(self._by_tenant(status)) if with_tenants else []

        def text() -> bytes:
            return generate_latest(_Families([*self._counted(), *status_gauges(status, self._vhost), *by_tenant]))

        return text

    def _make_target_metrics(self, registry: CollectorRegistry) -> None:
        self._wait = Histogram(
            "raquo_wait_seconds", "From staged to moved, once a grant.", _TARGET, buckets=_WAITS, registry=registry
        )
        self._moved = Counter("raquo_moved_messages", "Messages moved into the target.", _TARGET, registry=registry)
        self._bytes = Counter("raquo_moved_bytes", "Bytes moved into the target.", _TARGET, registry=registry)
        self._failures = Counter(
            "raquo_move_failures", "Grants that ended early, by reason.", (*_TARGET, "reason"), registry=registry
        )
        self._redelivered = Counter(
            "raquo_redelivered_messages", "Moved messages that came marked as redelivered.", _TARGET, registry=registry
        )
        self._floor = Counter(
            "raquo_direct_floor_messages",
            "Messages granted into a target that its own producers keep full.",
            _TARGET,
            registry=registry,
        )
        self._round = Histogram(
            "raquo_round_duration_seconds", "One pass over a target.", _TARGET, buckets=_DURATIONS, registry=registry
        )

    def _make_process_metrics(self, registry: CollectorRegistry) -> None:
        self._discovery = Histogram(
            "raquo_discovery_duration_seconds",
            "One listing of the queues.",
            ("vhost",),
            buckets=_DURATIONS,
            registry=registry,
        ).labels(self._vhost)
        self._discovered_at = Gauge(
            "raquo_discovery_last_success_timestamp_seconds",
            "When the queues were listed last; 0: not yet.",
            ("vhost",),
            registry=registry,
        ).labels(self._vhost)
        self._reload = Gauge(
            "raquo_config_last_reload_successful",
            "0 if the configuration was read again and refused.",
            ("vhost",),
            registry=registry,
        ).labels(self._vhost)
        self._reload.set(1)
        build = Gauge("raquo_build_info", "What runs here.", ("version", "python", "pika"), registry=registry)
        build.labels(version("raquo"), platform.python_version(), version("pika")).set(1)

    def _hear(self, event: Event) -> None:
        match event:
            case Moved():
                self._hear_moved(event)
            case MoveFailed(target=target, reason=reason):
                self._failures.labels(self._vhost, target, reason).inc()
            case FloorGranted(target=target, count=count):
                self._floor.labels(self._vhost, target).inc(count)
            case RoundDone(target=target, seconds=seconds):
                self._round.labels(self._vhost, target).observe(seconds)
            case Discovered(seconds=seconds):
                self._discovery.observe(seconds)
                self._discovered_at.set(self._clock())
            case Reloaded(problem=problem):
                self._reload.set(0 if problem else 1)
            case _:  # what is told to people is a log line, not a number
                pass

    def _hear_moved(self, event: Moved) -> None:
        self._moved.labels(self._vhost, event.target).inc(event.count)
        self._bytes.labels(self._vhost, event.target).inc(event.size)
        self._redelivered.labels(self._vhost, event.target).inc(event.redelivered)
        self._tenants.count(event.target, event.tenant, event.count)
        if event.waited is not None:
            # Clocks of publishers differ from ours: a message is never younger than new.
            self._wait.labels(self._vhost, event.target).observe(max(event.waited, 0.0))

    def _touch(self, target: str) -> None:
        """Start a target's counters at 0: `rate` cannot see an increase before a series' first sample."""
        for metric in (self._moved, self._bytes, self._redelivered, self._floor, self._wait, self._round):
            metric.labels(self._vhost, target)

    def _counted(self) -> Iterator[Metric]:
        """What the registry holds, without the `…_created` series that the client adds to the text format."""
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family

    def _by_tenant(self, status: Status) -> Iterator[Metric]:
        self._tenants.settle(staged_by_tenant(status))
        moved = CounterMetricFamily(
            "raquo_tenant_moved_messages", "Messages moved, by tenant.", labels=["vhost", "target", "tenant"]
        )
        for target, tenant, messages in self._tenants.moved():
            moved.add_metric([self._vhost, target, tenant], messages)
        yield moved
        yield from tenant_gauges(status, self._vhost, self._tenants.label)


class _Families:
    """Families that are there already, as something that can be collected."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families
