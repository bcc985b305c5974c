"""Which rule speaks of which queue, and whose weight it gives."""

import re
from dataclasses import dataclass

import pytest

from raquo.distributor.rules import matches, weights_of
from raquo.mutators.names import StagingName


@dataclass(frozen=True)
class Rule:
    thousandths: int
    target: str | None = None
    tenant: str | None = None
    workflow: str | None = None
    match: str | None = None


def weights(rules: list[Rule], queue: str, fair_by: str = "tenant") -> tuple[int, int]:
    name = StagingName.parse(queue)
    assert name is not None
    return weights_of(rules, name, queue, fair_by)


@pytest.mark.parametrize("fair_by", ["tenant", "queue"])
def test_without_a_rule_everybody_weighs_one(fair_by: str) -> None:
    assert weights([], "t»a/w", fair_by) == (1000, 1000)
    assert weights([Rule(5, tenant="b")], "t»a/w", fair_by) == (1000, 1000)


def test_a_rule_about_a_tenant_weighs_the_tenant() -> None:
    assert weights([Rule(5000, tenant="gold-*")], "t»gold-1/w") == (5000, 1000)


def test_a_rule_about_a_target_weighs_the_tenants_there() -> None:
    assert weights([Rule(0, target="batch-*")], "batch-1»a") == (0, 1000)
    assert weights([Rule(0, target="batch-*")], "mail»a") == (1000, 1000)


@pytest.mark.parametrize("rule", [Rule(7, tenant="a", workflow="w"), Rule(7, workflow="w"), Rule(7, match="/w$")])
def test_a_rule_about_a_workflow_or_a_name_weighs_the_queue_within_its_tenant(rule: Rule) -> None:
    assert weights([rule], "t»a/w") == (1000, 7)
    assert weights([rule], "t»a/v") == (1000, 1000)


@pytest.mark.parametrize("rule", [Rule(7, tenant="a"), Rule(7, workflow="w"), Rule(7, match="a/w")])
def test_where_queues_share_every_rule_weighs_the_queue(rule: Rule) -> None:
    assert weights([rule], "t»a/w", "queue") == (7, 7)


def test_the_first_rule_that_matches_decides_for_tenant_and_queue_separately() -> None:
    rules = [Rule(1, tenant="b"), Rule(2, workflow="w"), Rule(3, tenant="a"), Rule(4, tenant="*"), Rule(5, match="a")]
    assert weights(rules, "t»a/w") == (3, 2)
    assert weights(rules, "t»a/v") == (3, 5)
    assert weights(rules, "t»c/v") == (4, 1000)
    assert weights(rules, "t»a/w", "queue") == (2, 2)


def test_everything_a_rule_says_must_match() -> None:
    rule = Rule(5, target="t", tenant="a", workflow="w", match="a/w")
    assert weights([rule], "t»a/w") == (1000, 5)
    for other in ("u»a/w", "t»b/w", "t»a/v"):
        assert weights([rule], other) == (1000, 1000)


def test_patterns_are_held_against_decoded_values() -> None:
    queue = str(StagingName("t", ("a/b", "100%")))
    assert weights([Rule(5, tenant="a/b")], queue) == (5, 1000)
    assert weights([Rule(5, workflow="100%")], queue) == (1000, 5)
    assert weights([Rule(5, match="a%2Fb")], queue) == (1000, 5)


def test_match_is_searched_in_the_name_as_it_is_listed() -> None:
    assert weights([Rule(5, match="»/a/")], "t»/a/w") == (1000, 5)
    assert weights([Rule(5, match="»a/")], "t»/a/w") == (1000, 1000)


def test_a_queue_without_a_workflow_is_matched_by_no_workflow() -> None:
    assert weights([Rule(5, workflow="*")], "t»a") == (1000, 1000)


def test_a_regular_expression_must_match_the_whole_value_and_a_glob_minds_case() -> None:
    assert matches("re:a|b", "b")
    assert not matches("re:a", "ab")
    assert not matches("A*", "ab")
    assert matches(None, None)


def test_an_expression_that_is_none_is_an_error() -> None:
    with pytest.raises(re.error):
        matches("re:(", "a")
