"""Where a broker is, and how to trust it: AMQP URLs read once into one frozen, checked object.

The grammar is RabbitMQ's own (`amqp://user:password@host:port/vhost?parameters`, every part percent-encoded).
What we do not understand is refused in words, never ignored: a misspelt `verify` must not quietly change what
is verified. Nothing here shows a password: not `repr`, not `str`, not an error. A broken URL is not quoted
either, because an unencoded `/` or `#` in a password makes half of it look like a port or a parameter.

A heartbeat of 0 is refused: a broker that has stopped reading a connection, or lost its peer, gives back the
messages which that connection holds only when a heartbeat is missed.
"""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from raquo.broker.errors import BadUrl

_PORTS = {"amqp": 5672, "amqps": 5671}
_ALIASES = {"ca": "cacertfile", "cert": "certfile", "key": "keyfile"}
_PARAMETERS = ("heartbeat", "connection_timeout", "cacertfile", "certfile", "keyfile", "verify")
_VERIFY = {"verify_peer": True, "true": True, "verify_none": False, "false": False}
_UNENCODED = "one of / ? # @ in a name or password is not written as %2F %3F %23 %40"
_BETWEEN_URLS = re.compile(r"[\s,]+(?=amqps?://)", re.IGNORECASE)


@dataclass(frozen=True)
class Tls:
    """Whom to trust (`ca`; the system's authorities when None), and the client certificate to show."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    verify: bool = True

    def __post_init__(self) -> None:
        if self.key is not None and self.cert is None:
            raise BadUrl("a key without its certificate: name both, cert and key")

    def context(self) -> ssl.SSLContext:
        """The context for a socket; certificate and host name are verified unless `verify` is False."""
        context = self._trusting_context()
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.cert is not None:
            self._load_client_certificate(context, self.cert)
        return context

    def _trusting_context(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:  # ssl.SSLError is one of them
            raise BadUrl(f"cannot read the CA certificates in {self.ca}: {_reason(error)}") from error

    def _load_client_certificate(self, context: ssl.SSLContext, cert: str) -> None:
        try:
            context.load_cert_chain(cert, self.key, password=self._refuse_to_ask)
        except OSError as error:
            files = cert if self.key is None else f"{cert} with key {self.key}"
            raise BadUrl(f"cannot use the client certificate {files}: {_reason(error)}") from error

    def _refuse_to_ask(self) -> str:
        """Without this, OpenSSL would ask for a password on the terminal of a daemon."""
        raise BadUrl(f"the key {self.key or self.cert} is encrypted: give one without a password")


@dataclass(frozen=True)
class BrokerUrl:
    """One node of a broker: address, user and virtual host; masked wherever it is printed."""

    host: str = "localhost"
    port: int = 5672
    user: str = "guest"
    password: str = field(default="guest", repr=False)
    vhost: str = "/"
    tls: Tls | None = None
    heartbeat: int = 10
    connect_timeout: float = 5.0

    @classmethod
    def parse(
        cls,
        text: str,
        ca: str | None = None,
        cert: str | None = None,
        key: str | None = None,
        verify: bool = True,
    ) -> "BrokerUrl":
        """Read a URL; the arguments hold where the URL's own parameters say nothing."""
        scheme, split = _split(text)
        parameters = _parameters(split.query)
        given = Tls(ca, cert, key, verify)
        return cls(
            host=_host(split),
            port=_port(split, _PORTS[scheme]),
            vhost=_vhost(split.path),
            tls=_tls(scheme, given, parameters),
            heartbeat=_whole("heartbeat", parameters, 10, 1, 60),
            connect_timeout=_whole("connection_timeout", parameters, 5000, 100, 600_000) / 1000,
            **_credentials(split),
        )

    def with_vhost(self, vhost: str) -> "BrokerUrl":
        """The same broker and user, another virtual host."""
        return replace(self, vhost=vhost)

    def management_url(self, explicit: str | None = None) -> str:
        """Where the management API is: as said, else on the same host at its usual port."""
        if explicit:
            return explicit.rstrip("/")
        scheme, port = ("http", 15672) if self.tls is None else ("https", 15671)
        return f"{scheme}://{self._bracketed_host()}:{port}"

    def _bracketed_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def __str__(self) -> str:
        scheme = "amqp" if self.tls is None else "amqps"
        address = f"{self._bracketed_host()}:{self.port}/{quote(self.vhost, safe='')}"
        return f"{scheme}://{quote(self.user, safe='')}:***@{address}"


