"""The configuration as text: a commented file of all defaults, and values as a file has them."""

import json
from collections.abc import Iterator
from textwrap import wrap

from pydantic.fields import FieldInfo

from raquo.distributor.config import Config
from raquo.distributor.config_keys import SECTIONS, model_of, setting_of

__all__ = ["default_file", "toml"]

_HEAD = """\
# The configuration of Raquo. Everything here is as it would be without this file: keep what you change.
# Over it go variables such as RAQUO_BROKER__URL (or RAQUO_BROKER__URL_FILE, a file that holds the value), then flags.
"""

_RULES = """\
# Rules, as many as you like, from top to bottom. Patterns are shell globs, or re:… with a regular expression.

# Targets that differ from [defaults], key by key; the first rule that says something about a key decides.
# [[target]]
# target = "worker-*"
# max_length = 200

# Weights: of tenants (tenant), of queues within their tenant (workflow, match), at some targets only (target).
# 1 is normal, 0 holds back. The first rule that matches decides.
# [[weight]]
# tenant = "gold-*"
# weight = 5
"""


def default_file() -> str:
    """A file that says all the defaults, and what each of them is for."""
    return "\n".join([_HEAD, *("\n".join(_section(name)) + "\n" for name in SECTIONS), _RULES])


def toml(value: object) -> str:
    """A value in TOML, whose texts, lists and numbers are as in JSON; a table on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _section(name: str) -> Iterator[str]:
    model = model_of(name)
    yield from _comment(model.__doc__ or "")
    yield f"[{name}]"
    for key, field in model.model_fields.items():
        yield from _comment(field.description or "")
        yield _line(name, key, field)


def _line(name: str, key: str, field: FieldInfo) -> str:
    """Where there is no fixed default, or nothing is the default, a comment shows what could be said."""
    if field.examples:
        return f"# {key} = {toml(field.examples[0])}"
    default = getattr(getattr(Config(), name), key)
    return f"{key} = {toml(setting_of(name, key).write(default))}"


def _comment(text: str) -> Iterator[str]:
    yield from wrap(text, 120, initial_indent="# ", subsequent_indent="# ")
