"""A broker that speaks TLS, with what its clients need."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class TlsNode:
    """AMQP and management addresses with TLS; both ask for a client certificate, and refuse who has none."""

    url: str
    management_url: str
    version: str
    ca: Path
    client_cert: Path
    client_key: Path