Urls = str | BrokerUrl | Sequence[str] | Sequence[BrokerUrl]


def parse_urls(
    urls: "Urls",
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    verify: bool = True,
) -> tuple[BrokerUrl, ...]:
    """Read one URL or several: a sequence, or one text with commas or spaces between them."""
    if isinstance(urls, BrokerUrl):
        return (urls,)
    several = _BETWEEN_URLS.split(urls.strip()) if isinstance(urls, str) else urls
    parsed = tuple(
        url if isinstance(url, BrokerUrl) else BrokerUrl.parse(url, ca, cert, key, verify) for url in several
    )
    if not parsed:
        raise BadUrl("no broker URL was given")
    if len({url.vhost for url in parsed}) > 1:
        raise BadUrl("the broker's URLs are tried in turn: they must all name the same virtual host")
    return parsed


def _split(text: str) -> tuple[str, SplitResult]:
    try:
        split = urlsplit(text.strip())
    except ValueError as error:
        raise BadUrl("a broker's URL must look like amqp://user:password@host:5672/vhost") from error
    if split.scheme not in _PORTS or not text.strip().lower().startswith(f"{split.scheme}://"):
        raise BadUrl("a broker's URL starts with amqp:// or, with TLS, amqps://")
    if split.fragment or ("@" not in split.netloc and "@" in split.path + split.query):
        raise BadUrl(_UNENCODED)
    return split.scheme, split


def _host(split: SplitResult) -> str:
    host = unquote(split.hostname or "localhost")
    if any(character.isspace() for character in host):
        raise BadUrl("the host of a broker's URL has no spaces")
    return host


def _port(split: SplitResult, default: int) -> int:
    try:
        port = split.port
    except ValueError:
        port = 0
    if port == 0:
        raise BadUrl(f"the port is not a number from 1 to 65535, or {_UNENCODED}")
    return default if port is None else int(port)


def _credentials(split: SplitResult) -> dict[str, str]:
    if split.username is None:
        return {}
    return {"user": unquote(split.username), "password": unquote(split.password or "")}


def _vhost(path: str) -> str:
    name = path[1:]
    if name in ("", "/"):  # pika and Celery both take amqp://host/ and amqp://host// for the default one
        return "/"
    if "/" in name:
        raise BadUrl("a / inside the name of a virtual host is written %2F")
    return unquote(name)


def _parameters(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for given, value in parse_qsl(query, keep_blank_values=True):
        name = _ALIASES.get(given, given)
        if name not in _PARAMETERS:
            raise BadUrl(f"unknown parameter {given!r} in a broker's URL; known are {', '.join(_PARAMETERS)}")
        if name in found:
            raise BadUrl(f"the parameter {name} is twice in the broker's URL")
        found[name] = value
    return found


def _whole(name: str, parameters: dict[str, str], default: int, least: int, most: int) -> int:
    text = parameters.get(name, str(default))
    if name == "heartbeat" and text.strip() == "0":
        raise BadUrl("heartbeat=0 is refused: a dead connection gives messages back only by its heartbeat")
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        unit = "seconds" if name == "heartbeat" else "milliseconds"
        raise BadUrl(f"{name} is a whole number of {unit} from {least} to {most}, not {text!r}")
    return int(text)


def _tls(scheme: str, given: Tls, parameters: dict[str, str]) -> Tls | None:
    tls = Tls(
        ca=parameters.get("cacertfile", given.ca),
        cert=parameters.get("certfile", given.cert),
        key=parameters.get("keyfile", given.key),
        verify=_verify(parameters, given.verify),
    )
    if scheme == "amqps":
        return tls
    if tls != Tls():
        raise BadUrl("ca, cert, key and verify are for amqps://, and this URL starts with amqp://")
    return None


def _verify(parameters: dict[str, str], default: bool) -> bool:
    text = parameters.get("verify")
    if text is None:
        return default
    if text.lower() not in _VERIFY:
        raise BadUrl(f"verify is one of {', '.join(_VERIFY)}, not {text!r}")
    return _VERIFY[text.lower()]


def _reason(error: OSError) -> str:
    """OpenSSL's own message is longer than a line's worth; a missing file has plain words."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not a certificate in PEM form").replace("_", " ").lower()
    return error.strerror or str(error)

