"""What every policy keeps to, whatever it is given."""

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raquo.distributor.policies import POLICIES
from raquo.distributor.policy import MESSAGE, Demand, Policy, State

WEIGHTS = st.one_of(st.just(1000), st.integers(1, 1_000_000), st.just(0))


@pytest.fixture(params=sorted(POLICIES))
def policy(request: pytest.FixtureRequest) -> Policy:
    return POLICIES[request.param]


@st.composite
def demand_lists(draw: st.DrawFn) -> list[Demand]:
    groups = draw(st.lists(st.tuples(WEIGHTS, st.integers(1, 4)), max_size=6))
    return [
        Demand(
            queue=f"t»{group}/{queue}",
            group=str(group),
            depth=draw(st.integers(1, 300)),
            weight=draw(WEIGHTS),
            group_weight=group_weight,
            urgent=draw(st.booleans()),
        )
        for group, (group_weight, queues) in enumerate(groups)
        for queue in range(queues)
    ]


def movable(demands: Iterable[Demand]) -> int:
    """How much waits that may move: a weight of 0 holds back, also where weights do not matter."""
    return sum(d.depth for d in demands if d.weight and d.group_weight)


@given(st.lists(st.tuples(demand_lists(), st.integers(0, 500)), min_size=1, max_size=5), st.randoms())
def test_grants_are_exact_within_bounds_and_the_same_in_any_order(
    rounds: list[tuple[list[Demand], int]], chance: random.Random
) -> None:
    for policy in POLICIES.values():
        state = State()
        for demands, room in rounds:
            grants, after = policy.share(demands, room, state)
            depths = {demand.queue: demand.depth for demand in demands}
            assert sum(grants.values()) == min(room, movable(demands))
            assert all(0 < count <= depths[queue] for queue, count in grants.items())
            shuffled = chance.sample(demands, len(demands))
            assert policy.share(shuffled, room, state) == (grants, after)
            state = after


@settings(max_examples=30)
@given(demand_lists(), st.integers(20, 100))
def test_nobody_who_waits_is_left_out_for_ever(demands: list[Demand], room: int) -> None:
    """With weights up to ten to one and endless queues, everybody has had something after so many messages."""
    deep = [
        Demand(d.queue, d.group, 10**6, 1000 + d.weight % 9000, 1000 + d.group_weight % 9000, d.urgent) for d in demands
    ]
    smallest_part = 1 / (10 * 6) / (10 * 4) / 10  # of the room: its tenant's, its own in that, the others' tenth
    for policy in POLICIES.values():
        state, left_out, given = State(), {demand.queue for demand in deep}, 0
        while left_out:
            grants, state = policy.share(deep, room, state)
            left_out -= grants.keys()
            given += room
            assert given <= 2 / smallest_part


@given(demand_lists(), st.integers(1, 200))
def test_what_did_not_move_is_granted_again(demands: list[Demand], room: int) -> None:
    """A round in which nothing moved is as if it had not been."""
    deep = [Demand(d.queue, d.group, 10**6) for d in demands]
    for policy in POLICIES.values():
        grants, state = policy.share(deep, room, State())
        again, _ = policy.share(deep, room, policy.settle(state, deep, grants))
        assert sorted(again.values()) == sorted(grants.values())
        assert all(abs(again.get(queue, 0) - count) <= 1 for queue, count in grants.items())


def test_the_state_does_not_outlive_the_queues(policy: Policy) -> None:
    state = State()
    for number in range(50):
        _, state = policy.share([Demand(f"t»{number}", str(number), 5), Demand("t»deep", "deep", 99)], 3, state)
    assert set(state.groups) <= {"49", "deep"}
    assert set(state.queues) <= {"t»49", "t»deep"}


def test_debts_stay_below_a_message_and_are_small_numbers(policy: Policy) -> None:
    """Over two thousand rounds of changing sets: nothing drifts, nothing grows."""
    chance = random.Random(7)
    demands = [Demand(f"t»{n}", str(n), 10**6, group_weight=chance.randrange(1, 10_000)) for n in range(20)]
    state = State()
    for _ in range(2000):
        _, state = policy.share(chance.sample(demands, 15), chance.randrange(0, 40), state)
        assert all(abs(account.owed) < 4 * MESSAGE for account in state.groups.values())
