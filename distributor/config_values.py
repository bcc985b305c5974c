"""What a setting may be: the kinds of values that the sections of the configuration are made of.

A kind is pydantic's type with a `Setting` beside it. First come the steps that kinds are made of, then the kinds.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from raquo.distributor.config_setting import Setting, mask_url, same
from raquo.distributor.errors import BadConfiguration
from raquo.distributor.policies import POLICIES, policy_named
from raquo.distributor.rules import REGEX, pattern
from raquo.mutators.names import typed

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_IN_CODE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s\[\]:/@]+)):(\d{1,5})")
_TEXTS = {"type": "array", "items": {"type": "string"}}
_DURATION_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "number"}]}


def seconds_as_text(seconds: float) -> str:
    """A duration as one writes it, in the largest unit that leaves a whole number."""
    thousandths = round(seconds * 1000)
    for unit, size in reversed(_UNITS.items()):
        if thousandths and thousandths % round(size * 1000) == 0:
            return f"{thousandths // round(size * 1000)}{unit}"
    return "0s" if not seconds else f"{seconds:g}s"


def address_as_text(address: tuple[str, int] | None) -> str:
    """A listener's address as one writes it."""
    if address is None:
        return "off"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _number(text: str) -> object:
    """A number where the text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _truth(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _several(text: str) -> object:
    """A list: as JSON, or with commas between."""
    return _json(text) if text.startswith("[") else [item.strip() for item in text.split(",") if item.strip()]


def _one_or_several(text: str) -> object:
    return _json(text) if text.startswith("[") else text


def _as_tuple(value: Any) -> object:
    return tuple(value) if isinstance(value, list) else value


def _globs(value: Any) -> object:
    texts = _as_tuple(value)
    if not isinstance(texts, tuple) or not all(isinstance(text, str) and text for text in texts):
        raise ValueError
    if any(text.startswith(REGEX) for text in texts):
        raise ValueError("shell globs; re:… is for [[target]] and [[weight]]")
    return tuple(map(typed, texts))


def _urls(*schemes: str) -> Callable[[Any], object]:
    def prepare(value: Any) -> object:
        several = (value,) if isinstance(value, str) else _as_tuple(value)
        if not isinstance(several, tuple) or not all(_is_url(url, schemes) for url in several):
            raise ValueError
        if any("@" in url.partition("?")[2] for url in several):  # half a password would pass for a parameter's name
            raise ValueError("a URL in which / ? # @ of a name or password are written as %2F %3F %23 %40")
        return several

    return prepare


def _is_url(value: object, schemes: tuple[str, ...]) -> bool:
    try:
        return isinstance(value, str) and "://" in value and urlsplit(value.strip()).scheme in schemes
    except ValueError:  # brackets that enclose no address
        return False


def _one_or_all(urls: tuple[str, ...]) -> object:
    return urls[0] if len(urls) == 1 else list(urls)


def seconds_of(text: str) -> float | None:
    """How long a duration such as `30m` is; None where it is none."""
    parts = _DURATION.fullmatch(text)
    return float(parts[1]) * _UNITS[parts[2]] if parts else None


def _duration(least: float, most: float) -> Callable[[Any], object]:
    words = f'a duration from {seconds_as_text(least)} to {seconds_as_text(most)}, such as "2s" or "500ms"'

    def prepare(value: Any) -> object:
        seconds = seconds_of(value) if isinstance(value, str) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not least <= seconds <= most:
            raise ValueError(words)
        return float(seconds)

    return prepare


def _duration_or(word: str, least: float, most: float) -> Callable[[Any], object]:
    duration = _duration(least, most)

    def prepare(value: Any) -> object:
        if value is None or value == word:
            return None
        try:
            return duration(value)
        except ValueError as error:
            raise ValueError(f'"{word}", or {error}') from error

    return prepare


def _or_word(word: str) -> Callable[[Any], object]:
    return lambda value: None if value == word else value


def _written_or(word: str, write: Callable[[Any], object] = same) -> Callable[[Any], object]:
    return lambda value: word if value is None else write(value)


def _address(value: Any) -> object:
    if value is None or value == "off" or isinstance(value, tuple):
        return None if value == "off" else value
    parts = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if parts is None or int(parts[3]) > 65535:
        raise ValueError
    return parts[1] or parts[2], int(parts[3])


def _token(value: Any) -> object:
    text = value.get_secret_value() if isinstance(value, SecretStr) else value
    if not isinstance(text, str) or not all("!" <= character <= "~" for character in text):
        raise ValueError
    return SecretStr(text)


def _folder(value: Any) -> object:
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    try:
        return Path(value).expanduser()
    except RuntimeError as error:  # ~somebody who is not there
        raise ValueError from error


def _length(value: Any) -> object:
    if value == "auto":
        raise ValueError("a whole number: auto comes with a later release; give a number")
    return value


def _policy(value: Any) -> object:
    known = f"{', '.join(POLICIES)}, or module:attribute of your own"
    if value in ("least-in-progress", "pass"):
        raise ValueError(f"one of {known}; {value} comes with a later release")
    if not isinstance(value, str) or not (value in POLICIES or _IN_CODE.fullmatch(value)):
        raise ValueError(f"one of {known}")
    try:
        policy_named(value)
    except BadConfiguration as error:
        raise ValueError(f"one of {known}; {error}") from error
    return value


def _transport(value: Any) -> object:
    if value == "shovel":
        raise ValueError("client; shovel comes with a later release")
    return value


def _pattern(value: Any) -> object:
    if not isinstance(value, str) or not value:
        raise ValueError
    try:
        pattern(value)
    except re.error as error:
        raise ValueError(f"a regular expression behind re:, and this is none: {error}") from error
    return value


def _target_pattern(value: Any) -> object:
    return _pattern(typed(value) if isinstance(value, str) else value)


def _regex(value: Any) -> object:
    if not isinstance(value, str) or not value:
        raise ValueError
    try:
        re.compile(typed(value))
    except re.error as error:
        raise ValueError(f"a regular expression, and this is none: {error}") from error
    return typed(value)


def thousandths(weight: float) -> Decimal:
    """A weight in thousandths, exactly as it was written: 0.1 is 100, and not a hair more."""
    return Decimal(repr(weight)) * 1000


def _weight(value: Any) -> object:
    exact = thousandths(value) if type(value) in (int, float) else Decimal(-1)
    if exact.is_nan() or not (exact == 0 or 1 <= exact <= 1_000_000):
        raise ValueError
    if exact % 1:
        raise ValueError("a weight with at most three digits behind the point")
    return float(value)


Text = Annotated[str, Field(strict=True, min_length=1), Setting("a text")]
Truth = Annotated[bool, Field(strict=True), Setting("true or false", _truth)]
Texts = Annotated[
    tuple[Annotated[str, Field(strict=True, min_length=1)], ...],
    Field(min_length=1),
    Setting("a list of texts, at least one", _several, _as_tuple, list),
]
Globs = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    Setting("a list of shell globs, at least one", _several, _globs, list, schema=_TEXTS | {"minItems": 1}),
]
NoneOrGlobs = Annotated[tuple[str, ...], Setting("a list of shell globs", _several, _globs, list, schema=_TEXTS)]
Hosts = Annotated[
    tuple[Annotated[str, Field(strict=True, pattern=r"^[^\s/@]+$")], ...],
    Setting("a list of host names", _several, _as_tuple, list),
]
_URL_SCHEMA = {"anyOf": [{"type": "string"}, _TEXTS]}
AmqpUrls = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    Setting(
        "a URL that begins with amqp:// or amqps://, or a list of such URLs",
        _one_or_several,
        _urls("amqp", "amqps"),
        _one_or_all,
        mask_url,
        _URL_SCHEMA,
    ),
]
HttpUrls = Annotated[
    tuple[str, ...],
    Setting(
        "a URL that begins with http:// or https://, or a list of such URLs",
        _one_or_several,
        _urls("http", "https"),
        _one_or_all,
        mask_url,
        _URL_SCHEMA,
    ),
]
Table = Annotated[dict[str, Any], Setting("a table of names and values", _json)]
DiscoveryPeriod = Annotated[float, Setting("", _number, _duration(0.1, 3600), seconds_as_text, schema=_DURATION_SCHEMA)]
RoundPeriod = Annotated[
    float | None,
    Setting(
        "", _number, _duration_or("auto", 0.001, 60), _written_or("auto", seconds_as_text), schema=_DURATION_SCHEMA
    ),
]
Deadline = Annotated[float, Setting("", _number, _duration(0, 3600), seconds_as_text, schema=_DURATION_SCHEMA)]
IdleTime = Annotated[
    float | None,
    Setting(
        "",
        _number,
        _duration_or("never", 1, 3650 * 86400),
        _written_or("never", seconds_as_text),
        schema=_DURATION_SCHEMA,
    ),
]
Folder = Annotated[Path, Setting("a folder's path", prepare=_folder, write=str, schema={"type": "string"})]
Address = Annotated[
    tuple[str, int] | None,
    Setting(
        '"off", or host:port such as "127.0.0.1:15690" or "[::1]:15690"',
        prepare=_address,
        write=address_as_text,
        schema={"type": "string"},
    ),
]
Token = Annotated[
    SecretStr,
    Setting(
        "a text of visible ASCII characters",
        prepare=_token,
        write=SecretStr.get_secret_value,
        mask=lambda text: "***" if text else "",
        schema={"type": "string"},
    ),
]
_LARGEST = 1_000_000_000
_LENGTH_SCHEMA = {"type": "integer", "minimum": 1, "maximum": _LARGEST}
Length = Annotated[
    int,
    Field(strict=True, ge=1, le=_LARGEST),
    Setting(f"a whole number from 1 to {_LARGEST}", _number, _length, schema=_LENGTH_SCHEMA),
]
LengthOrNone = Annotated[
    Annotated[int, Field(strict=True, ge=1, le=_LARGEST)] | None,
    Setting(
        f'"none", or a whole number from 1 to {_LARGEST}',
        _number,
        _or_word("none"),
        _written_or("none"),
        schema={"anyOf": [_LENGTH_SCHEMA, {"const": "none"}]},
    ),
]
Room = Annotated[int, Field(strict=True, ge=1, le=_LARGEST), Setting(f"a whole number from 1 to {_LARGEST}", _number)]
Count = Annotated[int, Field(strict=True, ge=0, le=1000), Setting("a whole number from 0 to 1000", _number)]
PolicyName = Annotated[
    str,
    Setting(
        "",
        prepare=_policy,
        schema={"anyOf": [{"enum": [*POLICIES]}, {"type": "string", "pattern": "^[^:]+:[^:]+$"}]},
    ),
]
Share = Annotated[float, Field(strict=True, ge=0, le=1), Setting("a number from 0 to 1", _number)]
Pattern = Annotated[str, Setting("a shell glob, or re:… with a regular expression", prepare=_pattern)]
TargetPattern = Annotated[str, Setting("a shell glob, or re:… with a regular expression", prepare=_target_pattern)]
Regex = Annotated[str, Setting("a regular expression", prepare=_regex)]
Weight = Annotated[
    float,
    Setting(
        "0, or a number from 0.001 to 1000", _number, _weight, schema={"type": "number", "minimum": 0, "maximum": 1000}
    ),
]
TransportName = Annotated[Literal["client"], Setting("client", prepare=_transport)]
FairBy = Annotated[Literal["tenant", "queue"], Setting("one of tenant, queue")]
Untenanted = Annotated[Literal["direct", "stage"], Setting("one of direct, stage")]
Mode = Annotated[Literal["stage", "shadow", "off"], Setting("one of stage, shadow, off")]
QueueType = Annotated[Literal["like-target", "classic", "quorum"], Setting("one of like-target, classic, quorum")]
LogLevel = Annotated[Literal["debug", "info", "warning", "error"], Setting("one of debug, info, warning, error")]
LogFormat = Annotated[Literal["auto", "human", "json"], Setting("one of auto, human, json")]
