"""The configuration: one frozen, checked object, built once, that says everything a daemon was told.

Where the values come from is the business of `config_sources`; what each may be, of `config_values`. Here are the
sections and their keys, what they are for (the descriptions are also the comments of `raquo config --default` and of
the JSON schema), and what must hold between several keys.

Settings of a target are merged key by key: of the `[[target]]` rules that match, from top to bottom, the first that
says something about a key decides, and where none does, `[defaults]`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from raquo.broker.errors import BadUrl
from raquo.broker.url import BrokerUrl, parse_urls
from raquo.distributor import config_values as kind
from raquo.distributor.config_setting import expected
from raquo.distributor.config_values import thousandths
from raquo.distributor.rules import matches

__all__ = [
    "BrokerSection",
    "Config",
    "DistributorSection",
    "LimitRule",
    "LogSection",
    "MetricsSection",
    "RouterSection",
    "StagingSection",
    "TargetRule",
    "TargetSettings",
    "WeightRule",
    "state_directory",
]


class Section(BaseModel):
    """A part of the configuration: frozen, and without keys that nobody reads."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class BrokerSection(Section):
    """Where RabbitMQ is, and whom to trust."""

    url: kind.AmqpUrls = Field(
        default=("amqp://guest:guest@localhost:5672/%2f",),
        repr=False,
        description="Where the broker is: one URL, or a list that is tried in turn; amqps:// for TLS.",
    )
    management_url: kind.HttpUrls = Field(
        default=(),
        repr=False,
        description="Where its management API is, or a list; else the hosts of url, port 15672 (15671 with TLS).",
        examples=["http://localhost:15672"],
    )
    ca: kind.Text | None = Field(
        default=None,
        description="File with the authorities to trust (PEM), for amqps://; else the system's.",
        examples=["/etc/raquo/ca.pem"],
    )
    cert: kind.Text | None = Field(
        default=None,
        description="File with the client certificate to show (PEM).",
        examples=["/etc/raquo/cert.pem"],
    )
    key: kind.Text | None = Field(
        default=None,
        description="File with its key, if that is not in the same file.",
        examples=["/etc/raquo/key.pem"],
    )
    verify: kind.Truth = Field(
        default=True, description="Whether the broker's certificate and host name are verified, for amqps://."
    )

    def urls(self) -> tuple[BrokerUrl, ...]:
        """The broker's nodes, to be tried in turn."""
        return parse_urls(self.url, self.ca, self.cert, self.key, self.verify)

    @model_validator(mode="after")
    def _can_be_read(self) -> Self:
        if self.key is not None and self.cert is None:
            raise expected("cert beside it, the certificate that belongs to the key", "key")
        try:
            self.urls()
        except BadUrl as error:
            raise expected(f"a URL that can be read; {error}", "url") from error
        return self


class RouterSection(Section):
    """What publishers stage, and by what; read by `Router.from_config` and `raquo route`."""

    mutators: kind.Texts = Field(
        default=("tenant", "workflow"),
        description="What makes the discriminators, in order: headers' names, or module:attribute.",
    )
    targets: kind.Texts = Field(default=("*",), description="Which targets are staged at all: shell globs.")
    untenanted: kind.Untenanted = Field(
        default="direct", description="Where messages without a tenant go: direct (to the target) or stage."
    )
    mode: kind.Mode = Field(
        default="stage", description="stage; shadow (decides and counts, stages nothing); off (passes through)."
    )


class StagingSection(Section):
    """How staging queues are declared, and when idle ones go."""

    queue_type: kind.QueueType = Field(
        default="like-target", description="Type of staging queues: like-target, classic or quorum."
    )
    arguments: kind.Table = Field(
        default_factory=dict, description="More arguments to declare them with, by RabbitMQ's own names."
    )
    idle_ttl: kind.IdleTime = Field(
        default=None,
        description='How long an empty staging queue may be idle before it is deleted, or "never".',
        json_schema_extra={"default": "never"},
    )


