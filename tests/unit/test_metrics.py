"""What Prometheus reads: each number, which tenants have names, and that nothing ever goes backwards."""

import math
import random
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from raquo.distributor.metrics import Metrics
from raquo.distributor.status import QueueState, Status
from raquo.distributor.telemetry import (
    Discovered,
    DiscoveryFailed,
    Event,
    FloorGranted,
    Moved,
    MoveFailed,
    Reloaded,
    RoundDone,
    Telemetry,
    Warned,
)
from raquo.distributor.top_tenants import OTHER, REMEMBERED, TopTenants
from support.web import a_queue, a_target, seen

Labels = dict[str, str]
T = {"vhost": "/", "target": "worker-input"}


class Scraped:
    """Metrics over a status that a test may change, read back as Prometheus would."""

    def __init__(self, status: Status | None = None, top_tenants: int = 5) -> None:
        self.status = status or seen(a_target())
        self.telemetry = Telemetry()
        self.now = 1000.0
        self.metrics = Metrics(self.telemetry, lambda: self.status, "/", top_tenants, clock=lambda: self.now)

    def emit(self, *events: Event) -> None:
        for event in events:
            self.telemetry.emit(event)

    def samples(self, name: str, with_tenants: bool = True) -> list[tuple[Labels, float]]:
        text = self.metrics.render(with_tenants).decode()
        return [(s.labels, s.value) for family in text_string_to_metric_families(text) for s in family.samples
                if s.name == name]  # fmt: skip

    def value(self, name: str, **labels: str) -> float:
        (found,) = [value for have, value in self.samples(name) if have == labels]
        return found

    def tenants(self, name: str = "raquo_tenant_moved_messages_total") -> dict[str, float]:
        return {labels["tenant"]: value for labels, value in self.samples(name)}


def moved(tenant: str = "acme", count: int = 1, target: str = "worker-input", **changes: float) -> Moved:
    size, redelivered = int(changes.get("size", 0)), int(changes.get("redelivered", 0))
    return Moved(target, f"{target}»{tenant}", tenant, count, size, redelivered, changes.get("waited"))


TABLE = {
    "raquo_eligible_messages": "gauge", "raquo_drain_seconds": "gauge", "raquo_target_messages": "gauge",
    "raquo_target_max_length": "gauge", "raquo_target_consumers": "gauge", "raquo_staged_messages": "gauge",
    "raquo_staging_queues": "gauge", "raquo_oldest_age_seconds": "gauge", "raquo_wait_seconds": "histogram",
    "raquo_moved_messages": "counter", "raquo_moved_bytes": "counter", "raquo_move_failures": "counter",
    "raquo_redelivered_messages": "counter", "raquo_direct_floor_messages": "counter",
    "raquo_round_duration_seconds": "histogram", "raquo_discovery_duration_seconds": "histogram",
    "raquo_discovery_last_success_timestamp_seconds": "gauge", "raquo_bypass_active": "gauge",
    "raquo_dry_run_active": "gauge", "raquo_config_last_reload_successful": "gauge",
    "raquo_tenant_moved_messages": "counter", "raquo_tenant_staged_messages": "gauge",
    "raquo_build_info": "gauge", "raquo_unlimited_prefetch": "gauge",
}  # fmt: skip


def test_the_table_is_complete_and_holds_nothing_else() -> None:
    scraped = Scraped(seen(a_target(staging=(a_queue("acme", 1),))))
    scraped.emit(moved(), MoveFailed("worker-input", "q", "refused", "full"))
    families = text_string_to_metric_families(scraped.metrics.render().decode())
    assert {family.name: family.type for family in families} == TABLE


