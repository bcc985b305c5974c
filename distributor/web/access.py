"""Who may see what: deciding here, answering in `guard.py`.

Three things are between the daemon and somebody who should not reach it:

- **The Host header.** A page from anywhere may point a name of its own at 127.0.0.1 and then read whatever listens
  there (DNS rebinding): the browser thinks it is talking to that page's own server. The Host header gives it away,
  because it carries the name. So the host must be a loopback name, the address listened on, or one that the
  configuration lists. The port in it says nothing (tunnels change it). A listener on all addresses knows itself by any
  *address*: rebinding needs a name, and Kubernetes probes and Prometheus come by address.
- **The token.** Writes always need it. Beyond loopback so do reads, except for probes, `/openapi.json`, metrics without
  tenants, and the page that says where things are.
- **Beyond loopback without a configured token** there is nothing to check a reader against (the token that is made at
  start is known on this machine only), so what needs a token is refused, with the reason.

No CORS headers are ever sent: pages of other origins can read nothing.
"""

import hmac
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from raquo.distributor.web.errors import BadAddress, BadToken

PROBES = frozenset({"/healthz", "/readyz"})
METRICS = "/metrics"
OPENAPI = "/openapi.json"
_OPEN = PROBES | {METRICS, OPENAPI}
_PAGE = "/"
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_TOKEN_FILE = "http-token"  # noqa: S105 (a file's name)


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `host:port`, `[ipv6]:port`."""
        host, colon, port = text.strip().rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        bare = host[1:-1] if bracketed else host
        if not colon or not bare or (":" in bare) != bracketed:
            raise BadAddress(f"{text!r}: an address to listen on is host:port, e.g. 127.0.0.1:15690 or [::1]:15690")
        if not (port.isascii() and port.isdigit() and int(port) < 2**16):
            raise BadAddress(f"{text!r}: a port is a number from 0 to 65535")
        return cls(bare, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it; a name other than localhost is taken to be reachable from outside."""
        return _is_loopback(_host_name(self.host))

    @property
    def everywhere(self) -> bool:
        """Whether it stands for all addresses of this machine."""
        return _is_address(self.host) and ip_address(self.host).is_unspecified


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served, in one line, and with which HTTP status."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Access:
    """What a listener on `address` serves to whom; `configured` is false for a token that was made at start."""

    address: Address
    token: str = field(repr=False)
    configured: bool = True
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.token:
            raise BadToken("an empty token would let everybody in")

    def refusal(self, method: str, path: str, host: str | None, authorization: str | None) -> Refusal | None:
        """Why this request is not served; None if it is."""
        if host is None or not self._knows(host):
            return Refusal(403, f"Host {host or ''!r} is not known here; add it to [distributor] http_hosts")
        reads = method in _READS
        if reads and (self.address.loopback or path in _OPEN):
            return None
        if not self.address.loopback and not self.configured:
            return Refusal(403, f"listening on {self.address} without a configured [distributor] http_token: "
                                "only probes, metrics without tenants and /openapi.json are served")  # fmt: skip
        if (reads and path == _PAGE) or self._proves(authorization):
            return None
        return Refusal(401, "this needs the header Authorization: Bearer with the token of [distributor] http_token")

    def sees_tenants(self, authorization: str | None) -> bool:
        """Whether metrics tell this reader who the tenants are."""
        return self.address.loopback or (self.configured and self._proves(authorization))

    def _knows(self, host: str) -> bool:
        name = _host_name(host)
        if _is_loopback(name) or name in {_host_name(known) for known in (self.address.host, *self.hosts)}:
            return True
        return self.address.everywhere and _is_address(name)

    def _proves(self, authorization: str | None) -> bool:
        scheme, _, given = (authorization or "").partition(" ")
        # Compared as bytes: text outside ASCII would make compare_digest raise.
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())


def access_for(http: str, http_token: str, http_hosts: tuple[str, ...], state_dir: Path) -> Access:
    """Access as the configuration says; without a token in it, one from `state_dir`, made if there is none."""
    token = http_token.strip()
    return Access(Address.parse(http), token or token_in(state_dir), bool(token), http_hosts)


def token_in(state_dir: Path) -> str:
    """The token in `state_dir`, made if there is none: readable by this user only, and the same after a restart."""
    file = state_dir / _TOKEN_FILE
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _kept(file) or _made(file)
    except (OSError, UnicodeDecodeError) as error:
        raise BadToken(f"cannot keep a token in {file}: {error}") from error


def known_token(state_dir: Path) -> str:
    """The token that a daemon made in `state_dir`; nothing is made or changed here."""
    file = state_dir / _TOKEN_FILE
    try:
        token = _safely_read(file)
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadToken(f"cannot read the daemon's token in {file}: {words}; run this as the daemon's user") from error
    if not token:
        raise BadToken(f"there is no token of a daemon in {file}: name its state_dir, or its http_token")
    return token


def _kept(file: Path) -> str:
    """What the file holds; "" if there is nothing; a file that others could have read or written is removed."""
    token = _safely_read(file)
    if token == "":
        file.unlink()
    return token or ""


def _safely_read(file: Path) -> str | None:
    """None: there is no such file. "": it cannot be trusted, or is empty."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor) as opened:
        about = os.fstat(opened.fileno())
        trusted = os.geteuid() in (about.st_uid, 0)  # root asks the daemon of another user: that one's token stays
        ours_alone = trusted and not stat.S_IMODE(about.st_mode) & 0o077
        return opened.read().strip() if ours_alone else ""


def _made(file: Path) -> str:
    """Write a new token beside the file, then link it into place: of several replicas that start at once, one wins."""
    draft = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as opened:
            opened.write(secrets.token_urlsafe(32) + "\n")
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
    return file.read_text().strip()


def _host_name(host: str) -> str:
    """The host of `host[:port]`, without brackets, in lower case; addresses in one spelling."""
    name = host.strip().lower()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    name = name.removesuffix(".")
    return str(ip_address(name)) if _is_address(name) else name


def _is_loopback(name: str) -> bool:
    return name == "localhost" or (_is_address(name) and ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
