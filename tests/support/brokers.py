"""The broker under test: one of ours, or one that somebody names."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from raquo.broker.local import LocalBroker
from raquo.broker.url import BrokerUrl
from support.admin import Admin
from support.waiting import wait_until


class Broker(Protocol):
    """What tests may know of the broker they share."""

    @property
    def url(self) -> str: ...

    @property
    def management_url(self) -> str: ...

    @property
    def version(self) -> str: ...


@dataclass(frozen=True)
class ExternalBroker:
    """A running broker, given by RAQUO_TEST_BROKER and, if it is elsewhere, RAQUO_TEST_MANAGEMENT."""

    url: str
    management_url: str
    version: str


def external_broker(env: Mapping[str, str] = os.environ) -> ExternalBroker | None:
    """The broker that the environment names, if it does."""
    if not (text := env.get("RAQUO_TEST_BROKER")):
        return None
    management_url = BrokerUrl.parse(text).management_url(env.get("RAQUO_TEST_MANAGEMENT"))
    version = Admin(text, management_url).get("overview")["rabbitmq_version"]
    return ExternalBroker(text, management_url, version)


_METADATA = ("data/*/LATEST.LOG", "data/*/rabbit_durable_queue.DC?", "data/*/coordination/*/*.wal")
_QUORUM_NAMES = ("data/*/quorum/*/names.dets",)


def wait_until_on_disk(broker: LocalBroker, queue: str, queue_type: str = "quorum") -> None:
    """Wait until a new queue would survive a kill of its node; RabbitMQ answers a declare before it is written.

    A node killed earlier does not know the queue any more (3.10), or, for about a second after a quorum queue was
    declared, knows the queue and not its log: what was confirmed meanwhile is gone, and on 3.10 the queue hangs.
    """
    for patterns in (_METADATA, _QUORUM_NAMES) if queue_type == "quorum" else (_METADATA,):
        wait_until(partial(_is_written, broker.directory, patterns, queue), what=f"{queue} is on disk")


def _is_written(directory: Path, patterns: Sequence[str], text: str) -> bool:
    files = (file for pattern in patterns for file in directory.glob(pattern))
    spellings = (text.encode(), text.encode("latin-1", "replace"))  # Erlang writes an atom in the shortest way
    return any(spelling in file.read_bytes() for file in files for spelling in spellings)
