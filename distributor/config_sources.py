"""Where the configuration comes from: a file, the environment, flags; and which of them said what.

**The file**, TOML, is the one given with `--config`, else the one that `RAQUO_CONFIG` names, else `./raquo.toml`, else
`/etc/raquo/raquo.toml`. One that was named must be there; no file at all is fine.

**The environment** goes over it: `RAQUO_<SECTION>__<KEY>`, in capitals, two underscores between. Lists are written with
commas or as JSON, tables as JSON. With `_FILE` behind it a variable names a file that holds the value, for secrets. An
empty variable counts as not set. Variables of other forms are others': for a Service called raquo, Kubernetes sets
`RAQUO_PORT`, `RAQUO_SERVICE_HOST` and more. But a section that is nearly one of ours is a mistake and not somebody
else's. Rules (`[[target]]`, `[[weight]]`) have an order, so they are written in the file only.

**Flags** go over both, and defaults are what is left.

The sources are merged as plain values, key by key, and checked once, together: pydantic-settings would do the merging
too, but it forgets which source a value came from, and reads no environment but the process's own. Everything that is
said of a mistake, and by `raquo config`, needs the former; tests need the latter.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from raquo.distributor.config import Config, state_directory
from raquo.distributor.config_keys import RULES, SECTIONS, entries, field_of, setting_of
from raquo.distributor.config_mistakes import DEFAULT, mistake, near
from raquo.distributor.errors import BadConfiguration

__all__ = ["Loaded", "load"]

_PLACES = ("raquo.toml", "/etc/raquo/raquo.toml")
_VARIABLE = re.compile(r"RAQUO_([A-Z0-9]+)__(\w+)")
_FLAGS = {"broker.url": "--url", "distributor.serve": "--target"}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration in force, where each key of it was said, and the file, if there was one."""

    config: Config
    origins: Mapping[str, str]
    place: Path | None


class Said(NamedTuple):
    """What a source says about a key; without a key, about the whole section."""

    section: str
    key: str | None
    value: object
    origin: str


@dataclass(slots=True)
class _Merged:
    """What all sources said so far; the last word counts."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def hear(self, said: Said) -> None:
        section, key, value, origin = said
        if key is None:
            self.values[section] = value
        elif isinstance(table := self.values.setdefault(section, {}), dict):  # else the file has no section there
            table[key] = value
        self.origins[f"{section}.{key}" if key else section] = origin


def load(
    path: str | Path | None = None,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, Mapping[str, object]] | None = None,
) -> Loaded:
    """The configuration in force; `BadConfiguration` for the first mistake.

    `flags` is `{section: {key: value}}`; None is a flag that was not given.
    """
    place = _place(path, environ)
    merged = _Merged()
    for source in (_surroundings(environ), _file(place), _environment(environ), _flags(flags or {})):
        for said in source:
            merged.hear(said)
    try:
        config = Config.model_validate(merged.values)
    except ValidationError as error:
        line = mistake(error, merged.values, merged.origins)
        raise BadConfiguration(line) from None  # pydantic's own words would say the same in ten lines
    return Loaded(config, _origins(config, merged.origins), place)


def _place(path: str | Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file to read: one that was named must be there, the usual places may be empty."""
    named = path or environ.get("RAQUO_CONFIG")
    if named:
        return Path(named)
    return next((Path(place) for place in _PLACES if Path(place).is_file()), None)


def _surroundings(environ: Mapping[str, str]) -> Iterator[Said]:
    folder, variable = state_directory(environ)
    yield Said("distributor", "state_dir", folder, f"from {variable}" if variable else DEFAULT)


def _file(place: Path | None) -> Iterator[Said]:
    origin = f"in {place}"
    for section, table in (_tables(place) if place else {}).items():
        if section in SECTIONS and isinstance(table, dict):
            yield from (Said(section, key, value, origin) for key, value in table.items())
        else:
            yield Said(section, None, table, origin)


def _tables(place: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"cannot read the configuration {place}: {error.strerror}") from error
    except ValueError as error:
        raise BadConfiguration(f"{place} is not TOML: {error}") from error


def _environment(environ: Mapping[str, str]) -> Iterator[Said]:
    for variable in sorted(name for name in environ if environ[name]):
        parts = _VARIABLE.fullmatch(variable)
        if parts and _is_ours(parts[1].lower(), variable):
            yield _of_variable(parts[1].lower(), parts[2].lower(), variable, environ)


def _is_ours(section: str, variable: str) -> bool:
    if section in RULES:
        raise BadConfiguration(f"{variable} is set: expected [[{section}]] in the file, since rules have an order")
    if section not in SECTIONS and get_close_matches(section, SECTIONS, cutoff=0.8):
        raise BadConfiguration(f"{variable} is set: no such section, expected {near(section, SECTIONS).upper()}")
    return section in SECTIONS


def _of_variable(section: str, key: str, variable: str, environ: Mapping[str, str]) -> Said:
    text = environ[variable]
    if key.endswith("_file") and field_of(section, key.removesuffix("_file")):
        key, text = key.removesuffix("_file"), _held_by(variable, environ)
    return Said(section, key, setting_of(section, key).from_text(text), f"from {variable}")


def _held_by(variable: str, environ: Mapping[str, str]) -> str:
    """What is in the file that a variable names; one with nothing in it is a secret that was not delivered."""
    plain, named = variable.removesuffix("_FILE"), environ[variable]
    if environ.get(plain):
        raise BadConfiguration(f"{variable} and {plain} are both set: keep one")
    try:
        text = Path(named).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadConfiguration(f"cannot read {named}, which {variable} names: {reason}") from None
    if not text:
        raise BadConfiguration(f"{named}, which {variable} names, is empty")
    return text


def _flags(flags: Mapping[str, Mapping[str, object]]) -> Iterator[Said]:
    for section, given in flags.items():
        for key, value in given.items():
            if value is not None:
                read = setting_of(section, key).from_text(value) if isinstance(value, str) else value
                yield Said(section, key, read, f"from {_flag(section, key)}")


def _flag(section: str, key: str) -> str:
    return _FLAGS.get(f"{section}.{key}", f"--{key.replace('_', '-')}")


def _origins(config: Config, said: Mapping[str, str]) -> Mapping[str, str]:
    """The origin of every key there is; a rule stands where its list does."""
    keys = (key for key, _, _ in entries(config))
    return MappingProxyType({key: said.get(key) or said.get(key.partition(".")[0], DEFAULT) for key in keys})
