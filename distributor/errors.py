"""What can go wrong in the distributor. All of it is a `RaquoError`."""

from raquo.mutators.errors import RaquoError

__all__ = ["BadConfiguration", "DistributorError"]


class DistributorError(RaquoError):
    """Something went wrong in the distributor."""


class BadConfiguration(DistributorError):
    """A setting has a value that it cannot have."""
