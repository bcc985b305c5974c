"""Plans cut into slices."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from raquo.distributor.slices import slices

GRANTS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 300), max_size=12)


@given(GRANTS, st.integers(1, 2000))
def test_slices_add_up_to_the_plan(grants: dict[str, int], max_length: int) -> None:
    total: Counter[str] = Counter()
    for part in slices(grants, {queue: queue for queue in grants}, max_length):
        total.update(part)
    assert dict(total) == grants


@given(GRANTS, st.integers(1, 2000))
def test_with_several_tenants_no_slice_is_above_a_tenth_of_the_length(grants: dict[str, int], max_length: int) -> None:
    parts = slices(grants, {queue: queue for queue in grants}, max_length)
    if len(grants) > 1:
        assert all(sum(part.values()) <= max(1, max_length // 10) for part in parts)


def test_a_single_tenant_has_nobody_to_be_mixed_with() -> None:
    grants = {"t»a/1": 400, "t»a/2": 600}
    assert slices(grants, {"t»a/1": "a", "t»a/2": "a"}, 1000) == [grants]


def test_everybody_is_in_every_slice_by_his_part() -> None:
    parts = slices({"big": 900, "small": 100}, {"big": "b", "small": "s"}, 1000)
    assert len(parts) == 10
    assert all(part["small"] == 10 and part["big"] == 90 for part in parts)


def test_a_thousand_tenants_with_a_message_each_are_spread_over_the_slices() -> None:
    grants = {f"t{number}": 1 for number in range(1000)}
    parts = slices(grants, {queue: queue for queue in grants}, 1000)
    assert [sum(part.values()) for part in parts] == [100] * 10
