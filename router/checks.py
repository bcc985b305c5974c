"""What a setting may be, by hand: a publisher's process has the standard library and nothing more.

A check takes a value from the file and returns it in the form the program uses, or raises `ValueError` with
what was expected. `from_text` does the step before for the environment, where every value is text: lists are
comma-separated or JSON, tables are JSON, truth is `true` or `false`.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Check", "duration_or_never", "one_of", "table", "text", "texts", "truth", "urls"]

_DURATION = re.compile(r"\d+(\.\d+)?(ms|s|m|h|d)")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Check:
    """How one setting is checked, and how it is read from text."""

    check: Callable[[Any], object]
    from_text: Callable[[str], object] = str


def one_of(*choices: str) -> Check:
    """One of these words."""

    def check(value: object) -> object:
        return _expect(value in choices, value, f"one of {', '.join(choices)}")

    return Check(check)


def urls(*schemes: str) -> Check:
    """One URL or a list of them, tried in turn; always a tuple afterwards."""
    begins = " or ".join(f"{scheme}://" for scheme in schemes)
    expected = f"a URL that begins with {begins}, or a list of such URLs"

    def check(value: object) -> object:
        several = value if isinstance(value, list) else [value]
        fits = bool(several) and all(_is_url(url, schemes) for url in several)
        return tuple(_expect(fits, several, expected))

    return Check(check, lambda given: _json(given) if given.startswith("[") else given)


def _texts(value: Any) -> object:
    fits = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    return tuple(_expect(fits and bool(value), value, "a list of texts, at least one"))


def _text(value: object) -> object:
    return _expect(isinstance(value, str) and bool(value), value, "a text")


def _truth(value: object) -> object:
    return _expect(isinstance(value, bool), value, "true or false")


def _table(value: object) -> object:
    return _expect(isinstance(value, dict), value, "a table of names and values")


def _duration_or_never(value: object) -> object:
    fits = isinstance(value, str) and (value == "never" or bool(_DURATION.fullmatch(value)))
    return _expect(fits, value, '"never", or a duration such as "30m" or "7d"')


texts = Check(_texts, lambda given: _json(given) if given.startswith("[") else _split(given))
text = Check(_text)
truth = Check(_truth, lambda given: _TRUTHS.get(given.lower(), given))
table = Check(_table, lambda given: _json(given))
duration_or_never = Check(_duration_or_never)


def _expect(fits: bool, value: Any, expected: str) -> Any:
    if not fits:
        raise ValueError(expected)
    return value


def _is_url(value: object, schemes: tuple[str, ...]) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return urlsplit(value).scheme in schemes and "://" in value and urlsplit(value).port != 0
    except ValueError:  # a port that is no number
        return False


def _split(given: str) -> list[str]:
    return [item.strip() for item in given.split(",") if item.strip()]


def _json(given: str) -> object:
    try:
        return json.loads(given)
    except ValueError:
        return given
