"""Which sections and keys there are, read off the models, so that nothing is listed twice."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from raquo.distributor.config import Config, Section
from raquo.distributor.config_setting import Setting

__all__ = ["RULES", "SECTIONS", "entries", "field_of", "model_of", "setting_of"]

_ANY = Setting("a value")

RULES = tuple(name for name, field in Config.model_fields.items() if get_origin(field.annotation) is tuple)
"""What is written as `[[name]]`, any number of times."""

SECTIONS = tuple(name for name in Config.model_fields if name not in RULES)
"""What is written as `[name]`."""


def model_of(name: str) -> type[Section]:
    """The model of a section, or of one rule."""
    annotation: Any = Config.model_fields[name].annotation
    model: type[Section] = get_args(annotation)[0] if name in RULES else annotation
    return model


def field_of(name: str, key: str) -> FieldInfo | None:
    """What the model says about a key; None where there is no such section or key."""
    return model_of(name).model_fields.get(key) if name in Config.model_fields else None


def setting_of(name: str, key: str) -> Setting:
    """How a key's value is read and shown; for a key that does not exist, as anything."""
    field = field_of(name, key)
    if field is None:
        return _ANY
    inner = (note for part in get_args(field.annotation) for note in getattr(part, "__metadata__", ()))
    return next((note for note in [*field.metadata, *inner] if isinstance(note, Setting)), _ANY)


def entries(config: Config) -> Iterator[tuple[str, Setting, object]]:
    """Every key, how it is shown, and its value; of rules, what they say, counted from 1."""
    for name in Config.model_fields:
        part = getattr(config, name)
        if name in SECTIONS:
            for key in model_of(name).model_fields:
                yield f"{name}.{key}", setting_of(name, key), getattr(part, key)
            continue
        for number, rule in enumerate(part, 1):
            for key in (key for key in model_of(name).model_fields if key in rule.model_fields_set):
                yield f"{name}.{number}.{key}", setting_of(name, key), getattr(rule, key)
