"""Room, belief, consumption and the floor."""

from raquo.broker.depths import Depth
from raquo.distributor.capacity import (
    FULL_FOR,
    Belief,
    Bounds,
    Consumption,
    Floor,
    Held,
    own_room,
    pause_between_rounds,
    room,
)


def test_room_is_what_is_left_of_the_length_after_ready_and_granted_messages() -> None:
    assert room(Bounds(1000), ready=300, in_flight=100) == 600


def test_room_is_never_below_nothing() -> None:
    assert room(Bounds(1000), ready=5000, in_flight=0) == 0


def test_unacked_messages_take_no_room_unless_somebody_wants_that() -> None:
    assert room(Bounds(1000), ready=0, in_flight=0, unacked=900) == 1000
    assert room(Bounds(1000, max_unacked=1000), ready=50, in_flight=20, unacked=900) == 30


def test_less_than_the_least_room_is_none() -> None:
    assert room(Bounds(1000, min_room=50), ready=951, in_flight=0) == 0
    assert room(Bounds(1000, min_room=50), ready=950, in_flight=0) == 50


def test_the_targets_own_length_is_never_exceeded() -> None:
    assert room(Bounds(1000, own_max_length=500), ready=450, in_flight=20) == 30
    assert own_room(Bounds(1000, own_max_length=500), ready=600, in_flight=0) == 0


def test_an_empty_quorum_queue_without_consumers_is_believed_at_the_second_look() -> None:
    belief = Belief()
    belief.read(Depth(1000, 3), now=0.0, quorum=True)
    assert belief.read(Depth(0, 0), now=1.0, quorum=True) == Depth(1000, 3)
    assert belief.doubtful
    assert belief.read(Depth(0, 0), now=1.1, quorum=True) == Depth(1000, 3)
    assert belief.read(Depth(0, 0), now=1.31, quorum=True) == Depth(0, 0)
    assert not belief.doubtful


def test_a_zero_with_consumers_is_a_real_zero() -> None:
    belief = Belief()
    belief.read(Depth(1000, 3), now=0.0, quorum=True)
    assert belief.read(Depth(0, 3), now=1.0, quorum=True) == Depth(0, 3)


def test_a_classic_queue_is_believed_at_once() -> None:
    belief = Belief()
    belief.read(Depth(1000, 0), now=0.0, quorum=False)
    assert belief.read(Depth(0, 0), now=0.1, quorum=False) == Depth(0, 0)


def test_consumption_is_what_left_of_what_was_there_and_was_put_in() -> None:
    consumption = Consumption()
    consumption.read(100, now=0.0)
    consumption.moved(50)
    consumption.read(100, now=1.0)
    assert consumption.per_second == 50.0


def test_what_the_broker_tells_of_consumption_is_believed_for_a_while() -> None:
    consumption = Consumption()
    consumption.read(100, now=0.0)
    consumption.told(200.0, now=0.5)
    consumption.read(100, now=1.0)
    assert consumption.per_second == 200.0
    consumption.read(100, now=20.0)
    assert consumption.per_second == 0.0


def test_the_floor_opens_when_others_have_kept_the_target_full_for_a_while() -> None:
    floor = Floor(0.5)
    over_full = Depth(1500, 4)
    assert floor.allows(0.0, over_full, 1000, 100.0) == 0
    assert floor.allows(FULL_FOR - 0.125, over_full, 1000, 80.0) == 0
    assert floor.allows(FULL_FOR + 0.125, over_full, 1000, 80.0) == 10  # half of eighty a second, for a quarter
    floor.spend(10)
    assert floor.allows(FULL_FOR + 0.25, over_full, 1000, 80.0) == 5


def test_the_floor_is_a_message_a_second_at_least() -> None:
    floor = Floor(0.5)
    floor.allows(0.0, Depth(1500, 1), 1000, None)
    floor.allows(FULL_FOR, Depth(1500, 1), 1000, None)
    assert floor.allows(FULL_FOR + 1.01, Depth(1500, 1), 1000, None) == 1


def test_the_floor_is_closed_while_nobody_consumes() -> None:
    floor = Floor(0.5)
    for now in (0.0, 10.0, 20.0):
        assert floor.allows(now, Depth(1500, 0), 1000, 100.0) == 0


