"""Mutators in a row: the first is required, the others may fail."""

import logging

import pytest

from raquo.mutators import (
    BadMutator,
    Chain,
    HeaderMutator,
    LaneMutator,
    Message,
    ServiceClassMutator,
    StagingName,
    TenantMutator,
    WhenTarget,
    WorkflowMutator,
)

START = StagingName("t")


def broken(name: StagingName, message: Message) -> StagingName:
    raise KeyError("customer")


def result(chain: Chain, **headers: object) -> str | None:
    name = chain.run(START, Message(headers={key.replace("_", "-"): value for key, value in headers.items()}))
    return None if name is None else str(name)


def test_mutators_run_in_the_order_given() -> None:
    assert result(Chain(["tenant", "workflow"]), tenant="a", workflow="b") == "t»a/b"
    assert result(Chain(["workflow", "tenant"]), tenant="a", workflow="b") == "t»b/a"


def test_a_later_mutator_may_add_nothing() -> None:
    assert result(Chain(["tenant", "workflow", "region"]), tenant="a", region="eu") == "t»a/eu"


def test_a_workflow_never_passes_for_a_tenant() -> None:
    chain = Chain(["tenant", "workflow"])
    assert result(chain, workflow="b") is None
    assert result(chain, tenant="", workflow="b") is None
    assert result(chain, tenant=b"\xff", workflow="b") is None
    assert sum(chain.failures.values()) == 1


def test_a_first_mutator_that_raises_ends_the_chain() -> None:
    chain = Chain([broken, "workflow"])
    assert result(chain, workflow="b") is None
    assert chain.failures[repr(broken)] == 1


def test_a_later_mutator_that_raises_is_counted_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(["tenant", broken, "workflow"])
    assert result(chain, tenant="a", workflow="b") == "t»a/b"
    assert chain.failures[repr(broken)] == 1
    assert "failed (1 so far)" in caplog.text
    assert "KeyError: 'customer'" in caplog.text


def test_failures_are_logged_more_and_more_seldom(caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(["tenant", broken])
    with caplog.at_level(logging.WARNING):
        for _ in range(250):
            result(chain, tenant="a")
    assert chain.failures[repr(broken)] == 250
    assert len(caplog.records) == 3


@pytest.mark.parametrize("made", [None, "t»x", StagingName("other", ("x",))])
def test_what_is_no_name_for_the_target_is_skipped(made: object) -> None:
    def wrong(name: StagingName, message: Message) -> StagingName:
        return made  # type: ignore[return-value]

    chain = Chain(["tenant", wrong])
    assert result(chain, tenant="a") == "t»a"
    assert chain.failures[repr(wrong)] == 1


def test_plain_functions_are_mutators() -> None:
    assert result(Chain([lambda name, message: name.add(message.headers["n"])]), n=7) == "t»7"


def test_a_stop_by_the_user_is_no_failure_of_a_mutator() -> None:
    def interrupted(name: StagingName, message: Message) -> StagingName:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result(Chain([interrupted]))


def test_lane_and_service_class_may_stand_before_the_tenant() -> None:
    chain = Chain([LaneMutator(), ServiceClassMutator(), "tenant", "workflow"])
    assert result(chain, fairness_key="k", tenant="a") == "t»*"
    assert result(chain, service_class="sync", tenant="a", workflow="b") == "t»a/b/@sync"
    assert result(chain, service_class="sync", workflow="b") is None


def test_the_lane_takes_over_from_the_tenant() -> None:
    assert result(Chain(["tenant", "workflow", "fairness-key"]), tenant="a", fairness_key="k") == "t»*"


def test_a_service_class_alone_is_no_tenant() -> None:
    assert result(Chain([ServiceClassMutator()]), service_class="sync") is None


def test_a_first_mutator_for_other_targets_leaves_the_message_alone() -> None:
    assert result(Chain([WhenTarget("worker-*", "tenant"), "workflow"]), tenant="a", workflow="b") is None


def test_a_later_mutator_that_takes_the_tenant_away_makes_it_untenanted() -> None:
    assert result(Chain(["tenant", lambda name, message: START]), tenant="a") is None


def test_a_chain_knows_the_headers_that_decide_alone() -> None:
    class Loud(TenantMutator):
        def __call__(self, name: StagingName, message: Message) -> StagingName:
            return name.add(str(message.headers["tenant"]).upper())

    assert Chain(["tenant", HeaderMutator("x")]).headers == ("tenant", "x")
    assert Chain([TenantMutator("a"), WorkflowMutator(property="app_id")]).headers is None
    assert Chain([Loud()]).headers is None
    assert Chain(["tenant", broken]).headers is None


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(BadMutator, match="at least one"):
        Chain([])


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(BadMutator, match="7 cannot be called"):
        Chain([7])  # type: ignore[list-item]
