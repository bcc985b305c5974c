"""What is remembered of a staging queue between rounds."""

from raquo.broker.depths import Depth
from raquo.distributor.snapshot import Staging
from raquo.distributor.staging_queue import StagingQueue, Weights
from raquo.distributor.transport import Outcome, Reason
from raquo.mutators.names import StagingName


def queue(kind: str = "classic", depth: int = 100, weights: Weights | None = None) -> StagingQueue:
    one = StagingQueue(Staging("work»t1", StagingName("work", ("t1",)), kind), weights or Weights(), by_queue=False)
    one.read(Depth(depth, 0), 0.0, 0.0)
    return one


def outcome(moved: int, reason: Reason, asked: int = 10) -> Outcome:
    return Outcome("work»t1", asked, moved, reason)


def test_a_queue_whose_grants_fail_is_left_out_longer_each_time_and_then_tried_with_one_message() -> None:
    one, now, pauses = queue(), 0.0, []
    for _ in range(4):
        one.settle(outcome(0, Reason.REFUSED), now)
        assert one.demand(now) is None
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
    assert one.demand(0.0) is None
    assert one.demand(0.0, weighed=False) is not None