def test_a_target_that_is_just_full_is_full_through_us_and_has_no_floor() -> None:
    floor = Floor(0.5)
    for now in (0.0, 10.0, 20.0):
        assert floor.allows(now, Depth(1000, 4), 1000, 100.0) == 0


def test_a_share_of_nothing_closes_the_floor() -> None:
    floor = Floor(0.0)
    for now in (0.0, 10.0, 20.0):
        assert floor.allows(now, Depth(1500, 4), 1000, 100.0) == 0


def test_rounds_come_when_a_tenth_of_the_target_is_consumed() -> None:
    assert pause_between_rounds(1000, 1000.0, consumers=5) == 0.1
    assert pause_between_rounds(1000, 50_000.0, consumers=5) == 0.02
    assert pause_between_rounds(1000, 1.0, consumers=5) == 1.0
    assert pause_between_rounds(1000, 1000.0, consumers=0) == 0.1, "workers that get single messages"
    assert pause_between_rounds(1000, None, consumers=0) == 1.0


def test_a_target_whose_own_limit_is_below_the_least_room_is_filled_all_the_same() -> None:
    assert room(Bounds(max_length=1000, min_room=100, own_max_length=50), ready=0, in_flight=0) == 50
    assert room(Bounds(max_length=1000, min_room=100, own_max_length=50), ready=1, in_flight=0) == 0
    assert room(Bounds(max_length=1000, min_room=100, max_unacked=50), ready=0, in_flight=0, unacked=0) == 50


def test_a_target_that_others_keep_at_exactly_its_length_has_a_floor_too() -> None:
    floor = Floor(0.5)
    depths = [Depth(1001, 5)] + [Depth(1000, 5)] * 60
    allowed = [floor.allows(second / 5, depth, 1000, 100.0) for second, depth in enumerate(depths)]
    assert not any(allowed[:25])
    assert all(allowed[30:])


def test_an_empty_quorum_target_is_doubted_when_it_was_just_filled() -> None:
    belief = Belief()
    assert belief.read(Depth(0, 0), 0.0, quorum=True) == Depth(0, 0)
    belief.put(1000)
    assert belief.read(Depth(0, 0), 0.1, quorum=True) == Depth(1000, 0)
    assert belief.read(Depth(0, 0), 0.5, quorum=True) == Depth(0, 0)


def test_unacked_messages_are_those_of_the_last_listing_and_all_that_was_moved_since_it_was_asked_for() -> None:
    held = Held()
    held.listed(50, 1.0, "classic")
    assert held.unacked(ready=20) == 30
    held.moved(100, 2.0)
    assert held.unacked(ready=20) == 130
    held.listed(150, 2.1, "classic")  # too soon after the move to be sure
    assert held.unacked(ready=20) == 230
    held.listed(150, 2.5, "classic")
    assert held.unacked(ready=20) == 130


def test_what_we_put_in_too_much_ourselves_opens_no_floor_until_it_is_consumed() -> None:
    floor = Floor(0.5)
    floor.suspend(4000, now=0.0)
    for now in range(20):
        assert floor.allows(float(now), Depth(5000, 2), 1000, 100.0) == 0
        assert floor.needs_consumption
        assert not floor.watching
    floor.allows(20.0, Depth(1000, 2), 1000, 100.0)
    floor.allows(21.0, Depth(1500, 2), 1000, 100.0)
    assert floor.watching, "now it is others"
    assert floor.allows(21.0 + FULL_FOR + 1.0, Depth(1500, 2), 1000, 100.0) > 0


def test_others_who_go_on_where_we_put_in_too_much_are_found_when_ours_must_be_consumed() -> None:
    floor = Floor(0.5)
    floor.suspend(400, now=100.0)
    granted = [floor.allows(100.0 + second, Depth(5000, 2), 1000, 100.0) for second in range(20)]
    assert granted[: 4 + int(FULL_FOR)] == [0] * (4 + int(FULL_FOR))
    assert max(granted) > 0


def test_without_listings_what_was_moved_is_remembered_in_few_numbers() -> None:
    held = Held()
    held.listed(0, 0.0, "classic")
    for step in range(10_000):
        held.moved(1, step / 1000)
    assert held.unacked(0) == 10_000
    assert len(held._moved) <= 101
    held.listed(400, 9.7, "classic")
    assert 400 + 400 <= held.unacked(0) <= 400 + 700
