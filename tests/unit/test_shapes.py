"""What staging queues are declared with: of the target's arguments two, and nothing else."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from raquo.broker.errors import ManagementError
from raquo.router.shapes import StagingShapes


class Target(NamedTuple):
    """A queue as the management API tells it."""

    type: str
    arguments: Mapping[str, Any]


class Looked:
    """A management API that counts how often it was asked."""

    def __init__(self, answer: Target | Exception) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __call__(self, target: str) -> Target:
        self.asked.append(target)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


EVERYTHING = {
    "x-queue-type": "classic",
    "x-max-priority": 5,
    "x-expires": 1000,
    "x-message-ttl": 1000,
    "x-max-length": 10,
    "x-max-length-bytes": 1000,
    "x-overflow": "reject-publish",
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": "dead",
    "x-single-active-consumer": True,
    "x-delivery-limit": 3,
}


def test_without_any_knowledge_the_broker_decides() -> None:
    assert StagingShapes().arguments("t") == {}


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_a_configured_type_needs_no_look_at_the_target(queue_type: str) -> None:
    assert StagingShapes(queue_type).arguments("t") == {"x-queue-type": queue_type}


def test_of_a_classic_target_type_and_priorities_are_taken_and_nothing_else() -> None:
    shapes = StagingShapes(look_up=Looked(Target("classic", EVERYTHING)))
    assert shapes.arguments("t") == {"x-queue-type": "classic", "x-max-priority": 5}


def test_of_a_quorum_target_only_the_type_is_taken() -> None:
    shapes = StagingShapes(look_up=Looked(Target("quorum", EVERYTHING)))
    assert shapes.arguments("t") == {"x-queue-type": "quorum"}


def test_a_stream_is_no_model_for_a_staging_queue() -> None:
    assert StagingShapes(look_up=Looked(Target("stream", {}))).arguments("t") == {}


def test_quorum_staging_of_a_classic_target_has_no_priorities() -> None:
    shapes = StagingShapes("quorum", look_up=Looked(Target("classic", EVERYTHING)))
    assert shapes.arguments("t") == {"x-queue-type": "quorum"}


def test_classic_staging_of_a_classic_target_keeps_its_priorities() -> None:
    shapes = StagingShapes("classic", look_up=Looked(Target("classic", EVERYTHING)))
    assert shapes.arguments("t") == {"x-queue-type": "classic", "x-max-priority": 5}


def test_more_arguments_are_added_and_win() -> None:
    extra = {"x-max-priority": 9, "x-max-length": 7}
    shapes = StagingShapes(arguments=extra, look_up=Looked(Target("classic", EVERYTHING)))
    assert shapes.arguments("t") == {"x-queue-type": "classic", "x-max-priority": 9, "x-max-length": 7}


def test_a_type_among_the_arguments_decides_about_priorities_too() -> None:
    shapes = StagingShapes(
        arguments={"x-queue-type": "quorum"}, look_up=Looked(Target("classic", EVERYTHING))
    )
    assert shapes.arguments("t") == {"x-queue-type": "quorum"}


def test_a_target_is_looked_up_once_in_a_while() -> None:
    clock, looked = Clock(), Looked(Target("quorum", {}))
    shapes = StagingShapes(look_up=looked, clock=clock)
    for clock.now in (0.0, 1.0, 299.0):
        shapes.arguments("t")
    assert looked.asked == ["t"]
    clock.now = 300.0
    shapes.arguments("t")
    assert looked.asked == ["t", "t"]


def test_what_cannot_be_looked_up_is_the_brokers_choice_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looked = Looked(ManagementError("it is out for lunch"))
    shapes = StagingShapes(arguments={"x-max-length": 7}, look_up=looked)
    with caplog.at_level(logging.WARNING):
        assert shapes.arguments("t") == {"x-max-length": 7}
        assert shapes.arguments("t") == {"x-max-length": 7}
    assert len(looked.asked) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "out for lunch" in caplog.text


def test_memory_for_targets_is_bounded() -> None:
    shapes = StagingShapes("classic")
    for number in range(10_000):
        shapes.arguments(f"target-{number}")
    assert len(shapes._known) <= 4_096
