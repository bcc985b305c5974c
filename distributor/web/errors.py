"""What can go wrong with the web server before it serves anything."""

from raquo.mutators.errors import RaquoError


class WebError(RaquoError):
    """The web server cannot be started."""


class BadAddress(WebError):
    """An address to listen on is host:port, e.g. 127.0.0.1:15690 or [::1]:15690."""


class CannotListen(WebError):
    """Somebody else listens on that address, or it is not one of this machine."""


class BadToken(WebError):
    """The token for the web server cannot be read or made."""
