"""Messages of several sources are published in turns."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from raquo.broker.mix import Mix


class Held:
    """A channel that only remembers what it was told to publish."""

    def __init__(self, source: str, holds: int, wire: list[str]) -> None:
        self.holds = holds
        self.unconfirmed = 0
        self._source = source
        self._wire = wire

    def publish_next(self) -> None:
        assert self.holds
        self.holds -= 1
        self.unconfirmed += 1
        self._wire.append(self._source)

    def enter_published(self) -> None:
        pass


def mixed(counts: dict[str, int], wire: list[str]) -> tuple[Mix, dict[str, Held]]:
    mix = Mix(counts)
    holders = {source: Held(source, 0, wire) for source in counts}
    for source, holder in holders.items():
        mix.attach(source, holder)
    return mix, holders


def confirm_all(holders: dict[str, Held]) -> None:
    for holder in holders.values():
        holder.unconfirmed = 0


def test_every_tenth_of_the_plan_has_a_tenth_of_each_source() -> None:
    wire: list[str] = []
    counts = {"a": 500, "b": 300, "c": 200}
    mix, holders = mixed(counts, wire)
    for source, holder in holders.items():  # a whole block of each, one after the other
        holder.holds = counts[source]
        mix.release()
    while not mix.over:
        before = len(wire)
        confirm_all(holders)
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


def test_no_more_than_two_tenths_are_ever_unconfirmed() -> None:
    wire: list[str] = []
    mix, holders = mixed({"a": 500, "b": 500}, wire)
    for holder in holders.values():
        holder.holds = 500
    for _ in range(5):
        mix.release()
        mix.hurry()
    assert len(wire) == 200
    holders["a"].unconfirmed -= 99
    mix.release()
    assert len(wire) == 200
    holders["a"].unconfirmed -= 1
    mix.release()
    assert len(wire) == 300
    assert mix.mixes("a"), "nobody is blamed for a slow broker"


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
        data.draw(st.sampled_from([mix.release, mix.hurry, lambda: confirm_all(holders)]))()
    while not mix.over:
        confirm_all(holders)
        mix.hurry()
    mix.release()
    assert Counter(wire) == Counter(counts)
