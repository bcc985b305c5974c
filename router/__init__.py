"""The router: a library in the publisher's process that says, and a publisher that does."""

from raquo.router.errors import (
    BadConfiguration,
    PublishError,
    PublishRefused,
    PublishTimeout,
    StagingFull,
    Unroutable,
    UnsupportedHeader,
)
from raquo.router.publisher import Publisher
from raquo.router.router import Decision, Router

__all__ = [
    "BadConfiguration",
    "Decision",
    "PublishError",
    "PublishRefused",
    "PublishTimeout",
    "Publisher",
    "Router",
    "StagingFull",
    "Unroutable",
    "UnsupportedHeader",
]
