"""What can go wrong between us and a broker.

Errors of pika, requests and ssl are translated into these at the edge, with the cause kept; nothing above
this package sees a foreign class. No message ever contains a password.
"""

from raquo.mutators.errors import RaquoError


class BrokerError(RaquoError):
    """Something went wrong between Raquo and the broker."""

    confirmed = 0  # where publishing many messages ended in this error: how many of them are in the broker


class BadUrl(BrokerError):
    """That is not a broker's URL."""


class BrokerUnreachable(BrokerError):
    """The broker does not answer."""


class AccessRefused(BrokerError):
    """The broker refused: wrong user or password, or a permission is missing."""


class ConnectionLost(BrokerError):
    """The connection to the broker was lost."""


class ChannelClosed(BrokerError):
    """The broker closed the channel; `code` and `text` are its own words."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"the broker closed the channel: {code} {text}")
        self.code = code
        self.text = text

    def __reduce__(self) -> tuple[type["ChannelClosed"], tuple[int, str]]:
        return type(self), (self.code, self.text)


class ManagementError(BrokerError):
    """The management API answered with something else; `status` is the HTTP status, if there was one."""

    def __init__(self, message: str | None = None, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LocalBrokerError(BrokerError):
    """No private broker could be started."""


class UntestedPika(BrokerError):
    """This version of pika was not tested with Raquo."""


class MissingExtra(BrokerError):
    """An optional part of Raquo is not installed."""


class PublishError(BrokerError):
    """A message was not published; `confirmed` says how many of the same call were."""


class Unroutable(PublishError):
    """The queue is not there, and could not be made: the message was not taken."""


class StagingFull(PublishError):
    """The broker refused the message: its queue is full."""


class PublishRefused(PublishError):
    """The broker closes the channel whenever this message is published."""


class PublishTimeout(PublishError):
    """The broker did not confirm the message in time.

    `may_have_arrived` is true where the message was sent and only its confirm is missing: sent again, it may
    be there twice. False means that it never left this process.
    """

    def __init__(self, message: str | None = None, may_have_arrived: bool = True) -> None:
        super().__init__(message or "the broker did not confirm the message in time")
        self.may_have_arrived = may_have_arrived
