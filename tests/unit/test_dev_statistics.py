"""What `raquo dev` says each tenant got, and how fast its tenants publish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo.distributor.dev.scenario import Pace, Scenario, Tenant
from raquo.distributor.dev.showing import as_json, line_of
from raquo.distributor.dev.statistics import KEPT, Row, Statistics, Waits, percentile, shares


def test_waiting_is_what_was_published_and_is_not_done() -> None:
    statistics = _statistics(["a", "a", "b"])
    statistics.done("a", at=1.0, wait=0.5)
    assert [(row.tenant, row.published, row.done, row.waiting) for row in statistics.whole()] == [
        ("a", 2, 1, 1),
        ("b", 1, 0, 1),
    ]


def test_a_worker_may_be_faster_than_the_confirm() -> None:
    statistics = Statistics(["a"])
    statistics.done("a", at=1.0, wait=0.0)
    assert statistics.waiting("a") == 0


def test_what_strangers_do_is_not_counted() -> None:
    statistics = _statistics(["a"])
    statistics.done("stranger", at=1.0, wait=0.5)
    (row,) = statistics.whole()
    assert (row.done, row.fifo_wait_p50) == (0, None)


def test_shares_are_of_what_is_done() -> None:
    assert shares([3, 1, 0]) == [0.75, 0.25, 0.0]
    assert shares([0, 0]) == [0.0, 0.0]


def test_recent_rows_have_the_shares_and_waits_of_lately_and_the_counts_of_all() -> None:
    statistics = _statistics(["a"] * 3 + ["b"])
    for at, tenant, wait in ((1.0, "a", 9.0), (2.0, "a", 9.0), (11.0, "b", 1.0), (12.0, "a", 3.0)):
        statistics.done(tenant, at, wait)
    a, b = statistics.since(10.0)
    assert (a.done, a.share, a.wait_p50) == (3, 0.5, 3.0)
    assert (b.done, b.share, b.wait_p50) == (1, 0.5, 1.0)


def test_first_in_first_out_does_as_many_at_the_same_moments_in_the_order_they_were_published() -> None:
    statistics = Statistics(["flood", "small"])
    statistics.handed_over(["flood", "flood", "small"], at=0.0)
    statistics.done("small", at=1.0, wait=1.0)
    statistics.done("flood", at=2.0, wait=2.0)
    statistics.done("flood", at=3.0, wait=3.0)
    flood, small = statistics.whole()
    assert (small.wait_p50, small.fifo_wait_p50) == (1.0, 3.0)
    assert (flood.wait_p50, flood.fifo_wait_p50) == (2.0, 1.0)


def test_a_message_that_comes_twice_is_no_mistake() -> None:
    statistics = _statistics(["a"])
    statistics.done("a", at=1.0, wait=1.0)
    statistics.done("a", at=2.0, wait=2.0)
    assert statistics.whole()[0].waiting == 0


@pytest.mark.parametrize(
    ("ordered", "percent", "expected"),
    [([], 50, None), ([4.0], 50, 4.0), ([1.0, 2.0], 50, 1.0), ([1.0, 2.0, 3.0], 50, 2.0), ([1.0, 2.0], 99, 2.0)],
)
def test_a_percentile_is_the_nearest_rank(ordered: list[float], percent: int, expected: float | None) -> None:
    assert percentile(ordered, percent) == expected


@given(st.lists(st.floats(0, 1000), min_size=1), st.integers(1, 100))
def test_so_many_percent_are_not_above_the_percentile(values: list[float], percent: int) -> None:
    found = percentile(sorted(values), percent)
    assert found in values
    assert sum(value <= found for value in values) * 100 >= percent * len(values)


def test_waits_stay_bounded_however_long_the_demo_runs() -> None:
    waits = Waits()
    for moment in range(KEPT + 10):
        waits.add(float(moment), 0.1)
    assert len(waits.since(0.0)) == KEPT


def test_a_tenant_publishes_at_its_rate() -> None:
    pace = Pace(Tenant("a", 10), most_waiting=1000)
    assert sum(pace.due(tick * 0.05, waiting=0) for tick in range(101)) == pytest.approx(50, abs=1)


def test_a_tenant_never_has_more_waiting_than_it_may() -> None:
    pace = Pace(Tenant("a", 1000), most_waiting=100)
    pace.due(0.0, waiting=0)
    assert pace.due(0.5, waiting=40) == 60
    assert pace.due(1.0, waiting=100) == 0
    assert pace.due(1.5, waiting=101) == 0


def test_a_process_that_was_stopped_for_an_hour_does_not_make_up_for_it() -> None:
    pace = Pace(Tenant("a", 10), most_waiting=1000)
    pace.due(0.0, waiting=0)
    assert pace.due(3600.0, waiting=0) == 10


def test_the_small_tenants_of_the_demo_ask_for_less_than_their_part_and_the_flood_for_more() -> None:
    scenario = Scenario()
    part = scenario.worked_per_second / len(scenario.tenants)
    flood, *small = scenario.tenants
    assert flood.per_second > scenario.worked_per_second
    assert all(tenant.per_second < part for tenant in small)


def test_the_summary_for_programs_has_these_fields() -> None:
    row = Row("a", published=3, done=1, share=1.0, wait_p50=0.12345, wait_p99=None, fifo_wait_p50=2.0)
    assert as_json(8.04, [row]) == {
        "seconds": 8.0,
        "tenants": [
            {
                "tenant": "a",
                "published": 3,
                "done": 1,
                "waiting": 2,
                "wait_p50_seconds": 0.123,
                "wait_p99_seconds": None,
                "share": 1.0,
                "fifo_wait_p50_seconds": 2.0,
            }
        ],
    }


def test_a_tenant_of_which_nothing_is_done_has_no_wait() -> None:
    row = Row("a", published=3, done=0, share=0.0, wait_p50=None, wait_p99=None, fifo_wait_p50=None)
    assert line_of(5.0, [row]) == "   5 s  a 0 done, 3 waiting, 0%, p50 –"


def _statistics(tenants: list[str]) -> Statistics:
    """A message of each of these published at the beginning."""
    statistics = Statistics(dict.fromkeys(tenants))
    statistics.handed_over(tenants, at=0.0)
    statistics.published(tenants)
    return statistics