def state_directory(environ: Mapping[str, str] = os.environ) -> tuple[Path, str | None]:
    """Where state is kept if nobody says otherwise, and the variable that decided about it, if one did."""
    if given := environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0]), "STATE_DIRECTORY"  # systemd lists several with colons between
    if (given := environ.get("XDG_STATE_HOME", "")) and Path(given).is_absolute():
        return Path(given) / "raquo", "XDG_STATE_HOME"
    try:
        home = Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:  # a user without a home, as in some containers
        return Path("/var/lib/raquo"), None
    return home / ".local/state/raquo", None


class DistributorSection(Section):
    """What the daemon serves, how often it looks, and where it can be asked."""

    serve: kind.Globs = Field(default=("*",), description="Targets to serve: shell globs.")
    serve_not: kind.NoneOrGlobs = Field(default=(), description="Targets to leave alone, of those: shell globs.")
    discover_every: kind.DiscoveryPeriod = Field(
        default=2.0, description="How often to look for new staging queues; later while looking is slow."
    )
    round_every: kind.RoundPeriod = Field(
        default=None,
        description='How often a target is filled up; "auto": 20ms to 1s, by how fast it is consumed.',
        json_schema_extra={"default": "auto"},
    )
    drain_timeout: kind.Deadline = Field(
        default=10.0, description="How long a shutdown may wait for messages that are on their way."
    )
    state_dir: kind.Folder = Field(
        default_factory=lambda: state_directory()[0],
        description="Folder for what outlives a restart; else $STATE_DIRECTORY (systemd), else the user's own.",
        examples=["/var/lib/raquo"],
    )
    http: kind.Address = Field(
        default=("127.0.0.1", 15690),
        description='Where to answer HTTP: host:port (IPv6 in brackets), or "off".',
        json_schema_extra={"default": "127.0.0.1:15690"},
    )
    http_token: kind.Token = Field(
        default=SecretStr(""),
        description="What requests that change something must show; without one, the daemon makes one in state_dir.",
        json_schema_extra={"default": "", "writeOnly": True},
    )
    http_hosts: kind.Hosts = Field(
        default=(), description="Host headers to accept, besides those of loopback and of the address in http."
    )


class TargetSettings(Section):
    """How one target is served."""

    max_length: kind.Length = Field(
        default=1000, description="Ready messages to keep in the target; shorter is fairer, too short starves workers."
    )
    max_unacked: kind.LengthOrNone = Field(
        default=None,
        description='Most messages the target may have, ready and unacked together, or "none".',
        json_schema_extra={"default": "none"},
    )
    min_room: kind.Room = Field(default=1, description="Move nothing until this many fit (never more than max_length).")
    policy: kind.PolicyName = Field(
        default="weighted", description="Who goes next: weighted, equal, or module:attribute of your own."
    )
    fair_by: kind.FairBy = Field(
        default="tenant", description="Who shares: tenant (all its queues together), or every staging queue."
    )
    transport: kind.TransportName = Field(default="client", description="What carries messages: client.")
    declare_missing: kind.Truth = Field(
        default=False, description="Whether to declare a target that is missing; else its messages wait."
    )
    floor_share: kind.Share = Field(
        default=0.5, description="Share of what workers take that is staged messages', if others keep the target full."
    )

    @model_validator(mode="after")
    def _room_can_be_had(self) -> Self:
        if self.min_room > self.max_length:
            raise expected(f"no more than max_length, {self.max_length}", "min_room")
        return self


class TargetRule(Section):
    """What is different for the targets that match; None, unless it is among `model_fields_set`, is "not said"."""

    target: kind.TargetPattern = Field(description="Which targets: a shell glob, or re:… with a regular expression.")
    max_length: kind.Length | None = None
    max_unacked: kind.LengthOrNone = None
    min_room: kind.Room | None = None
    policy: kind.PolicyName | None = None
    fair_by: kind.FairBy | None = None
    transport: kind.TransportName | None = None
    declare_missing: kind.Truth | None = None
    floor_share: kind.Share | None = None

    def speaks_of(self, target: str) -> bool:
        """Whether it is about this target, or, to compare rules, written with the very same pattern."""
        return self.target == target or matches(self.target, target)

    def said(self) -> dict[str, Any]:
        """The settings that the rule says something about."""
        return {key: getattr(self, key) for key in self.model_fields_set if key != "target"}

    @model_validator(mode="after")
    def _room_can_be_had(self) -> Self:
        if self.max_length and self.min_room and self.min_room > self.max_length:
            raise expected(f"no more than max_length, {self.max_length}", "min_room")
        return self


