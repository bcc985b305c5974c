"""A mistake in the configuration, as one line: key, value, what was expected, and where it stands.

    defaults.policy = 'fair': expected one of weighted, equal, or module:attribute of your own (in raquo.toml)

Rules are counted from 1: `weight.2.tenant` is the tenant of the second `[[weight]]`. What may be a password is not
shown, and neither is anything read from a file that a variable names: it is there because it is secret.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from raquo.distributor.config import Config
from raquo.distributor.config_keys import RULES, field_of, model_of, setting_of
from raquo.distributor.config_setting import Setting, mask_url

__all__ = ["DEFAULT", "mistake", "near"]

DEFAULT = "default"
_NOTHING = object()
_LONGEST = 120
_SECRETIVE = re.compile(r"pass|pw|secret|token|cred|url|key", re.IGNORECASE)
_HIDDEN = Setting("", mask=lambda _: "***")

Path = tuple[str | int, ...]


def mistake(error: ValidationError, values: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    """The first thing that is wrong, in a line. An unknown key comes first: it is often why another is missing."""
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    path = _path(first["loc"], first.get("ctx", {}).get("key"))
    value = _value(path, values)
    origin = _origin(path, origins)
    if first["type"] == "extra_forbidden":
        return _sentence(_dotted(path), _shown_of_unknown(path, value), _known_instead(path), origin)
    shown = "***" if origin.endswith("_FILE") else _shown(value, _setting(path))
    return _sentence(_dotted(path), shown, f"expected {_expected(first, path)}", origin)


def _sentence(key: str, shown: str, words: str, origin: str) -> str:
    """The form that every mistake has."""
    return f"{key} = {shown}: {words} ({origin})"


def near(word: str, words: Sequence[str]) -> str:
    """The words that were perhaps meant; all of them if none is near."""
    return " or ".join(get_close_matches(word, words) or words)


def _path(loc: Path, key: str | None) -> Path:
    if key is None:
        return loc
    return (*loc, *(int(part) - 1 if part.isdigit() else part for part in key.split(".")))


def _dotted(path: Path) -> str:
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path)


def _value(path: Path, values: Mapping[str, Any]) -> object:
    found: Any = values
    for part in path:
        try:
            found = found[part]
        except (KeyError, IndexError, TypeError):
            return _default(path)
    return found


def _default(path: Path) -> object:
    field = field_of(str(path[0]), str(path[-1]))
    if field is None or field.is_required():
        return _NOTHING
    return _setting(path).write(field.get_default(call_default_factory=True))


def _origin(path: Path, origins: Mapping[str, str]) -> str:
    """Where the key stands, or the rule or section around it."""
    around = (_dotted(path[:length]) for length in range(len(path), 0, -1))
    return next((origins[key] for key in around if key in origins), DEFAULT)


def _setting(path: Path) -> Setting:
    return setting_of(str(path[0]), str(path[-1]))


def _expected(error: Any, path: Path) -> str:
    if error["type"] == "expected":
        return str(error["ctx"]["words"])
    if error["type"] == "missing":
        return _setting(path).expected
    return f"tables [[{path[0]}]]" if path[0] in RULES else f"a section [{path[0]}]"


def _known_instead(path: Path) -> str:
    if len(path) == 1:
        return f"no such section, expected {near(str(path[0]), [*Config.model_fields])}"
    return f"no such setting, expected {near(str(path[-1]), [*model_of(str(path[0])).model_fields])}"


def _shown_of_unknown(path: Path, value: object) -> str:
    """The value of a key that does not exist, unless it looks as if it were meant to be a secret one."""
    if isinstance(value, Mapping | list):
        return "{…}" if isinstance(value, Mapping) else "[…]"
    meant = " ".join((str(path[-1]), _known_instead(path))) if len(path) > 1 else ""
    return _shown(value, _HIDDEN if _SECRETIVE.search(meant) else Setting(""))


def _shown(value: object, setting: Setting) -> str:
    if value is _NOTHING:
        return "nothing"
    text = repr(_without_passwords(setting.shown(value)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _without_passwords(value: object) -> object:
    """A URL may also stand where none belongs."""
    if isinstance(value, Mapping):
        return {key: _without_passwords(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_passwords(item) for item in value]
    return mask_url(value) if isinstance(value, str) and "@" in value else value
