"""What is remembered of a staging queue between rounds."""

from raquo.broker.depths import Depth
from raquo.distributor.snapshot import Staging
from raquo.distributor.staging_queue import StagingQueue, Weights
from raquo.distributor.status import QueueState
from raquo.distributor.transport import Outcome, Reason
from raquo.mutators.names import StagingName


def queue(kind: str = "classic", depth: int = 100, weights: Weights | None = None) -> StagingQueue:
    one = StagingQueue(Staging("work»t1", StagingName("work", ("t1",)), kind), weights or Weights(), by_queue=False)
    one.read(Depth(depth, 0), 0.0, 0.0)
    return one


def outcome(moved: int, reason: Reason, asked: int = 10) -> Outcome:
    return Outcome("work»t1", asked, moved, reason)


def weight(one: StagingQueue, now: float, weighed: bool = True) -> int:
    demand = one.demand(now, weighed)
    assert demand is not None
    return demand.weight


def test_a_queue_whose_grants_fail_is_left_out_longer_each_time_and_then_tried_with_one_message() -> None:
    one, now, pauses = queue(), 0.0, []
    for _ in range(4):
        one.settle(outcome(0, Reason.REFUSED), now)
        assert weight(one, now) == 0, "it gets nothing, and what it is owed is kept"
        pauses.append(one.retry_at - now)
        now = one.retry_at
        demand = one.demand(now)
        assert demand is not None
        assert demand.depth == 1
    assert pauses == [0.25, 0.5, 1.0, 2.0]
    one.settle(outcome(1, Reason.COMPLETE, asked=1), now)
    demand = one.demand(now)
    assert demand is not None
    assert demand.depth == 99


def test_a_queue_that_makes_progress_is_not_left_out_longer_each_time() -> None:
    one = queue()
    for now in range(5):
        one.settle(outcome(3, Reason.REFUSED), float(now))
        assert one.retry_at - now == 0.25


def test_an_empty_quorum_queue_is_believed_after_everything_was_moved() -> None:
    one = queue("quorum", depth=10)
    one.settle(outcome(10, Reason.COMPLETE), 1.0)
    one.read(Depth(0, 0), 1.1, 1.0)
    assert one.depth == 0
    assert not one.busy


def test_an_empty_quorum_queue_that_nobody_emptied_is_doubted_for_a_moment() -> None:
    one = queue("quorum", depth=10)
    one.read(Depth(0, 0), 1.0, 0.9)
    assert one.depth == 10
    one.read(Depth(0, 0), 1.4, 1.3)
    assert one.depth == 0


def test_a_bell_that_rings_after_the_question_is_not_silenced_by_its_answer() -> None:
    one = queue(depth=0)
    one.rung(1.0)
    one.read(Depth(0, 0), 1.1, 0.9)
    assert one.busy
    one.read(Depth(0, 0), 1.3, 1.2)
    assert not one.busy


def test_weight_zero_holds_back_but_not_in_a_bypass() -> None:
    one = queue(weights=Weights(tenant=0))
    assert weight(one, 0.0) == 0
    assert one.status(0.0, 0.0, 0, {}).reason == "weight_zero"
    assert weight(one, 0.0, weighed=False) == 1000
    assert one.status(0.0, 0.0, 0, {}, weighed=False).state is QueueState.WAITING


def test_an_empty_queue_asks_for_nothing() -> None:
    assert queue(depth=0).demand(0.0) is None


def test_a_grant_that_finds_nothing_may_have_come_too_late_but_not_twice() -> None:
    one = queue()
    one.settle(outcome(0, Reason.UNDER_FULL), 1.0)
    assert weight(one, 1.0) == 1000
    one.settle(outcome(0, Reason.UNDER_FULL), 2.0)
    assert one.trouble is not None
    assert one.trouble.code == "nothing_delivered"
    assert weight(one, 2.0) == 0


def test_a_queue_whose_depth_is_not_told_is_held_until_it_is() -> None:
    one = queue(depth=0)
    assert one.refuse("access refused", 1.0), "that is news"
    assert not one.refuse("access refused", 2.0)
    seen = one.status(2.0, 0.0, 0, {})
    assert (seen.state, seen.reason, seen.reason_text) == (QueueState.HELD, "not_permitted", "access refused")
    one.read(Depth(3, 0), 3.0, 3.0)
    assert one.status(3.0, 0.0, 0, {}).state is QueueState.WAITING
    assert weight(one, 3.0) == 1000


def test_an_idle_queue_is_shown_with_the_weight_and_the_count_it_has_now() -> None:
    one = queue(depth=0)
    assert one.status(0.0, 0.0, 0, {}) is one.status(1.0, 1.0, 0, {}), "made once: there may be thousands"
    one.weights = Weights(tenant=5000)
    assert one.status(2.0, 2.0, 0, {}).weight == 5.0
    one.settle(outcome(7, Reason.COMPLETE, asked=7), 3.0)
    assert one.status(4.0, 4.0, 7, {}).moved == 7


def test_a_target_that_takes_nothing_explains_more_than_an_old_trouble_of_the_queue() -> None:
    one = queue()
    one.settle(outcome(0, Reason.REFUSED), 1.0)
    assert one.status(1.0, 0.0, 0, {}).reason == "refused"
    assert one.status(1.0, 0.0, 0, {"reason": "no_room", "text": "full"}).reason == "refused"
    assert one.status(1.0, 0.0, 0, {"reason": "target_missing", "text": "gone"}).reason == "target_missing"