def test_every_sample_names_the_vhost_and_those_of_targets_the_target() -> None:
    scraped = Scraped(seen(a_target(staging=(a_queue("acme", 1),))))
    scraped.emit(moved(waited=1), MoveFailed("worker-input", "q", "refused", "full"), Discovered(1, 0.1))
    of_the_process = ("raquo_discovery_", "raquo_bypass", "raquo_dry_run", "raquo_config")
    for family in text_string_to_metric_families(scraped.metrics.render().decode()):
        for sample in family.samples:
            if family.name == "raquo_build_info":
                assert set(sample.labels) == {"version", "python", "pika"}
            elif family.name.startswith(of_the_process):
                assert set(sample.labels) - {"le"} == {"vhost"}
            else:
                assert sample.labels.items() >= T.items()


def test_what_was_moved_is_counted_by_target() -> None:
    scraped = Scraped()
    scraped.emit(moved(count=3, size=300, redelivered=1), moved(count=2, size=50), moved(count=7, target="other"))
    assert scraped.value("raquo_moved_messages_total", **T) == 5
    assert scraped.value("raquo_moved_bytes_total", **T) == 350
    assert scraped.value("raquo_redelivered_messages_total", **T) == 1
    assert scraped.value("raquo_moved_messages_total", vhost="/", target="other") == 7


def test_failures_are_counted_by_reason_and_the_floor_by_messages() -> None:
    scraped = Scraped()
    failed = [MoveFailed("worker-input", "q", reason, "") for reason in ("refused", "refused", "lost")]
    scraped.emit(*failed, FloorGranted("worker-input", 4), FloorGranted("worker-input", 2))
    assert scraped.value("raquo_move_failures_total", **T, reason="refused") == 2
    assert scraped.value("raquo_move_failures_total", **T, reason="lost") == 1
    assert scraped.value("raquo_direct_floor_messages_total", **T) == 6


def test_counters_of_a_known_target_start_at_zero() -> None:
    for name in ("moved_messages", "moved_bytes", "redelivered_messages", "direct_floor_messages"):
        assert Scraped().value(f"raquo_{name}_total", **T) == 0


def test_waits_and_durations_are_histograms() -> None:
    scraped = Scraped()
    scraped.emit(moved(waited=0.2), moved(waited=40), moved(), moved(waited=-5), RoundDone("worker-input", 0.02, 1, 1))
    scraped.emit(Discovered(3, 0.3))
    assert scraped.value("raquo_wait_seconds_count", **T) == 3
    assert scraped.value("raquo_wait_seconds_sum", **T) == pytest.approx(40.2)
    assert scraped.value("raquo_wait_seconds_bucket", **T, le="0.25") == 2
    assert scraped.value("raquo_round_duration_seconds_sum", **T) == pytest.approx(0.02)
    assert scraped.value("raquo_discovery_duration_seconds_count", vhost="/") == 1


def test_discovery_tells_when_it_last_succeeded() -> None:
    scraped = Scraped()
    name = "raquo_discovery_last_success_timestamp_seconds"
    assert scraped.value(name, vhost="/") == 0
    scraped.emit(Discovered(1, 0.1))
    scraped.now = 2000.0
    scraped.emit(DiscoveryFailed("no answer"), Warned("something"))
    assert scraped.value(name, vhost="/") == 1000


def test_a_refused_configuration_shows_until_one_is_accepted() -> None:
    scraped = Scraped()
    shown = [scraped.value("raquo_config_last_reload_successful", vhost="/")]
    for problem in ("max_length: a number", ""):
        scraped.emit(Reloaded(problem))
        shown.append(scraped.value("raquo_config_last_reload_successful", vhost="/"))
    assert shown == [1, 0, 1]