class WeightRule(Section):
    """A weight for the tenants or queues that match in everything that is said."""

    target: kind.TargetPattern | None = Field(default=None, description="Of which targets: a glob or re:….")
    tenant: kind.Pattern | None = Field(default=None, description="Which tenants: a glob or re:….")
    workflow: kind.Pattern | None = Field(
        default=None, description="Which workflows: a glob or re:…; the weight is then the queue's, within its tenant."
    )
    match: kind.Regex | None = Field(
        default=None,
        description="A regular expression searched in the staging queue's whole name; the weight is the queue's.",
    )
    weight: kind.Weight = Field(description="0 holds back; else 0.001 to 1000, where 1 is normal.")

    @property
    def thousandths(self) -> int:
        """The weight as policies count it."""
        return int(thousandths(self.weight))

    @model_validator(mode="after")
    def _speaks_of_something(self) -> Self:
        if self.target is self.tenant is self.workflow is self.match is None:
            raise expected("target, tenant, workflow or match beside it, to say whose weight it is", "weight")
        return self


class LimitRule(Section):
    """A cap on a tenant. No release heeds it yet, so that none is accepted."""

    target: kind.TargetPattern | None = None
    tenant: kind.Pattern | None = None
    max_in_progress: kind.Room | None = None
    max_rate: float | None = None


class MetricsSection(Section):
    """What is measured."""

    top_tenants: kind.Count = Field(
        default=20, description="How many tenants have labels of their own; the others are counted together."
    )


class LogSection(Section):
    """What is logged, and how it looks."""

    level: kind.LogLevel = Field(default="info", description="Least level to log: debug, info, warning, error.")
    format: kind.LogFormat = Field(
        default="auto", description="human, json, or auto: human on a terminal, json otherwise."
    )


class Config(Section):
    """Everything that is configured."""

    broker: BrokerSection = Field(default_factory=BrokerSection)
    router: RouterSection = Field(default_factory=RouterSection)
    staging: StagingSection = Field(default_factory=StagingSection)
    distributor: DistributorSection = Field(default_factory=DistributorSection)
    defaults: TargetSettings = Field(default_factory=TargetSettings)
    target: tuple[TargetRule, ...] = ()
    weight: tuple[WeightRule, ...] = ()
    limit: tuple[LimitRule, ...] = Field(default=(), json_schema_extra={"maxItems": 0})
    metrics: MetricsSection = Field(default_factory=MetricsSection)
    log: LogSection = Field(default_factory=LogSection)

    def for_target(self, target: str) -> TargetSettings:
        """The settings of a target, merged key by key."""
        return self._settings_of(target)

    @cached_property
    def _settings_of(self) -> Callable[[str], TargetSettings]:
        return lru_cache(maxsize=4096)(self._merged)

    def _merged(self, target: str) -> TargetSettings:
        said: dict[str, Any] = {}
        for rule in self.target:
            if rule.speaks_of(target):
                said = rule.said() | said
        merged = self.defaults.model_copy(update=said)
        # Two rules may each be right and ask together for more room than there ever is.
        return merged.model_copy(update={"min_room": min(merged.min_room, merged.max_length)})

    @field_validator("limit", mode="before")
    @classmethod
    def _no_limits_yet(cls, rules: Any) -> Any:
        if rules:  # one that is accepted and not heeded would be worse
            raise expected("none yet; limits come with a later release")
        return rules

    @model_validator(mode="after")
    def _weights_are_heeded(self) -> Self:
        for number, rule in enumerate(self.weight, 1):
            if name := next(self._equal_targets_named_by(rule), None):
                words = f"a target whose policy heeds weights; {name} has the policy equal"
                raise expected(words, f"weight.{number}.target")
        return self

    def _equal_targets_named_by(self, rule: WeightRule) -> Iterator[str]:
        """Targets that the rule names and whose policy ignores weights; `*` names none."""
        if rule.target in (None, "*"):
            return
        # A glob stands for the targets it matches: another that covers all of them matches its very text.
        names = [rule.target, *(other.target for other in self.target if matches(rule.target, other.target))]
        yield from (name for name in names if name and self.for_target(name).policy == "equal")
