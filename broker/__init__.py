"""Everything that speaks to RabbitMQ: the only package that imports pika or calls the management API.

For callers: `raquo.broker.mover` moves messages, `raquo.broker.management` reads the management API, and
`raquo.broker.local` starts a private broker. They are not imported here, so that a publisher's process loads none of
what it does not use.
"""

from raquo.broker.errors import (
    AccessRefused,
    BadUrl,
    BrokerError,
    BrokerUnreachable,
    ChannelClosed,
    ConnectionLost,
    LocalBrokerError,
    ManagementError,
    MissingExtra,
    PublishError,
    PublishRefused,
    PublishTimeout,
    StagingFull,
    Unroutable,
    UntestedPika,
)
from raquo.broker.url import BrokerUrl, Tls

__all__ = [
    "AccessRefused",
    "BadUrl",
    "BrokerError",
    "BrokerUnreachable",
    "BrokerUrl",
    "ChannelClosed",
    "ConnectionLost",
    "LocalBrokerError",
    "ManagementError",
    "MissingExtra",
    "PublishError",
    "PublishRefused",
    "PublishTimeout",
    "StagingFull",
    "Tls",
    "Unroutable",
    "UntestedPika",
]