def test_gauges_say_what_the_status_says() -> None:
    queues = (
        a_queue("a", 10, QueueState.WAITING, oldest_age_seconds=4.0),
        a_queue("b", 20, QueueState.MOVING, oldest_age_seconds=9.0),
        a_queue("c", 40, QueueState.HELD),
        a_queue("d", 80, QueueState.PAUSED, oldest_age_seconds=2.0),
        a_queue("e", 0, QueueState.EMPTY, oldest_age_seconds=99.0),
        a_queue("f", 0, QueueState.MOVING),
    )
    target = a_target(depth=5, unacked=7, consumers=3, max_length=50, consumed_per_second=7.0, staging=queues)
    scraped = Scraped(seen(target, bypass=True))
    assert scraped.value("raquo_eligible_messages", **T) == 35
    assert scraped.value("raquo_drain_seconds", **T) == 5
    assert [scraped.value("raquo_target_messages", **T, state=s) for s in ("ready", "unacked")] == [5, 7]
    assert [scraped.value("raquo_staged_messages", **T, state=s) for s in ("waiting", "held", "paused")] == [30, 40, 80]
    assert [scraped.value("raquo_staging_queues", **T, state=s) for s in ("busy", "empty")] == [5, 1]
    assert scraped.value("raquo_target_max_length", **T) == 50
    assert scraped.value("raquo_target_consumers", **T) == 3
    assert scraped.value("raquo_oldest_age_seconds", **T) == 9
    assert scraped.value("raquo_unlimited_prefetch", **T) == 0
    assert scraped.value("raquo_bypass_active", vhost="/") == 1
    assert scraped.value("raquo_dry_run_active", vhost="/") == 0


def test_a_target_that_nobody_consumes_never_drains_and_an_empty_one_has() -> None:
    assert Scraped(seen(a_target(depth=1))).value("raquo_drain_seconds", **T) == math.inf
    assert Scraped(seen(a_target(depth=0))).value("raquo_drain_seconds", **T) == 0


def test_what_is_not_known_is_left_out() -> None:
    scraped = Scraped(seen(a_target(unacked=None, staging=(a_queue("a", 1),))))
    assert [labels["state"] for labels, _ in scraped.samples("raquo_target_messages")] == ["ready"]
    assert scraped.samples("raquo_oldest_age_seconds") == []


def test_gauges_of_a_target_that_is_gone_are_gone_and_its_counters_stay() -> None:
    scraped = Scraped(seen(a_target(depth=3)))
    scraped.emit(moved(count=3))
    assert scraped.value("raquo_eligible_messages", **T) == 3
    scraped.status = seen()
    assert scraped.samples("raquo_eligible_messages") == []
    assert scraped.value("raquo_moved_messages_total", **T) == 3


def test_names_that_need_escaping_come_back_as_they_are() -> None:
    name = 'a"b\\c\nd»é'
    scraped = Scraped(seen(a_target(name, staging=(a_queue(name, 2),))))
    assert scraped.value("raquo_tenant_staged_messages", vhost="/", target=name, tenant=name) == 2


def test_the_tenants_who_moved_the_most_are_named_whoever_came_first() -> None:
    scraped = Scraped(top_tenants=2)
    scraped.emit(moved("small", 1), moved("middle", 5), moved("large", 9), moved("tiny", 1))
    assert scraped.tenants() == {"large": 9, "middle": 5, OTHER: 2}


def test_of_equals_the_first_by_name_is_named() -> None:
    for order in (["b", "a", "c"], ["c", "b", "a"]):
        scraped = Scraped(top_tenants=1)
        scraped.emit(*[moved(tenant, 5) for tenant in order])
        assert scraped.tenants() == {"a": 5, OTHER: 10}


def test_while_nothing_moves_those_who_wait_with_the_most_are_named() -> None:
    queues = (a_queue("a", 1), a_queue("b", 7), a_queue("c", 3))
    scraped = Scraped(seen(a_target(staging=queues)), top_tenants=2)
    assert scraped.tenants("raquo_tenant_staged_messages") == {"b": 7, "c": 3, OTHER: 1}
    scraped.emit(moved("a", 1))
    assert scraped.tenants() == {"a": 1}
    assert scraped.tenants("raquo_tenant_staged_messages") == {"a": 1, "b": 7, OTHER: 3}


