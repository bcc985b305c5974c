"""What a publisher reads of the configuration: the sections `[router]`, `[staging]` and `[broker]`.

Looked for: the path given, `RAQUO_CONFIG`, `./raquo.toml`, `/etc/raquo/raquo.toml`; no file at all is fine.
Over the file goes the environment: `RAQUO_ROUTER__MODE`, `RAQUO_BROKER__URL`, …, and `RAQUO_BROKER__URL_FILE`
for a file that holds the value; an empty variable counts as not set. Defaults come last. Other sections of
the file, and variables that are not `RAQUO_<SECTION>__…` of these sections, are others' and not looked at.

A mistake is one line with key, value, what was expected and where it stands, before anything connects.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from raquo.router.checks import Check, duration_or_never, one_of, table, text, texts, truth, urls
from raquo.router.errors import BadConfiguration

__all__ = [
    "MODES",
    "WITHOUT_TENANT",
    "BrokerSettings",
    "RouterSettings",
    "Settings",
    "StagingSettings",
    "load",
    "mode_in_force",
]

MODES = ("stage", "shadow", "off")
WITHOUT_TENANT = ("direct", "stage")
_PLACES = ("raquo.toml", "/etc/raquo/raquo.toml")

_CHECKS: dict[str, dict[str, Check]] = {
    "broker": {
        "url": urls("amqp", "amqps"),
        "management_url": urls("http", "https"),
        "ca": text,
        "cert": text,
        "key": text,
        "verify": truth,
    },
    "router": {
        "mutators": texts,
        "targets": texts,
        "untenanted": one_of(*WITHOUT_TENANT),
        "mode": one_of(*MODES),
    },
    "staging": {
        "queue_type": one_of("like-target", "classic", "quorum"),
        "arguments": table,
        "idle_ttl": duration_or_never,
    },
}


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where the broker is; several URLs are tried in turn."""

    url: tuple[str, ...] = field(default=("amqp://guest:guest@localhost:5672/%2f",), repr=False)
    management_url: tuple[str, ...] | None = field(default=None, repr=False)
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    verify: bool = True


@dataclass(frozen=True, slots=True)
class RouterSettings:
    """What is staged, and by what."""

    mutators: tuple[str, ...] = ("tenant", "workflow")
    targets: tuple[str, ...] = ("*",)
    untenanted: str = "direct"
    mode: str = "stage"


@dataclass(frozen=True, slots=True)
class StagingSettings:
    """How staging queues are declared, and when idle ones go."""

    queue_type: str = "like-target"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    idle_ttl: str = "never"


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a publisher needs to know."""

    broker: BrokerSettings
    router: RouterSettings
    staging: StagingSettings


def load(path: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in force; `BadConfiguration` for the first mistake."""
    place = _place(path, environ)
    tables = _tables(place) if place else {}
    return Settings(
        BrokerSettings(**_section("broker", tables, place, environ)),
        RouterSettings(**_section("router", tables, place, environ)),
        StagingSettings(**_section("staging", tables, place, environ)),
    )


def mode_in_force(environ: Mapping[str, str]) -> str:
    """The router's mode as the environment says, `stage` if it says nothing."""
    names = ("RAQUO_ROUTER__MODE", "RAQUO_ROUTER__MODE_FILE")
    only = {name: environ[name] for name in names if name in environ}
    return RouterSettings(**_section("router", {}, None, only)).mode


def _place(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: one that was named must be there, the usual places may be empty."""
    named = path or environ.get("RAQUO_CONFIG")
    if named:
        return Path(named)
    return next((Path(place) for place in _PLACES if Path(place).is_file()), None)


def _tables(place: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"cannot read the configuration {place}: {error.strerror}") from error
    except ValueError as error:
        raise BadConfiguration(f"{place} is not TOML: {error}") from error


def _section(
    section: str, tables: dict[str, Any], place: Path | None, environ: Mapping[str, str]
) -> dict[str, Any]:
    given = tables.get(section, {})
    if not isinstance(given, dict):
        raise BadConfiguration(f"{section} = {_shown(given)}: expected a section [{section}] (in {place})")
    values = {key: _checked(section, key, value, f"in {place}") for key, value in given.items()}
    for key, value, variable in _from_environment(section, environ):
        values[key] = _checked(section, key, value, f"from {variable}")
    return values


def _from_environment(section: str, environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    """Key, value and variable of what the environment says for a section."""
    prefix = f"RAQUO_{section.upper()}__"
    for variable in sorted(name for name in environ if name.startswith(prefix) and environ[name]):
        key, value = variable.removeprefix(prefix).lower(), environ[variable]
        if key.endswith("_file"):
            key, value = key.removesuffix("_file"), _file_of(variable, environ)
        check = _CHECKS[section].get(key)
        yield key, check.from_text(value) if check else value, variable


def _file_of(variable: str, environ: Mapping[str, str]) -> str:
    if environ.get(variable.removesuffix("_FILE")):
        raise BadConfiguration(f"{variable} and {variable.removesuffix('_FILE')} are both set: keep one")
    try:
        return Path(environ[variable]).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"cannot read {environ[variable]}, which {variable} names: {error}") from error


def _checked(section: str, key: str, value: object, where: str) -> object:
    checks = _CHECKS[section]
    if key not in checks:
        near = get_close_matches(key, checks) or checks
        words = f"{section}.{key} = {_shown(value)}: no such setting, expected {' or '.join(near)}"
        raise BadConfiguration(f"{words} ({where})")
    try:
        return checks[key].check(value)
    except ValueError as error:
        shown = _shown(value)
        raise BadConfiguration(f"{section}.{key} = {shown}: expected {error} ({where})") from error


def _shown(value: object) -> str:
    """A value as an error may show it: short, and without what stands before an @: maybe a password."""
    return re.sub(r".*@", "…@", repr(value))[:120]
