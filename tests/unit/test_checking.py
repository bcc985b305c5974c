"""From gathered facts to findings, and from a configuration to the rights it needs."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from raquo.broker.management_answers import ConsumerInfo, PolicyInfo, QueueInfo, VhostLimits
from raquo.distributor import checking
from raquo.distributor.checking import findings, good
from raquo.distributor.config import Config
from raquo.distributor.finding import AmqpFacts, Denied, Facts, Finding, Level, ManagementFacts, Problem, Right, Trouble
from raquo.distributor.rights import distributor_rights, publisher_rights, setup_lines

WORK = QueueInfo("work")
STAGED = QueueInfo("work»t1")
MODULES = ("checking", "checking_staging", "checking_targets")


def facts(*listing: QueueInfo, version: str = "4.3.6", **management: Any) -> Facts:
    """A broker that is well, with these queues; more by the names of `ManagementFacts`."""
    told = ManagementFacts(version=version, listing=listing or (WORK, STAGED), **management)
    return Facts("raquo", "/", "1.4.4", AmqpFacts(version, tried_staging=1), told)


def found(seen: Facts, **sections: Any) -> list[Finding]:
    return findings(seen, Config.model_validate(sections))


def wrong(seen: Facts, **sections: Any) -> dict[str, Finding]:
    """What is not as it should be, by code."""
    return {one.code: one for one in found(seen, **sections) if one.level is not Level.OK}


def with_policy(queue: QueueInfo = STAGED, pattern: str = "^work", **definition: Any) -> Facts:
    definition = {key.replace("_", "-"): value for key, value in definition.items()}
    return facts(WORK, queue, policies=(PolicyInfo("short", pattern, definition),))


def test_a_sound_broker_is_good_and_says_what_was_looked_at() -> None:
    sound = found(facts())
    assert [one.code for one in sound] == ["amqp", "management", "rights", "staging", "targets"]
    assert good(sound)


def test_every_finding_is_one_line() -> None:
    for one in found(facts(QueueInfo("work»t1", arguments={"x-expires": 1}), alarmed=True)):
        assert one.text
        assert "\n" not in one.text


@pytest.mark.parametrize("trouble", [Trouble.UNREACHABLE, Trouble.REFUSED])
def test_a_broker_that_does_not_answer_over_amqp_is_a_failure_and_the_rest_is_checked(trouble: Trouble) -> None:
    seen = replace(with_policy(expires=1000), amqp=AmqpFacts(problem=Problem(trouble, "no broker answers")))
    bad = wrong(seen)
    assert set(bad) == {f"amqp_{trouble}", "policy_drops"}
    assert bad[f"amqp_{trouble}"].level is Level.FAILURE
    assert not good(list(bad.values()))


@pytest.mark.parametrize("trouble", list(Trouble))
def test_a_management_api_that_does_not_answer_is_a_failure_and_amqp_is_checked(trouble: Trouble) -> None:
    seen = replace(facts(), management=ManagementFacts(problem=Problem(trouble, "it refused")))
    assert [(one.code, one.level) for one in found(seen)] == [
        (f"management_{trouble}", Level.FAILURE),
        ("amqp", Level.OK),
        ("rights", Level.OK),
    ]


def test_a_user_without_the_management_tag_is_told_which_tag_it_lacks() -> None:
    seen = replace(facts(), management=ManagementFacts(problem=Problem(Trouble.TAG, "Not management user")))
    assert "tag `management`" in wrong(seen)["management_tag"].text


@pytest.mark.parametrize("version", ["3.9.29", "3.8.0", "5.0.0", "5.1.0-rc.1"])
def test_a_broker_that_was_never_tried_is_a_warning(version: str) -> None:
    bad = wrong(facts(version=version))
    assert {code: one.level for code, one in bad.items()} == {"broker_version": Level.WARNING}


@pytest.mark.parametrize("version", ["3.10.0", "3.13.7", "4.0.0-beta.1", "4.3.6+2"])
def test_a_broker_that_is_supported_is_none(version: str) -> None:
    assert not wrong(facts(version=version))


def test_the_versions_of_broker_and_pika_are_told() -> None:
    told = next(one.text for one in found(facts(version="4.3.6")) if one.code == "amqp")
    assert "4.3.6" in told
    assert "pika 1.4.4" in told


def test_an_alarm_is_a_warning_and_publishing_does_not_count_as_tried() -> None:
    seen = facts(alarmed=True)
    assert set(wrong(seen)) == {"alarm"}
    rights = next(one for one in found(seen) if one.code == "rights")
    assert "publish" not in rights.text


@pytest.mark.parametrize("right", list(Right))
def test_a_missing_right_is_a_failure_except_for_the_bell(right: Right) -> None:
    seen = facts()
    denied = tuple(Denied(right, queue, "ACCESS_REFUSED") for queue in ("work»t2", "work»t1"))
    one = wrong(replace(seen, amqp=replace(seen.amqp, denied=denied)))[right.value]
    assert one.level is (Level.WARNING if right is Right.LISTEN else Level.FAILURE)
    assert one.subject == "work»t1"
    assert "'work»t1' and 1 more" in one.text
    assert "--print-setup" in one.text


@pytest.mark.parametrize("key", ["message-ttl", "expires", "max-length", "max-length-bytes"])
def test_a_policy_that_drops_what_waits_is_named_with_an_example(key: str) -> None:
    bad = wrong(with_policy(**{key: 1_000_000}))
    assert bad["policy_drops"].subject == "work»t1"
    for words in ("'short'", "'work»t1'", key):
        assert words in bad["policy_drops"].text


def test_one_policy_is_one_finding_however_many_queues_it_holds_for() -> None:
    queues = [QueueInfo(f"work»t{number}") for number in range(50)]
    seen = facts(WORK, *queues, policies=(PolicyInfo("short", "»", {"message-ttl": 5}),))
    assert [one.code for one in found(seen) if one.level is Level.WARNING] == ["policy_drops"]
    assert "and 49 more" in wrong(seen)["policy_drops"].text


def test_an_operator_policy_counts_beside_another_policy() -> None:
    policies = (PolicyInfo("fine", "", priority=9), PolicyInfo("op", "", {"expires": 5}, operator=True))
    assert "operator policy 'op'" in wrong(facts(policies=policies))["policy_drops"].text


def test_a_policy_that_another_one_displaces_does_not_count() -> None:
    policies = (PolicyInfo("short", "", {"expires": 5}), PolicyInfo("fine", "»", priority=1))
    assert not wrong(facts(policies=policies))


@pytest.mark.parametrize(
    ("pattern", "apply_to"), [("^work$", "all"), ("^[^»]*$", "all"), ("", "exchanges"), ("", "quorum_queues")]
)
def test_a_policy_that_is_not_for_staging_queues_does_not_count(pattern: str, apply_to: str) -> None:
    assert not wrong(facts(policies=(PolicyInfo("short", pattern, {"expires": 5}, apply_to),)))


@pytest.mark.parametrize("pattern", [r"^work\xc2\xbb", "^work..t1$"])
def test_patterns_are_compared_with_bytes_as_the_broker_does(pattern: str) -> None:
    assert set(wrong(with_policy(pattern=pattern, expires=5))) == {"policy_drops"}


def test_a_policy_for_classic_queues_counts_for_those() -> None:
    policies = (PolicyInfo("short", "»", {"expires": 5}, "classic_queues"),)
    assert set(wrong(facts(policies=policies))) == {"policy_drops"}


def test_a_full_queue_that_refuses_drops_nothing() -> None:
    assert not wrong(with_policy(pattern="»", max_length=5, overflow="reject-publish"))
    assert not wrong(facts(QueueInfo("work»t1", arguments={"x-max-length": 5, "x-overflow": "reject-publish"}), WORK))


def test_the_overflow_of_the_queue_goes_before_that_of_the_policy() -> None:
    queue = QueueInfo("work»t1", arguments={"x-overflow": "drop-head"})
    assert set(wrong(with_policy(queue, "»", max_length=5, overflow="reject-publish"))) == {"policy_drops"}


def test_a_dead_letter_exchange_alone_drops_nothing() -> None:
    assert not wrong(with_policy(dead_letter_exchange=""))


@pytest.mark.parametrize("key", ["x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes"])
def test_a_staging_queue_declared_with_a_limit_is_a_warning(key: str) -> None:
    bad = wrong(facts(WORK, QueueInfo("work»t1", arguments={key: 5})))
    assert bad["argument_drops"].subject == "work»t1"
    assert key in bad["argument_drops"].text


def test_a_limit_in_the_configured_arguments_is_a_warning() -> None:
    bad = wrong(facts(), staging={"arguments": {"x-message-ttl": 5}})
    assert bad["argument_drops"].subject == "staging.arguments"


@pytest.mark.parametrize(
    ("version", "arguments", "effective"),
    [("4.3.6", {}, 20), ("4.3.6", {"x-delivery-limit": 5}, 5), ("3.10.8", {"x-delivery-limit": 5}, None),
     ("3.10.8", {"x-delivery-limit": -1}, None)],
)  # fmt: skip
def test_a_quorum_queue_with_a_delivery_limit_is_a_warning(
    version: str, arguments: dict[str, Any], effective: int | None
) -> None:
    queue = QueueInfo("work»t1", "quorum", arguments=arguments, delivery_limit=effective)
    assert set(wrong(facts(WORK, queue, version=version))) == {"delivery_limit"}


@pytest.mark.parametrize(("version", "arguments"), [("4.3.6", {"x-delivery-limit": -1}), ("3.10.8", {})])
def test_a_quorum_queue_without_a_delivery_limit_is_none(version: str, arguments: dict[str, Any]) -> None:
    queue = QueueInfo("work»t1", "quorum", arguments=arguments, delivery_limit=arguments.get("x-delivery-limit"))
    assert not wrong(facts(WORK, queue, version=version))


def test_a_policy_limits_deliveries_even_of_a_queue_that_asked_for_none() -> None:
    queue = QueueInfo("work»t1", "quorum", arguments={"x-delivery-limit": -1}, delivery_limit=5)
    assert set(wrong(with_policy(queue, delivery_limit=5))) == {"policy_drops"}


def test_queues_that_are_left_alone_are_told() -> None:
    odd = (QueueInfo("»x"), QueueInfo("work»s", "stream"), QueueInfo("work»e", exclusive=True))
    told = [one for one in found(facts(WORK, STAGED, *odd)) if one.code == "staging_odd"]
    assert [one.subject for one in told] == [one.name for one in odd]


def test_queues_that_do_not_keep_what_they_hold_are_warnings() -> None:
    fleeting = (QueueInfo("work»a", auto_delete=True), QueueInfo("work»b", durable=False))
    bad = wrong(facts(WORK, *fleeting))
    assert {code: one.subject for code, one in bad.items()} == {
        "staging_auto_delete": "work»a",
        "staging_transient": "work»b",
    }


def test_targets_that_are_not_served_are_not_checked() -> None:
    others = (QueueInfo("else»t1", auto_delete=True), QueueInfo("else»s", "stream"))
    assert not wrong(facts(WORK, STAGED, *others), distributor={"serve": ["work"]})


def test_another_consumer_of_a_staging_queue_is_a_warning_and_our_own_is_not() -> None:
    ours, other = ConsumerInfo("work»t1", "raquo", 10), ConsumerInfo("work»t1", "ctag1", 10)
    assert not wrong(facts(consumers=(ours,)))
    assert wrong(facts(consumers=(ours, other)))["other_consumer"].subject == "work»t1"


def test_a_missing_target_is_a_warning_unless_it_is_to_be_declared() -> None:
    assert wrong(facts(STAGED))["target_missing"].subject == "work"
    assert not wrong(facts(STAGED), defaults={"declare_missing": True})


def test_a_stream_as_target_is_a_warning() -> None:
    assert set(wrong(facts(QueueInfo("work", "stream"), STAGED))) == {"stream_target"}


def test_a_target_that_drops_its_head_below_the_configured_length_is_a_warning() -> None:
    target = QueueInfo("work", arguments={"x-max-length": 500})
    assert "max_length = 500" in wrong(facts(target, STAGED))["target_drops"].text
    assert not wrong(facts(target, STAGED), defaults={"max_length": 500})


def test_the_length_of_a_target_may_come_from_a_policy() -> None:
    policies = (PolicyInfo("short", "^work$", {"max-length": 10}),)
    assert set(wrong(facts(policies=policies))) == {"target_drops"}


def test_a_target_that_refuses_what_is_too_much_is_fine() -> None:
    target = QueueInfo("work", arguments={"x-max-length": 5, "x-max-length-bytes": 5, "x-overflow": "reject-publish"})
    assert not wrong(facts(target, STAGED))


def test_a_target_with_a_limit_in_bytes_is_a_warning() -> None:
    target = QueueInfo("work", arguments={"x-max-length-bytes": 1 << 20})
    assert set(wrong(facts(target, STAGED))) == {"target_drops_bytes"}


def test_workers_without_a_prefetch_limit_are_a_warning() -> None:
    consumers = (ConsumerInfo("work", "a", 0), ConsumerInfo("work", "b", 5), ConsumerInfo("elsewhere", "c", 0))
    bad = wrong(facts(consumers=consumers))
    assert set(bad) == {"unlimited_prefetch"}
    assert "1 of the workers of 'work'" in bad["unlimited_prefetch"].text


def test_weights_that_a_policy_ignores_are_a_warning() -> None:
    rules: dict[str, Any] = {"weight": [{"tenant": "t1", "weight": 5}]}
    assert set(wrong(facts(), defaults={"policy": "equal"}, **rules)) == {"weights_ignored"}
    assert not wrong(facts(), **rules)
    assert not wrong(facts(), defaults={"policy": "equal"}, weight=[{"tenant": "other", "weight": 5}])


def test_limits_of_the_virtual_host_that_are_nearly_reached_are_warnings() -> None:
    for limits in (VhostLimits(max_queues=2), VhostLimits(max_connections=3)):
        assert set(wrong(facts(limits=limits))) == {"vhost_limit"}
    assert not wrong(facts(limits=VhostLimits(100, 100)))


def test_what_could_not_be_asked_is_a_warning() -> None:
    assert wrong(facts(untold=("alarms could not be asked",)))["not_checked"].level is Level.WARNING


def test_the_worst_comes_first() -> None:
    seen = replace(with_policy(expires=5), amqp=AmqpFacts(problem=Problem(Trouble.REFUSED, "wrong password")))
    levels = [one.level for one in found(seen)]
    assert levels == sorted(levels, key=[Level.FAILURE, Level.WARNING, Level.OK].index)


# Rights


def permits(expression: str, name: str) -> bool:
    return re.search(expression.encode(), name.encode()) is not None


def of(**sections: Any) -> Config:
    return Config.model_validate(sections)


def test_a_distributor_reads_staging_queues_and_not_targets() -> None:
    rights = distributor_rights(of(distributor={"serve": ["worker-*", "bücher"]}))
    for name in ("worker-a»t1/w1", "bücher»ß", "raquo.wake", "amq.gen-abc"):
        assert permits(rights.read, name)
    for name in ("worker-a", "other»t1", "worker-a»", "amq.default"):
        assert not permits(rights.read, name)


def test_a_distributor_writes_to_the_default_exchange_and_its_targets() -> None:
    rights = distributor_rights(of(distributor={"serve": ["worker-*"]}))
    assert all(permits(rights.write, name) for name in ("amq.default", "amq.gen-abc", "worker-a"))
    assert not any(permits(rights.write, name) for name in ("amq.topic", "other", "my-worker-a", "raquo.wake"))


def test_a_distributor_configures_only_what_is_its_own() -> None:
    rights = distributor_rights(of())
    assert all(permits(rights.configure, name) for name in ("raquo.wake", "raquo.parked", "amq.gen-abc"))
    assert not any(permits(rights.configure, name) for name in ("work", "work»t1", "raquox"))


def test_it_configures_more_where_the_configuration_asks_for_it() -> None:
    serve = {"serve": ["work"]}
    declares = distributor_rights(of(distributor=serve, target=[{"target": "work", "declare_missing": True}]))
    reaps = distributor_rights(of(distributor=serve, staging={"idle_ttl": "1h"}))
    assert (permits(declares.configure, "work"), permits(declares.configure, "work»t1")) == (True, False)
    assert (permits(reaps.configure, "work"), permits(reaps.configure, "work»t1")) == (False, True)


def test_a_publisher_may_not_read() -> None:
    rights = publisher_rights(of(router={"targets": ["work-?", "x[!a]"]}))
    assert all(permits(rights.configure, name) for name in ("work-1»t", "work-ü»t", "xb»t"))
    assert not any(permits(rights.configure, name) for name in ("work-»t", "xa»t", "work-1"))
    assert (permits(rights.write, "raquo.wake"), permits(rights.read, "work-1»t")) == (True, False)


def test_the_setup_has_no_password_and_only_plain_characters() -> None:
    lines = setup_lines(of(broker={"url": "amqp://mover:s3cret@h/my%20vhost"}, distributor={"serve": ["bücher"]}))
    text = "\n".join(lines)
    assert "s3cret" not in text
    assert text.isascii()
    assert 'rabbitmqctl add_user mover "${RAQUO_PASSWORD:?}"' in text
    assert "--vhost 'my vhost'" in text
    assert "impersonator" in text


def test_nobody_is_told_to_make_a_user_called_guest() -> None:
    assert "rabbitmqctl set_user_tags raquo management" in setup_lines(of())


def test_the_lines_in_the_deployment_guide_are_those_that_are_printed() -> None:
    globs = ["worker-*"]
    guide = (Path(__file__).parents[2] / "deploy/rabbitmq/README.md").read_text(encoding="utf-8").splitlines()
    printed = [line for line in setup_lines(of(distributor={"serve": globs}, router={"targets": globs})) if line]
    assert [line for line in guide if line.startswith("rabbitmqctl")] == [line for line in printed if line[0] != "#"]


def test_every_code_is_explained_in_the_reference() -> None:
    reference = (Path(__file__).parents[2] / "docs/check.md").read_text(encoding="utf-8")
    sources = [(Path(checking.__file__).parent / f"{name}.py").read_text(encoding="utf-8") for name in MODULES]
    codes = {*re.findall(r'Finding\(\s*"(\w+)"', "".join(sources)), *(right.value for right in Right)}
    codes |= {f"management_{trouble}" for trouble in Trouble} | {"amqp_unreachable", "amqp_refused"}
    assert {code for code in codes if f"`{code}`" not in reference} == set()
