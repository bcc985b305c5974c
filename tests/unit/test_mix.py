"""Messages of several sources are published in turns."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from raquo.broker.mix import Mix


class Held:
    """A channel that only remembers what it was told to publish."""

    def __init__(self, source: str, holds: int, wire: list[str]) -> None:
        self.holds = holds
        self._source = source
        self._wire = wire

    def publish_held(self, count: int) -> None:
        assert count <= self.holds
        self.holds -= count
        self._wire += [self._source] * count


def mixed(counts: dict[str, int], wire: list[str]) -> tuple[Mix, dict[str, Held]]:
    mix = Mix(counts)
    holders = {source: Held(source, 0, wire) for source in counts}
    for source, holder in holders.items():
        mix.attach(source, holder)
    return mix, holders


def test_every_tenth_of_the_plan_has_a_tenth_of_each_source() -> None:
    wire: list[str] = []
    counts = {"a": 500, "b": 300, "c": 200}
    mix, holders = mixed(counts, wire)
    for source, holder in holders.items():  # a whole block of each, one after the other
        holder.holds = counts[source]
        mix.release()
    while not mix.over:
        before = len(wire)
        mix.release()
        assert len(wire) - before <= 100, "a tenth at a time"
    assert [Counter(wire[at : at + 100]) for at in range(0, 1000, 100)] == [Counter(a=50, b=30, c=20)] * 10
    assert mix.over


def test_a_source_that_has_nothing_holds_the_others_until_somebody_hurries() -> None:
    wire: list[str] = []
    mix, holders = mixed({"a": 5, "b": 5, "c": 5}, wire)
    holders["a"].holds = holders["b"].holds = 5
    mix.release()
    assert wire == ["a", "b"]
    mix.hurry()
    assert Counter(wire) == Counter(a=5, b=5)
    assert not mix.mixes("c"), "what it gets now is published as it comes"


def test_while_nobody_has_anything_there_is_nothing_to_hurry() -> None:
    mix, _ = mixed({"a": 5, "b": 5}, [])
    mix.hurry()
    assert mix.mixes("a")
    assert mix.mixes("b")


def test_the_last_one_does_not_wait_for_turns() -> None:
    wire: list[str] = []
    mix, holders = mixed({"a": 5, "b": 5}, wire)
    holders["b"].holds = 3
    mix.leave("a")
    assert mix.over
    mix.release()
    assert wire == ["b"] * 3


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1), st.data())
def test_in_the_end_everything_is_published(counts: dict[str, int], data: st.DataObject) -> None:
    wire: list[str] = []
    mix, holders = mixed(counts, wire)
    missing = dict(counts)
    while any(missing.values()):
        source = data.draw(st.sampled_from([one for one, left in missing.items() if left]))
        some = data.draw(st.integers(1, missing[source]))
        missing[source] -= some
        if mix.mixes(source):
            holders[source].holds += some
        else:
            wire += [source] * some
        data.draw(st.sampled_from([mix.release, mix.hurry]))()
    while not mix.over:
        mix.hurry()
    mix.release()
    assert Counter(wire) == Counter(counts)
