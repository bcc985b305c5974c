"""Mutators by name, as configuration gives them: a header's name, or `module:attribute`.

The headers that shipped mutators read by default stand for those mutators; any other name adds that header.
"""

from collections.abc import Callable
from importlib import import_module
from operator import attrgetter

from raquo.mutators.errors import BadMutator, RaquoError
from raquo.mutators.header import HeaderMutator
from raquo.mutators.lane import LaneMutator
from raquo.mutators.mutator import QueueNameMutator
from raquo.mutators.service_class import ServiceClassMutator
from raquo.mutators.tenant import TenantMutator
from raquo.mutators.workflow import WorkflowMutator

__all__ = ["mutator_of", "named"]

_SHIPPED: dict[str, Callable[[], QueueNameMutator]] = {
    "tenant": TenantMutator,
    "workflow": WorkflowMutator,
    "service-class": ServiceClassMutator,
    "fairness-key": LaneMutator,
}


def named(text: str) -> QueueNameMutator:
    """The mutator that a name stands for; `BadMutator`, in one line, where there is none."""
    if ":" in text:
        return _callable(_imported(text), text)
    make = _SHIPPED.get(text)
    return make() if make else HeaderMutator(text)


def mutator_of(thing: object) -> QueueNameMutator:
    """A mutator from a name, a callable, or a class that needs no settings."""
    return named(thing) if isinstance(thing, str) else _callable(thing, repr(thing))


def _callable(thing: object, label: str) -> QueueNameMutator:
    made = _instance(thing, label) if isinstance(thing, type) else thing
    if not callable(made):
        raise BadMutator(f"{label} cannot be called: give a function (name, message) -> name")
    return made


def _imported(text: str) -> object:
    module, _, attribute = text.partition(":")
    if not module or not attribute:
        raise BadMutator(f"{text!r} names no mutator: write module:attribute, or a header's name")
    try:
        return attrgetter(attribute)(import_module(module))
    except Exception as error:  # whatever a user's module raises while it is imported
        raise BadMutator(f"cannot load the mutator {text}: {_one_line(error)}") from error


def _instance(made_from: type, label: str) -> object:
    try:
        return made_from()
    except RaquoError:
        raise
    except Exception as error:
        words = f"{label} is a class that cannot be made without settings ({_one_line(error)})"
        raise BadMutator(f"{words}: name an instance of it instead") from error


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
