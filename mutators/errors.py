"""What can go wrong with names, messages and mutators, and the base of every error of Raquo.

Each class's docstring is its default message, so that `raise Unroutable` alone reads as a sentence.
"""


class RaquoError(Exception):
    """Something went wrong in Raquo."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class NameTooLong(RaquoError):
    """The target's name is so long that no staging name fits behind it."""


class BadName(RaquoError):
    """That text cannot be the name of a queue."""


class BadMessage(RaquoError, TypeError):
    """A message has a body of bytes or text, headers, and the properties of AMQP 0-9-1."""


class UnsupportedHeader(BadMessage):
    """A header has a value that AMQP cannot carry."""


class BadMutator(RaquoError):
    """A mutator is a callable (name, message) -> name, or `module:attribute`, or a header's name."""
