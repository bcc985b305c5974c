"""The edge to the management API: one GET, its timeouts and repetitions, and every failure in one line.

Only GETs are made, so a call may be repeated: when an address could not be reached or answered 5xx the next
one is tried, and when all have failed they are tried again, three times in all and not for longer than one
read may take. An address that answered is asked first the next time.

Proxies, .netrc and certificate settings from the environment are not used: AMQP does not use them either, and
the two must trust the same broker.
"""

import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import tenacity

from raquo.broker.errors import AccessRefused, BrokerUnreachable, ManagementError, MissingExtra
from raquo.broker.url import Tls

if TYPE_CHECKING:
    import requests

_ATTEMPTS = 3


class ManagementHttp:
    """GETs JSON from the first of several addresses that answers."""

    def __init__(
        self,
        urls: Sequence[str],
        user: str,
        password: str,
        tls: Tls | None = None,
        timeout: tuple[float, float] = (2.0, 10.0),
    ) -> None:
        """User and password inside the first URL that has them hold for all; `timeout` is connect, read."""
        library = _import_requests()
        self._errors = library.exceptions
        self._bases = [_without_credentials(url) for url in urls]
        if not self._bases:
            raise ManagementError("no address of a management API was given")
        self._session: requests.Session = library.Session()
        self._session.trust_env = False
        self._session.auth = _credentials(urls, user, password)
        if tls is not None:
            _trust(self._session, tls)
        self._timeout = timeout

    def close(self) -> None:
        """Close its connections."""
        self._session.close()

    def get_object(self, *path: str, **parameters: str) -> dict[str, Any]:
        """GET something that is a JSON object; the parts of the path are percent-encoded here."""
        answer = self._get(path, parameters)
        if not isinstance(answer, dict):
            raise ManagementError(f"the management API answered /{'/'.join(path)} with no object")
        return answer

    def get_list(self, *path: str, **parameters: str) -> list[dict[str, Any]]:
        """GET something that is a list of JSON objects."""
        answer = self._get(path, parameters)
        if not isinstance(answer, list):
            raise ManagementError(f"the management API answered /{'/'.join(path)} with no list")
        return answer

    def _get(self, path: Sequence[str], parameters: dict[str, str]) -> Any:
        encoded = "/".join(quote(part, safe="") for part in path)
        repeated = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS) | tenacity.stop_after_delay(self._timeout[1]),
            wait=tenacity.wait_exponential(multiplier=0.1, max=1),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )
        return repeated(self._from_first_that_answers, encoded, parameters)

    def _from_first_that_answers(self, path: str, parameters: dict[str, str]) -> Any:
        for last in [False] * (len(self._bases) - 1) + [True]:
            try:
                return self._from(self._bases[0], path, parameters)
            except (BrokerUnreachable, ManagementError) as error:
                if last or not _may_pass(error):
                    raise
                self._bases.append(self._bases.pop(0))
        raise AssertionError("the last address either answered or raised")

    def _from(self, base: str, path: str, parameters: dict[str, str]) -> Any:
        try:
            answer = self._session.get(
                f"{base}/api/{path}", params=parameters, timeout=self._timeout, allow_redirects=False
            )
        except self._errors.SSLError as error:
            raise ManagementError(f"TLS with {base} failed: {_root_cause(error)}") from error
        except (self._errors.RequestException, OSError) as error:
            raise BrokerUnreachable(
                f"the management API at {base} does not answer: {_root_cause(error)}"
            ) from error
        return self._checked(base, path, answer)

    def _checked(self, base: str, path: str, answer: "requests.Response") -> Any:
        if answer.status_code in (401, 403):
            raise AccessRefused(f"the management API at {base} refused /{path}: {_said(answer)}")
        if answer.status_code != 200:
            raise ManagementError(
                f"the management API at {base} answered /{path} with {answer.status_code}: {_said(answer)}",
                answer.status_code,
            )
        try:
            return answer.json()
        except ValueError as error:
            raise ManagementError(
                f"{base}/api/{path} answered with no JSON: is that the management API?", answer.status_code
            ) from error


def _import_requests() -> Any:
    try:
        import requests
    except ImportError as error:
        raise MissingExtra(
            'the management API needs `requests`: type pip install "raquo[distributor]"'
        ) from error
    return requests


def _credentials(urls: Sequence[str], user: str, password: str) -> tuple[bytes, bytes]:
    """As bytes of UTF-8, which is what RabbitMQ reads; requests would make Latin-1 of a text."""
    for split in map(urlsplit, urls):
        if split.username is not None:
            user, password = unquote(split.username), unquote(split.password or "")
            break
    return user.encode(), password.encode()


def _trust(session: "requests.Session", tls: Tls) -> None:
    tls.context()  # says which file is missing or wrong, before anything connects
    session.verify = tls.verify and (tls.ca or _system_authorities())
    if tls.cert is not None:
        session.cert = tls.cert if tls.key is None else (tls.cert, tls.key)


def _without_credentials(url: str) -> str:
    split = urlsplit(url.strip())
    if split.scheme not in ("http", "https") or not split.hostname or split.query or split.fragment:
        raise ManagementError("a management URL looks like http://host:15672 or https://host:15671")
    return urlunsplit((split.scheme, split.netloc.rpartition("@")[2], split.path.rstrip("/"), "", ""))


def _system_authorities() -> str | bool:
    """The authorities that `ssl` trusts for AMQP, so that both agree; requests would bring its own."""
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or True


def _may_pass(error: BaseException) -> bool:
    """Could the same question be answered a moment later, or by another node?"""
    if isinstance(error, ManagementError):
        return error.status is not None and error.status >= 500
    return isinstance(error, BrokerUnreachable)


def _said(answer: "requests.Response") -> str:
    """The API's own reason, in one line."""
    try:
        body = answer.json()
        words = str(body.get("reason") or body.get("error"))
    except (ValueError, AttributeError):
        words = answer.reason or "no reason given"
    return " ".join(words.split())[:200]


def _root_cause(error: BaseException) -> str:
    """The words of the innermost error: the libraries wrap `Connection refused` four times."""
    while inner := error.__cause__ or error.__context__:
        error = inner
    words = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
    return " ".join(str(words).split())[:200]
