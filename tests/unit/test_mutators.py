"""Each mutator by itself, messages, and mutators by name."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raquo import mutators
from raquo.mutators import (
    BadMessage,
    BadMutator,
    BadName,
    By,
    HeaderMutator,
    JsonFieldMutator,
    LaneMutator,
    Message,
    Percent,
    QueueNameMutator,
    ServiceClassMutator,
    StagingName,
    TenantMutator,
    WhenTarget,
    WorkflowMutator,
    named,
)
from raquo.mutators.globs import matcher
from raquo.mutators.message import PROPERTIES
from raquo.mutators.text import as_text

START = StagingName("t")


class Tier(str, Enum):  # noqa: UP042 (its str() is its name, not its value)
    GOLD = "gold"


class Level(IntEnum):
    ONE = 1


def with_headers(**headers: Any) -> Message:
    return Message(headers={name.replace("_", "-"): value for name, value in headers.items()})


def made(mutator: QueueNameMutator, message: Message, start: StagingName = START) -> str:
    return str(mutator(start, message))


def never(name: StagingName, message: Message) -> StagingName:
    raise AssertionError("this mutator must not run")


def test_the_public_names_are_these() -> None:
    assert sorted(mutators.__all__) == [
        "BadMessage", "BadMutator", "BadName", "By", "Chain", "HeaderMutator", "JsonFieldMutator",
        "LaneMutator", "Message", "NameTooLong", "Percent", "QueueNameMutator", "RaquoError",
        "ServiceClassMutator", "StagingName", "TenantMutator",
        "WhenTarget", "WorkflowMutator", "named", "typed",
    ]  # fmt: skip
    assert all(hasattr(mutators, name) for name in mutators.__all__)


def test_the_tenant_comes_from_its_header() -> None:
    assert made(TenantMutator(), with_headers(tenant="t1")) == "t»t1"


def test_the_tenant_may_come_from_another_header_or_a_property() -> None:
    message = Message(headers={"customer": "c1"}, app_id="shop")
    assert made(TenantMutator("customer"), message) == "t»c1"
    assert made(TenantMutator(property="app_id"), message) == "t»shop"
    assert made(TenantMutator(property="user_id"), message) == "t"


def test_a_property_that_does_not_exist_is_refused_when_the_mutator_is_made() -> None:
    with pytest.raises(BadMutator, match="'appid' is no property"):
        TenantMutator(property="appid")
    with pytest.raises(BadMutator, match="name is text"):
        HeaderMutator("")


def test_the_workflow_goes_behind_the_tenant() -> None:
    message = with_headers(tenant="t1", workflow="w1")
    assert made(WorkflowMutator(), message, StagingName("t", ("t1",))) == "t»t1/w1"


def test_a_header_that_is_not_there_adds_nothing() -> None:
    assert HeaderMutator("region")(START, with_headers(tenant="t1")) is START


def test_a_function_of_the_message_gives_the_discriminator() -> None:
    assert made(By(lambda message: len(message.body)), Message(b"abc")) == "t»3"


@pytest.mark.parametrize(
    ("path", "body", "queue"),
    [
        ("customer.id", '{"customer": {"id": 17}}', "t»17"),
        ("customer", '{"customer": "Müller/Söhne"}', "t»Müller%2FSöhne"),
        ("orders.1.by", '{"orders": [{}, {"by": "x"}]}', "t»x"),
        ("orders.2.by", '{"orders": [{}, {"by": "x"}]}', "t"),
        ("orders.by", '{"orders": [{}]}', "t"),
        ("a.b.c", '{"a": {"b": "text"}}', "t"),
        ("a", '{"a": null}', "t"),
        ("a", '{"a": true}', "t»true"),
    ],
)
def test_a_dotted_path_leads_into_a_json_body(path: str, body: str, queue: str) -> None:
    assert made(JsonFieldMutator(path), Message(body)) == queue


@pytest.mark.parametrize("body", [b"", b"no json", b'{"a": {"b": 1}}', b"\xff"])
def test_a_body_without_a_value_raises(body: bytes) -> None:
    with pytest.raises((ValueError, BadName)):
        JsonFieldMutator("a")(START, Message(body))


@pytest.mark.parametrize("path", ["", ".", "a..b", "a."])
def test_a_path_with_a_hole_is_refused(path: str) -> None:
    with pytest.raises(BadMutator, match=r"customer\.id"):
        JsonFieldMutator(path)


def test_the_service_class_is_marked_at_the_end() -> None:
    name = StagingName("t", ("t1",))
    assert made(ServiceClassMutator(), with_headers(service_class="sync"), name) == "t»t1/@sync"
    assert made(ServiceClassMutator(), with_headers(service_class=b"async"), name) == "t»t1/@async"
    assert ServiceClassMutator()(name, Message()) is name


def test_another_service_class_raises() -> None:
    with pytest.raises(BadName, match="sync or async"):
        ServiceClassMutator()(START, with_headers(service_class="fast"))


def test_a_fairness_key_leads_to_the_lane() -> None:
    name = StagingName("t", ("t1",))
    assert made(LaneMutator(), with_headers(fairness_key="k"), name) == "t»*"
    assert made(LaneMutator(), with_headers(fairness_key=0), name) == "t»*"
    assert LaneMutator()(name, with_headers(fairness_key="")) is name
    assert LaneMutator()(name, Message()) is name


def test_a_mutator_runs_for_matching_targets_only() -> None:
    mutator = WhenTarget("worker-*", "tenant")
    assert made(mutator, with_headers(tenant="t1"), StagingName("worker-1")) == "worker-1»t1"
    assert made(WhenTarget("worker-*", never), Message(), StagingName("Worker-1")) == "Worker-1"
    assert repr(mutator) == "WhenTarget('worker-*', TenantMutator(header='tenant', property=None))"


@given(st.text(min_size=1))
def test_a_hundred_per_cent_are_all_and_nought_are_none(key: str) -> None:
    message = Message(headers={"tenant": key})
    assert Percent(100, by="tenant", mutator=By(lambda _: "in"))(START, message).tenant == "in"
    assert Percent(0, never, by="tenant")(START, message) is START


def test_about_ten_in_a_hundred_keys_are_in_and_stay_in() -> None:
    messages = [with_headers(tenant=f"tenant-{number}") for number in range(5_000)]
    ten, twenty = (Percent(part, TenantMutator(), by="tenant") for part in (10, 20))
    inside = [message for message in messages if ten(START, message) is not START]
    assert 400 < len(inside) < 600
    assert all(twenty(START, message) is not START for message in inside)


def test_the_same_keys_are_in_in_every_process() -> None:
    script = (
        "from raquo.mutators import *; p = Percent(50, TenantMutator(), by='tenant'); s = StagingName('t');"
        "print([n for n in range(20) if p(s, Message(headers={'tenant': str(n)})) is not s])"
    )
    command = [sys.executable, "-c", script]
    first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
    assert first == second


def test_a_message_without_a_key_is_not_in() -> None:
    assert Percent(100, never, by="tenant")(START, Message()) is START
    assert Percent(100, never, by=lambda message: message.app_id)(START, Message()) is START


@pytest.mark.parametrize("part", [-1, 101, "10", float("nan")])
def test_a_part_that_is_no_percentage_is_refused(part: Any) -> None:
    with pytest.raises(BadMutator, match="from 0 to 100"):
        Percent(part, TenantMutator(), by="tenant")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("t1", "t1"),
        (Tier.GOLD, "gold"),
        (b"t\xc3\xa4", "tä"),
        (bytearray(b"a"), "a"),
        (memoryview(b"a"), "a"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (Level.ONE, "1"),
        (-17, "-17"),
        (1.5, "1.5"),
        (2.0, "2.0"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
    ],
)
def test_a_header_of_any_kind_has_one_text(value: object, text: str) -> None:
    assert as_text(value) == text
    assert type(as_text(value)) is str


@pytest.mark.parametrize("value", [b"\xff", [], {}, object()])
def test_a_value_without_text_is_refused_in_words(value: object) -> None:
    with pytest.raises(BadName, match="no text to name a queue by"):
        HeaderMutator("tenant")(START, with_headers(tenant=value))


def test_globs_are_exact_about_case_and_cover_the_whole_name() -> None:
    matches = matcher(["worker-*", "a?", "[xy]1"])
    assert [name for name in ("worker-", "worker-\n1", "ab", "x1") if not matches(name)] == []
    assert [name for name in ("Worker-1", "my-worker-1", "a", "abc", "z1") if matches(name)] == []
    assert not matcher([])("anything")


@pytest.mark.parametrize(
    ("text", "mutator"),
    [
        ("tenant", TenantMutator()),
        ("workflow", WorkflowMutator()),
        ("service-class", ServiceClassMutator()),
        ("fairness-key", LaneMutator()),
        ("x-customer", HeaderMutator("x-customer")),
        ("raquo.mutators:TenantMutator", TenantMutator()),
        (f"{__name__}:never", never),
    ],
)
def test_a_mutator_has_a_name(text: str, mutator: QueueNameMutator) -> None:
    assert named(text) == mutator


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a header's name is text"),
        (":x", "write module:attribute"),
        ("x:", "write module:attribute"),
        ("no.such.module:x", "cannot load the mutator no.such.module:x: ModuleNotFoundError"),
        ("raquo.mutators:Nobody", "AttributeError"),
        ("raquo.mutators.names:MARK", "cannot be called"),
        ("raquo.mutators.names:SERVICE_CLASSES", "cannot be called"),
        ("raquo.mutators:HeaderMutator", "cannot be made without settings .* name an instance"),
    ],
)
def test_a_bad_name_of_a_mutator_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(BadMutator, match=words) as caught:
        named(text)
    assert "\n" not in str(caught.value)


def test_a_message_has_all_properties_of_amqp() -> None:
    given = {name: f"<{name}>" for name in PROPERTIES if name != "headers"}
    message = Message(b"", {"a": 1}, **given)
    assert len(PROPERTIES) == 14
    assert {name: getattr(message, name) for name in given} == given
    assert message.headers == {"a": 1}
    assert Message().priority is None


@pytest.mark.parametrize(
    ("name", "near"),
    [("corelation_id", "correlation_id"), ("contentType", "content_type"), ("qqq", "content_type or")],
)
def test_an_unknown_property_is_refused_with_the_nearest_right_ones(name: str, near: str) -> None:
    with pytest.raises(BadMessage, match=f"'{name}' is no property of a message: did you mean .*{near}"):
        Message(b"", None, **{name: "x"})


@pytest.mark.parametrize("body", ["ä", "ä".encode(), bytearray("ä".encode()), memoryview("ä".encode())])
def test_a_body_is_bytes_or_text(body: Any) -> None:
    assert Message(body).body == b"\xc3\xa4"


@pytest.mark.parametrize("make", [lambda: Message({"a": 1}), lambda: Message(b"", ["tenant"])])  # type: ignore[arg-type]
def test_another_body_or_other_headers_are_refused(make: Callable[[], Message]) -> None:
    with pytest.raises(BadMessage, match="not a"):
        make()


def test_a_message_is_frozen_and_keeps_the_headers_it_was_given() -> None:
    headers = {"tenant": "t1"}
    message = Message(b"", headers, priority=3)
    headers["tenant"] = "t2"
    assert message.headers == {"tenant": "t1"}
    with pytest.raises(TypeError):
        message.headers["tenant"] = "t3"  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        message.body = b"x"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="no 'colour'"):
        _ = message.colour


def test_a_message_can_be_pickled() -> None:
    message = Message(b"x", {"a": 1}, priority=3)
    assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301
