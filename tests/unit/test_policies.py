"""The examples that the documentation of `equal` and `weighted` gives, and what they promise over many rounds."""

import itertools
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo.distributor.policies import Equal, Weighted
from raquo.distributor.policy import Demand, Policy, State


def demands_of(depths: Mapping[str, int], weights: Mapping[str, int] | None = None) -> list[Demand]:
    """One queue a tenant; weights in thousandths."""
    return [Demand(name, name, depth, group_weight=(weights or {}).get(name, 1000)) for name, depth in depths.items()]


def grants(policy: Policy, depths: Mapping[str, int], room: int, weights: Mapping[str, int] | None = None) -> list[int]:
    found, _ = policy.share(demands_of(depths, weights), room, State())
    return [found.get(name, 0) for name in depths]


@pytest.mark.parametrize(
    ("room", "depths", "expected"),
    [
        (250, [200, 200], [125, 125]),
        (250, [50, 50], [50, 50]),
        (1000, [10_000, *[1] * 9], [991, *[1] * 9]),
        (7, [100, 100, 100], [3, 2, 2]),
        (0, [5, 5], [0, 0]),
        (10, [], []),
    ],
)
@pytest.mark.parametrize("policy", [Equal(), Weighted()])
def test_equal_shares(policy: Policy, room: int, depths: list[int], expected: list[int]) -> None:
    assert grants(policy, {f"q{n:02}": depth for n, depth in enumerate(depths)}, room) == expected


def test_a_thousand_queues_with_one_message_each_are_all_served_in_ten_rounds() -> None:
    waiting, state = {f"q{n}": 1 for n in range(1000)}, State()
    for left in range(1000, 0, -100):
        assert len(waiting) == left
        found, state = Equal().share(demands_of(waiting), 100, state)
        assert sum(found.values()) == 100
        waiting = {name: 1 for name in waiting if name not in found}
    assert not waiting


def test_with_room_for_one_three_queues_take_turns() -> None:
    state, order = State(), []
    for _ in range(6):
        found, state = Equal().share(demands_of({"a": 99, "b": 99, "c": 99}), 1, state)
        order += found
    assert sorted(order[:3]) == sorted(order[3:]) == ["a", "b", "c"]


def test_small_weights_are_exact() -> None:
    assert grants(Weighted(), {"a": 999, "b": 999, "c": 999}, 900, {"a": 100, "b": 100, "c": 100}) == [300, 300, 300]


def test_weights_divide_the_room_whatever_the_order() -> None:
    depths, weights = {"a": 99, "b": 99, "c": 99}, {"a": 9000, "b": 1000, "c": 1000}
    found = [
        Weighted().share(demands_of({name: depths[name] for name in names}, weights), 12, State())[0]
        for names in itertools.permutations("abc")
    ]
    assert all(one == found[0] for one in found)
    assert found[0]["a"] == 10


def test_weight_zero_holds_back_and_keeps_what_is_owed() -> None:
    held = {"a": 99, "b": 99}
    _, state = Weighted().share(demands_of(held), 3, State())
    owed = state.groups["b"]
    found, state = Weighted().share(demands_of(held, {"b": 0}), 10, state)
    assert found == {"a": 10}
    assert state.groups["b"] == owed


@given(st.lists(st.integers(1, 1_000_000), min_size=2, max_size=8), st.lists(st.integers(0, 30), max_size=60))
def test_who_waits_all_the_time_is_never_a_message_away_from_its_share(weights: list[int], rooms: list[int]) -> None:
    by_name = {str(number): weight for number, weight in enumerate(weights)}
    state, had, total = State(), Counter[str](), 0
    for room in rooms:
        found, state = Weighted().share(demands_of(dict.fromkeys(by_name, 10**9), by_name), room, state)
        had.update(found)
        total += room
        for name, weight in by_name.items():
            assert abs(had[name] - total * weight / sum(weights)) < 1.001


@pytest.mark.parametrize("weights", [(1000, 1000, 1000), (100_000, 1000, 1000), (5000, 1000, 3000)])
@pytest.mark.parametrize("room", [1, 2, 7])
def test_emptying_oneself_does_not_pay(weights: tuple[int, int, int], room: int) -> None:
    """The second keeps one message waiting, and sends the next when that is gone."""
    state, had, rounds = State(), Counter[str](), 3000
    by_name = dict(zip("abc", weights, strict=True))
    for _ in range(rounds):
        found, state = Weighted().share(demands_of({"a": 10**6, "b": 1, "c": 10**6}, by_name), room, state)
        had.update(found)
    share = rounds * room * by_name["b"] / sum(weights)
    assert had["b"] <= max(share * 1.02, share + 2)


def test_a_tenant_with_fifty_queues_gets_no_more_than_one_with_one() -> None:
    split = [Demand(f"split/{n}", "split", 1000) for n in range(50)]
    found, _ = Weighted().share([*split, Demand("whole", "whole", 1000)], 200, State())
    assert found["whole"] == 100
    assert all(found[demand.queue] == 2 for demand in split)


def test_a_queues_weight_divides_its_tenants_part() -> None:
    found, _ = Weighted().share(
        [Demand("a/x", "a", 999, weight=3000), Demand("a/y", "a", 999), Demand("b", "b", 999, group_weight=2000)],
        120, State(),
    )  # fmt: skip
    assert found == {"a/x": 30, "a/y": 10, "b": 80}


def test_urgent_queues_go_first_and_the_others_get_one_in_ten() -> None:
    demands = [Demand("a/x/@sync", "a", 999, urgent=True), Demand("a/y", "a", 999)]
    assert Weighted().share(demands, 100, State())[0] == {"a/x/@sync": 90, "a/y": 10}
    state, had = State(), Counter[str]()
    for _ in range(100):
        found, state = Weighted().share(demands, 1, state)
        had.update(found)
    assert had == {"a/x/@sync": 90, "a/y": 10}


def test_what_urgent_queues_leave_goes_to_the_others() -> None:
    demands = [Demand("a/x/@sync", "a", 5, urgent=True), Demand("a/y", "a", 999)]
    assert Weighted().share(demands, 100, State())[0] == {"a/x/@sync": 5, "a/y": 95}