def test_without_places_everybody_is_the_rest() -> None:
    scraped = Scraped(seen(a_target(staging=(a_queue("a", 1), a_queue("b", 2)))), top_tenants=0)
    scraped.emit(moved("a", 4), moved("b", 5))
    assert scraped.tenants() == {OTHER: 9}
    assert scraped.tenants("raquo_tenant_staged_messages") == {OTHER: 3}


def test_a_tenant_who_is_called_as_the_rest_is_part_of_it() -> None:
    scraped = Scraped(seen(a_target(staging=(a_queue(OTHER, 3),))), top_tenants=1)
    scraped.emit(moved(OTHER, 90), moved("a", 1), moved("b", 2))
    assert scraped.tenants() == {"b": 2, OTHER: 91}


def test_a_label_is_kept_until_somebody_has_moved_twice_as_much() -> None:
    scraped = Scraped(top_tenants=1)
    scraped.emit(moved("first", 10))
    assert scraped.tenants() == {"first": 10}
    scraped.emit(moved("second", 20))
    assert scraped.tenants() == {"first": 10, OTHER: 20}
    scraped.emit(moved("second", 1))
    assert scraped.tenants() == {"second": 1, OTHER: 20}  # what was told as the rest's stays the rest's


def test_a_tenant_who_comes_back_goes_on_from_where_it_was() -> None:
    scraped = Scraped(top_tenants=1)
    for tenant, count in (("first", 10), ("second", 30), ("first", 90)):
        scraped.emit(moved(tenant, count))
        scraped.tenants()
    assert scraped.tenants() == {"first": 100}


def test_without_tenants_nothing_names_them_and_nothing_is_lost() -> None:
    scraped = Scraped(seen(a_target(staging=(a_queue("acme", 3),))))
    scraped.emit(moved("acme", 2))
    assert b"acme" not in scraped.metrics.render(with_tenants=False)
    assert b"raquo_moved_messages_total" in scraped.metrics.render(with_tenants=False)
    assert scraped.tenants() == {"acme": 2}


@pytest.mark.parametrize("seed", range(20))
def test_no_series_ever_falls_and_no_message_is_counted_twice(seed: int) -> None:
    chance = random.Random(seed)
    top, highest, total = TopTenants(3), dict[tuple[str, str], int](), 0
    for _ in range(300):
        for _ in range(chance.randrange(5)):
            count = int(chance.paretovariate(0.7))
            total += count
            top.count(chance.choice("xy"), f"t{int(chance.paretovariate(0.5)) % 50}", count)
        if chance.random() < 0.5:
            continue
        top.settle({f"t{chance.randrange(50)}": 1})
        now = {(target, label): messages for target, label, messages in top.moved()}
        assert len({label for _, label in now} - {OTHER}) <= 3
        assert all(messages >= highest.get(series, 0) for series, messages in now.items())
        highest |= now
        assert sum(now.values()) <= total
        assert sum(highest.values()) == total


def _count_many_tenants(top: TopTenants, settle: Callable[[], None]) -> None:
    for n in range(300_000):
        top.count("x", f"t{n}", 1)
        if n % 100 == 0:
            top.count("x", "heavy", 1)
        if n % 10_000 == 0:
            settle()


def test_with_hundreds_of_thousands_of_tenants_memory_is_bounded_and_the_heavy_one_is_found() -> None:
    top = TopTenants(2)
    _count_many_tenants(top, lambda: top.settle({}))
    top.settle({})
    kept = [len(held) for held in vars(top).values() if isinstance(held, dict)]
    assert max(kept) <= REMEMBERED
    assert "heavy" in {label for _, label, _ in top.moved()}
    assert sum(messages for _, _, messages in top.moved()) <= 303_000


def test_while_nobody_looks_memory_is_bounded_too() -> None:
    top = TopTenants(2)
    _count_many_tenants(top, lambda: None)
    assert max(len(held) for held in vars(top).values() if isinstance(held, dict)) <= REMEMBERED
