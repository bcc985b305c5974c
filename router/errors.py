"""What can go wrong between a producer and the broker. All of it is a `RaquoError`."""

from raquo.broker.errors import PublishError, PublishRefused, PublishTimeout, StagingFull, Unroutable
from raquo.mutators.errors import RaquoError, UnsupportedHeader

__all__ = [
    "BadConfiguration",
    "PublishError",
    "PublishRefused",
    "PublishTimeout",
    "StagingFull",
    "Unroutable",
    "UnsupportedHeader",
]


class BadConfiguration(RaquoError):
    """A setting has a value that it cannot have."""
