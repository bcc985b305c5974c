"""What the packages promise to have: a name that goes, or comes unasked, is noticed here."""

import importlib
import inspect

import pytest

from raquo.mutators import RaquoError

PUBLIC: dict[str, list[str]] = {
    "raquo": ["Decision", "Message", "Publisher", "QueueNameMutator", "RaquoError", "Router", "StagingName"],
    "raquo.router": [
        "BadConfiguration",
        "Decision",
        "PublishError",
        "PublishRefused",
        "PublishTimeout",
        "Publisher",
        "Router",
        "StagingFull",
        "Unroutable",
        "UnsupportedHeader",
    ],
    "raquo.mutators": [
        "BadMessage",
        "BadMutator",
        "BadName",
        "By",
        "Chain",
        "HeaderMutator",
        "JsonFieldMutator",
        "LaneMutator",
        "Message",
        "NameTooLong",
        "Percent",
        "QueueNameMutator",
        "RaquoError",
        "ServiceClassMutator",
        "StagingName",
        "TenantMutator",
        "WhenTarget",
        "WorkflowMutator",
        "named",
        "typed",
    ],
    "raquo.broker": [
        "AccessRefused",
        "BadUrl",
        "BrokerError",
        "BrokerUnreachable",
        "BrokerUrl",
        "ChannelClosed",
        "ConnectionLost",
        "LocalBrokerError",
        "ManagementError",
        "MissingExtra",
        "PublishError",
        "PublishRefused",
        "PublishTimeout",
        "StagingFull",
        "Tls",
        "Unroutable",
        "UntestedPika",
    ],
}


@pytest.mark.parametrize("package", PUBLIC)
def test_a_package_exports_what_it_promises_and_no_more(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == PUBLIC[package]
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("package", PUBLIC)
def test_every_class_and_function_says_what_it_is(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        exported = getattr(module, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert exported.__doc__, name


def test_every_error_is_a_raquo_error_with_words_of_its_own() -> None:
    errors = importlib.import_module("raquo.broker.errors")
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        assert issubclass(kind, RaquoError)
        assert kind.__doc__


def test_the_publishers_parameters_are_these() -> None:
    publisher = importlib.import_module("raquo").Publisher
    shown = {name: str(inspect.signature(getattr(publisher, name))) for name in ("publish", "publish_many")}
    assert list(inspect.signature(publisher).parameters) == [
        "url", "router", "management_url", "queue_type", "arguments", "stamp", "max_in_flight", "name"
    ]  # fmt: skip
    assert "timeout: float = 10.0, persistent: bool = True, **properties: Any) -> " in shown["publish"]
    assert "timeout: float = 10.0, persistent: bool = True) -> int" in shown["publish_many"]
