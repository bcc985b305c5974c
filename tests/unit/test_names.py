"""Staging names: every value round-trips, no two share a queue, none is too long."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from raquo.mutators.errors import BadName, NameTooLong
from raquo.mutators.names import StagingName, typed

SPECIALS = "%/»~@* \r\n\x00\x7f\x85aé🦊~0123456789abcdef"
values = st.text(max_size=40) | st.text(SPECIALS, max_size=12)
long_values = values | st.integers(0, 300).flatmap(lambda n: st.sampled_from("aé🦊/»%").map(lambda c: c * n))
targets = st.text(min_size=1, max_size=30).filter(lambda text: not set(text) & set("»\r\n"))
classes = st.sampled_from([None, "sync", "async"])
parts = st.lists(values.filter(bool), min_size=1, max_size=4).map(tuple)
long_parts = st.lists(long_values.filter(bool), min_size=1, max_size=4).map(tuple)


def parsed(text: str) -> StagingName:
    name = StagingName.parse(text)
    assert name is not None
    return name


@given(targets, parts, classes)
@example("t", ("*",), None)
@example("t", ("@none",), "sync")
@example("t", ("~" + "0" * 16,), None)
def test_a_name_that_fits_comes_back_as_it_was(
    target: str, given_parts: tuple[str, ...], kind: str | None
) -> None:
    name = StagingName(target, given_parts, kind)
    if "~" not in str(name):
        assert parsed(str(name)) == name
        assert parsed(str(name)).discriminators == name.discriminators == given_parts


@given(targets, long_parts, classes)
def test_a_name_has_255_bytes_at_most_and_prints_again_as_it_was_read(
    target: str, given_parts: tuple[str, ...], kind: str | None
) -> None:
    text = str(StagingName(target, given_parts, kind))
    assert len(text.encode()) <= 255
    assert str(parsed(text)) == text
    assert (parsed(text).target, parsed(text).service_class) == (target, kind)


keys = st.tuples(st.sampled_from(["t", "t" * 100, "t" * 225]), long_parts, classes)


@given(st.lists(keys, min_size=2, max_size=6, unique=True))
def test_different_names_never_share_a_queue(several: list[tuple[str, tuple[str, ...], str | None]]) -> None:
    names = {str(StagingName(*key)) for key in several}
    reserved = {str(make(key[0])) for key in several for make in (StagingName.lane, StagingName.untenanted)}
    assert len(names) == len(several)
    assert not names & reserved


@given(st.text() | st.text(SPECIALS) | st.text(SPECIALS).map(lambda text: f"t»{text}"))
def test_reading_never_raises_and_reading_again_changes_nothing(text: str) -> None:
    name = StagingName.parse(text)
    if name is not None and len(text.encode()) < 200:
        assert parsed(str(name)) == name


def test_reading_refuses_what_no_queue_can_be_called() -> None:
    assert StagingName.parse("a\nb»t1") is None
    assert StagingName.parse("t»\ud800") is None


lengths = st.sampled_from(["t", "worker-input", "t" * 150])


@given(lengths, long_values.filter(bool), st.lists(values, max_size=3), classes)
def test_one_tenant_stays_one_whatever_follows_it(
    target: str, tenant: str, rest: list[str], kind: str | None
) -> None:
    alone, followed = StagingName(target, (tenant,)), StagingName(target, (tenant, *rest), kind)
    assert parsed(str(alone)).tenant_key == parsed(str(followed)).tenant_key == alone.tenant_key
    assert StagingName("other", (tenant,)).tenant_key == alone.tenant_key


def test_two_workflows_of_a_cut_tenant_begin_alike() -> None:
    several = [("w1", None), ("w2", None), ("w1", "sync"), ("w1", "async")]
    names = [parsed(str(StagingName("t", ("x" * 260, flow), kind))) for flow, kind in several]
    assert len({name.tenant for name in names}) == 1
    assert len({str(name) for name in names}) == 4


def test_a_tenant_called_like_the_lane_is_not_counted_with_it() -> None:
    assert StagingName.lane("t").tenant_key != StagingName("t", ("*",)).tenant_key


def test_tenant_and_workflow_are_the_first_two_discriminators() -> None:
    name = StagingName("t", ("a/b", "w", "x"))
    assert (name.tenant, name.workflow, name.discriminators) == ("a/b", "w", ("a/b", "w", "x"))
    assert (StagingName("t").tenant, StagingName("t", ("a",)).workflow) == (None, None)


def test_adding_gives_a_new_name_and_keeps_the_service_class_last() -> None:
    name = StagingName("t", ("a",), "sync")
    assert str(name.add("b")) == "t»a/b/@sync"
    assert str(name) == "t»a/@sync"


@pytest.mark.parametrize("nothing", ["", None, b""])
def test_an_empty_value_adds_nothing(nothing: object) -> None:
    name = StagingName("t", ("a",))
    assert name.add(nothing) is name


def test_a_name_without_discriminators_is_the_target() -> None:
    assert str(StagingName("t" * 300)) == "t" * 300
    assert StagingName("t", ("", "")) == StagingName("t")


@pytest.mark.parametrize("make", [StagingName.lane, StagingName.untenanted, StagingName.intake])
def test_nothing_joins_a_reserved_part(make: object) -> None:
    assert callable(make)
    name = make("t")
    assert name.add("a") is name
    assert name.with_service_class("sync") is name
    assert parsed(str(name)) == name
    assert parsed(str(name)).reserved == str(name).removeprefix("t»")


def test_the_older_form_is_the_same_name() -> None:
    assert parsed("t»/tenant/flow") == parsed("t»tenant/flow") == StagingName("t", ("tenant", "flow"))


@pytest.mark.parametrize("target", ["", "a\nb", "a\rb", "a»b", "»", "\ud800", 7, None])
def test_a_bad_target_is_refused_in_words(target: str) -> None:
    with pytest.raises(BadName, match=r"cannot be the name of a target: it (is|has)"):
        StagingName(target, ("a",))
    with pytest.raises(BadName):
        StagingName.lane(target)


def test_an_unknown_service_class_is_refused() -> None:
    with pytest.raises(BadName, match="sync or async, not 'fast'"):
        StagingName("t", ("a",), "fast")
    with pytest.raises(BadName):
        StagingName("t", ("a",)).with_service_class("")


def test_one_text_in_place_of_several_discriminators_is_refused() -> None:
    with pytest.raises(BadName, match=r"give \('tenant',\)"):
        StagingName("t", "tenant")


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(BadName, match="UTF-8"):
        StagingName("t").add("\ud800")


def test_a_target_that_leaves_no_room_is_refused_only_where_a_cut_is_needed() -> None:
    assert str(StagingName("t" * 250, ("abc",))) == "t" * 250 + "»abc"
    with pytest.raises(NameTooLong, match="250 bytes"):
        str(StagingName("t" * 250, ("abcd",)))
    with pytest.raises(NameTooLong):
        str(StagingName("t" * 250, (), "sync"))


def test_names_are_frozen_hashable_and_can_be_copied() -> None:
    name = StagingName("t", ("a",), "sync")
    with pytest.raises(FrozenInstanceError):
        name.target = "u"  # type: ignore[misc]
    assert {name: 1}[StagingName("t", ["a"], "sync")] == 1
    assert pickle.loads(pickle.dumps(name)) == copy.deepcopy(name) == name  # noqa: S301
    assert not hasattr(name, "__dict__")


def test_a_name_shows_itself_even_where_it_has_no_queue() -> None:
    assert repr(StagingName("t", ("a b",))) == "<StagingName t»a b>"
    assert repr(StagingName("t" * 250, ("a" * 9,))).endswith("»aaaaaaaaa>")


def test_two_greater_signs_are_typed_for_the_mark() -> None:
    assert typed("worker-input>>t1/w1") == "worker-input»t1/w1"
    assert typed("worker-input»t1") == "worker-input»t1"
