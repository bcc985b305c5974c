"""The router's decisions, their reasons and counts."""

import importlib.util
import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo import router as package
from raquo.mutators import BadMessage, BadMutator, BadName, Message, RaquoError, StagingName, TenantMutator
from raquo.router import BadConfiguration, Decision, PublishTimeout, Router, UnsupportedHeader
from raquo.router.router import REASONS

BOTH = Message(headers={"tenant": "t1", "workflow": "w1"})


def router(**settings: Any) -> Router:
    return Router(**{"environ": {}, **settings})


def test_the_public_names_are_there() -> None:
    assert {"BadConfiguration", "Decision", "Router", "Unroutable", "StagingFull"} <= set(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


def test_a_message_with_a_tenant_is_staged() -> None:
    decision = router().route("worker-input", BOTH)
    name = StagingName("worker-input", ("t1", "w1"))
    assert decision == Decision(queue="worker-input»t1/w1", staged=True, reason="staged", name=name)


def test_a_router_goes_by_the_headers_it_is_told() -> None:
    message = Message(headers={"customer": "c1", "region": "eu"})
    assert router(by=("customer", "region")).route("t", message).queue == "t»c1/eu"
    assert router(by="customer").route("t", message).queue == "t»c1"


def test_a_router_takes_mutators_of_all_kinds() -> None:
    several = [TenantMutator(), "workflow", lambda name, message: name.add(message.priority)]
    message = Message(headers={"tenant": "t1"}, priority=3)
    assert router(mutators=several).route("t", message).queue == "t»t1/3"


def test_by_and_mutators_together_are_refused() -> None:
    with pytest.raises(BadMutator, match="not both"):
        router(by=("tenant",), mutators=["tenant"])
    with pytest.raises(BadMutator, match="at least one"):
        router(by=())


def test_a_message_without_a_tenant_goes_to_its_target() -> None:
    assert router().route("t", Message(headers={"workflow": "w1"})) == ("t", False, "untenanted", None)


def test_messages_without_a_tenant_can_share_a_staging_queue() -> None:
    decision = router(untenanted="stage").route("t", Message())
    assert decision == ("t»@none", True, "untenanted", StagingName.untenanted("t"))


@pytest.mark.parametrize("target", ["t»x", "t»/old/form", "t»*"])
def test_a_staging_name_is_taken_as_it_is(target: str) -> None:
    assert router().route(target, BOTH) == (target, True, "already_staged", StagingName.parse(target))


@pytest.mark.parametrize("target", ["amq.gen-1", "amq.rabbitmq.reply-to", "»x", "x»"])
def test_a_target_that_cannot_have_staging_is_left_alone(target: str) -> None:
    assert router().route(target, BOTH) == (target, False, "reserved_target", None)


def test_only_targets_that_match_a_glob_are_staged() -> None:
    chosen = router(targets=["worker-*", "mail"])
    assert [chosen.route(target, BOTH).staged for target in ("worker-1", "mail", "Mail", "x")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert chosen.route("x", BOTH) == ("x", False, "not_a_target", None)
    assert not router(targets="worker-*").route("w", BOTH).staged


@pytest.mark.parametrize("target", ["", "a\nb", "a\rb", "\ud800", "x" * 256, "é" * 128, None, 5])
def test_a_target_that_no_queue_can_be_called_is_refused_in_words(target: Any) -> None:
    for mode in ("stage", "shadow"):
        with pytest.raises(BadName, match="cannot be the name of a queue: it"):
            router(mode=mode).route(target, BOTH)


def test_a_target_that_leaves_no_room_is_published_to_directly() -> None:
    target = "x" * 250
    long = Message(headers={"tenant": "t" * 40})
    assert router().route(target, long) == (target, False, "name_too_long", None)
    assert router(untenanted="stage").route(target, Message()).reason == "name_too_long"


def test_shadow_decides_and_leaves_the_message_with_its_target() -> None:
    decision = router(mode="shadow").route("t", BOTH)
    assert decision == ("t", False, "shadow", StagingName("t", ("t1", "w1")))
    assert router(mode="shadow").route("t", Message()).reason == "untenanted"


def test_off_touches_nothing() -> None:
    for target in ("t", "t»x", "a\nb", ""):
        assert router(mode="off").route(target, BOTH) == (target, False, "off", None)


def test_the_mode_comes_from_the_environment_where_none_is_given() -> None:
    environ = {"RAQUO_ROUTER__MODE": "shadow"}
    assert Router(environ=environ).mode == "shadow"
    assert Router(mode="stage", environ=environ).mode == "stage"
    assert Router(environ={"RAQUO_ROUTER__MODE": ""}).mode == "stage"
    with pytest.raises(BadConfiguration, match=r"router.mode = 'of': .* \(from RAQUO_ROUTER__MODE\)"):
        Router(environ={"RAQUO_ROUTER__MODE": "of"})


@pytest.mark.parametrize("wrong", [{"mode": "on"}, {"untenanted": "drop"}])
def test_an_impossible_setting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadConfiguration, match="expected one of"):
        router(**wrong)


def test_every_decision_is_counted_by_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    chosen = router(targets=["t"], mutators=["tenant", lambda name, message: name.add(message.headers["w"])])
    for target in ("t", "t", "t»x", "amq.x", "other"):
        chosen.route(target, BOTH)
    chosen.route("t", Message())
    counted = {reason: count for reason, count in chosen.counts.items() if count}
    assert counted == {
        "staged": 2, "already_staged": 1, "reserved_target": 1, "not_a_target": 1, "untenanted": 1,
        "mutator_failures": 2,
    }  # fmt: skip
    assert set(chosen.counts) == {*REASONS, "mutator_failures"}
    assert len(caplog.records) == 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_shadow_tells_once_a_minute_what_would_have_been(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    shadow = router(mode="shadow", clock=clock)
    with caplog.at_level(logging.INFO, "raquo.router"):
        for second in range(0, 150, 10):
            clock.now = float(second)
            shadow.route("t", Message(headers={"tenant": f"t{second % 3}"}) if second else Message())
    assert [record.getMessage() for record in caplog.records] == [
        "shadow: in 60 s 7 messages passed; 6 would have been staged, in 3 staging queues",
        "shadow: in 60 s 6 messages passed; 6 would have been staged, in 3 staging queues",
    ]


ODD: list[Any] = [None, 1, 1.0, True, b"1", "1", b"\xff", [], {"a": 1}, 0.0, -0.0]
tenants = st.text(max_size=3) | st.sampled_from(ODD)


@given(st.lists(st.tuples(tenants, tenants), max_size=12))
def test_what_is_remembered_is_what_would_be_decided_anew(several: list[tuple[Any, Any]]) -> None:
    remembering = router()
    for tenant, workflow in several * 2:
        message = Message(headers={"tenant": tenant, "workflow": workflow})
        assert remembering.route("t", message) == router().route("t", message)


def test_a_failure_is_counted_each_time_it_happens() -> None:
    chosen = router()
    for _ in range(3):
        assert chosen.route("t", Message(headers={"tenant": "a", "workflow": "\ud800"})).queue == "t»a"
    assert chosen.counts["mutator_failures"] == 3


def test_the_memory_of_a_router_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raquo.router.router._MOST_DECISIONS", 10)
    monkeypatch.setattr("raquo.router.router._MOST_TARGETS", 10)
    chosen = router()
    for number in range(100):
        message = Message(headers={"tenant": str(number), "workflow": "w"})
        assert chosen.route(f"t{number}", message).queue == f"t{number}»{number}/w"
    assert len(chosen._remembered) <= 10
    assert len(chosen._known) <= 10


def test_a_router_is_built_from_a_file_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "raquo.toml"
    lines = ('mutators = ["customer"]', 'targets = ["w*"]', 'untenanted = "stage"', 'mode = "off"')
    file.write_text("\n".join(("[router]", *lines)))
    built = Router.from_config(file, environ={"RAQUO_ROUTER__MODE": "stage"})
    assert built.route("w", Message(headers={"customer": "c"})).queue == "w»c"
    assert built.route("w", Message()).queue == "w»@none"
    assert built.route("x", Message()).reason == "not_a_target"
    assert Router.from_config(file, environ={}).mode == "off"


def test_a_mutator_that_cannot_be_loaded_is_a_configuration_error(tmp_path: Path) -> None:
    file = tmp_path / "raquo.toml"
    file.write_text('[router]\nmutators = ["no_such_module:x"]\n')
    with pytest.raises(BadConfiguration, match=r"router.mutators = .* cannot load the mutator no_such"):
        Router.from_config(file, environ={})


def test_errors_keep_what_they_know_when_they_are_pickled() -> None:
    error = pickle.loads(pickle.dumps(PublishTimeout("late", may_have_arrived=False)))  # noqa: S301
    assert (str(error), error.may_have_arrived) == ("late", False)
    assert issubclass(UnsupportedHeader, BadMessage)
    assert isinstance(error, RaquoError)
    assert "\n" not in str(PublishTimeout())


def test_the_benchmark_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "route.py"
    spec = importlib.util.spec_from_file_location("route_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    monkeypatch.setattr(benchmark, "DECISIONS", 2_000)
    assert set(benchmark.measure()) == {"decisions_per_second", "with_every_tenant_new"}
    assert "route_benchmark" not in sys.modules
