"""Which staging queues may be deleted: the decisions behind `raquo prune`, the reaper and `raquo uninstall`."""

from typing import Any

import pytest

from raquo.broker.depths import Depth, Reading, Refused
from raquo.broker.management import QueueInfo
from raquo.broker.observer import _grew
from raquo.distributor.config import Config
from raquo.distributor.pruning import choose
from raquo.distributor.reaper import Idleness
from raquo.distributor.served import served
from raquo.distributor.uninstalling import complaint, ours_in


def a_queue(name: str = "work»t1", **changes: Any) -> QueueInfo:
    return QueueInfo(name, **({"ready": 0, "unacked": 0} | changes))


def everything(_target: str) -> bool:
    return True


def test_an_empty_classic_staging_queue_may_go() -> None:
    assert choose([a_queue()], everything).prunable == ("work»t1",)


@pytest.mark.parametrize("changes", [{"ready": 1}, {"unacked": 1}, {"ready": None}, {"unacked": None}])
def test_a_queue_that_is_not_known_to_be_empty_stays(changes: dict[str, Any]) -> None:
    choice = choose([a_queue(**changes)], everything)
    assert (choice.prunable, choice.used) == ((), 1)


def test_a_queue_that_was_published_to_lately_stays() -> None:
    assert choose([a_queue()], everything, lately={"work»t1"}).used == 1


def test_empty_quorum_queues_are_counted_and_stay() -> None:
    choice = choose([a_queue(type="quorum")], everything)
    assert (choice.prunable, choice.quorum) == ((), 1)


@pytest.mark.parametrize(
    "info", [a_queue("work"), a_queue("»x"), a_queue(exclusive=True), a_queue(type="stream"), a_queue("raquo.parked")]
)
def test_what_is_no_staging_queue_is_not_looked_at(info: QueueInfo) -> None:
    choice = choose([info], everything)
    assert (choice.prunable, choice.quorum, choice.used) == ((), 0, 0)


def test_targets_are_those_named_or_those_configured() -> None:
    config = Config.model_validate({"distributor": {"serve": ["work-*"], "serve_not": ["work-b"]}})
    names = ("work-a", "work-b", "else")
    assert [name for name in names if served(config)(name)] == ["work-a"]
    assert [name for name in names if served(config, ["else"])(name)] == ["else"]


def test_a_queue_is_idle_when_it_was_empty_for_long() -> None:
    idleness = Idleness()
    idleness.look(["a", "b"], {}, now=0)
    idleness.look(["a"], {}, now=5)
    idleness.look(["a", "b"], {}, now=9)
    assert idleness.longer_than(9, now=9) == ["a"], "b had a message meanwhile"


def test_a_queue_through_which_something_went_is_not_idle() -> None:
    idleness = Idleness()
    idleness.look(["a"], {"a": 1}, now=0)
    idleness.look(["a"], {"a": 2}, now=9)
    assert idleness.longer_than(9, now=9) == []
    assert idleness.longer_than(9, now=18) == ["a"]


def test_the_longest_idle_goes_first_and_one_that_stayed_counts_anew() -> None:
    idleness = Idleness()
    idleness.look(["z"], {}, now=0)
    idleness.look(["z", "a"], {}, now=1)
    assert idleness.longer_than(1, now=2) == ["z", "a"]
    idleness.forget(["z"])
    idleness.look(["z", "a"], {}, now=3)
    assert idleness.longer_than(1, now=3) == ["a"]


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        ({"w»a": Depth(2, 0), "w»b": Depth(3, 1)}, "5 messages wait in 2 queues, e.g. 'w»a': `raquo drain --all`"),
        ({"raquo.parked": Depth(1, 0), "w»a": Depth(2, 0)}, "raquo.parked holds 1 messages"),
        ({"raquo.pending.1": Depth(1, 0)}, "take them out first"),
        ({"w»a": Depth(0, 1)}, "'w»a' is consumed"),
        ({"w»a": Depth(0, 0), "w»b": Refused(404, "gone")}, None),
        ({}, None),
    ],
)
def test_nothing_is_uninstalled_that_is_in_use(readings: dict[str, Reading], words: str | None) -> None:
    said = complaint(readings)
    assert said is None if words is None else said is not None and words in said


def test_only_queues_of_ours_are_uninstalled() -> None:
    config = Config.model_validate({"distributor": {"serve_not": ["private"]}})
    names = ("work»t1", "private»t1", "work", "raquo.parked", "raquos-own", "»")
    found = ours_in([*map(a_queue, names), a_queue("raquo.mine", exclusive=True)], config)
    assert sorted(info.name for info in found) == ["raquo.parked", "work»t1"]


@pytest.mark.parametrize(
    ("statistics", "grew"),
    [
        (None, False),
        ({}, False),
        ({"publish": 3, "publish_details": {"samples": [{"sample": 3}, {"sample": 3}]}}, False),
        ({"publish": 3, "publish_details": {"samples": [{"sample": 3}, {"sample": 2}]}}, True),
        ({"publish": 4, "publish_details": {"samples": [{"sample": 3}, {"sample": 3}]}}, True),
        ({"publish": 4, "publish_details": "nonsense"}, False),
    ],
)
def test_a_queue_was_published_to_if_its_count_changed(statistics: Any, grew: bool) -> None:
    assert _grew(statistics) is grew
