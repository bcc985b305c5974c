"""Asks a running daemon through its HTTP address; one that does not answer is no error, there may be none."""

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from raquo.distributor.config import Config
from raquo.distributor.errors import DistributorError
from raquo.distributor.replica import address_of
from raquo.distributor.web.access import Address, known_token

_ANSWER_WITHIN = 3.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (where to ask, not where to listen)


class DaemonClient:
    """The daemon of this configuration, if it runs on this machine."""

    def __init__(self, config: Config) -> None:
        self._config = config
        http = config.distributor.http
        self._base = f"http://{Address(_EVERYWHERE.get(http[0], http[0]), http[1])}" if http else None

    def serves_this_broker(self) -> bool:
        """Whether a daemon answers, and its broker is ours; a command that was told of no broker means the daemon's."""
        told = self._get("/api/v1/about")
        if told is None:
            return False
        named = "url" in self._config.broker.model_fields_set
        return not named or told.get("broker") == address_of(self._config)

    def status(self) -> dict[str, Any] | None:
        """What it sees; None where no daemon of this broker answers."""
        return self._get("/api/v1/status") if self.serves_this_broker() else None

    def plan(self) -> dict[str, Any] | None:
        """What its next rounds would move."""
        return self._get("/api/v1/plan") if self.serves_this_broker() else None

    def explain(self, target: str, tenant: str | None) -> dict[str, Any] | None:
        """Why somebody waits."""
        tail = f"&tenant={quote(tenant, safe='')}" if tenant else ""
        where = f"/api/v1/explain?target={quote(target, safe='')}{tail}"
        return self._get(where) if self.serves_this_broker() else None

    def set_bypass(self, on: bool, reason: str, seconds: float | None) -> None:
        """Switch the bypass; raises `DistributorError` where that is not possible."""
        if not self.serves_this_broker():
            raise DistributorError(f"no daemon of {address_of(self._config)} answers at {self._base}: is it running?")
        body = json.dumps({"on": on, "reason": reason, "seconds": seconds}).encode()
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": "application/json"}
        self._call(urllib.request.Request(f"{self._base}/api/v1/bypass", body, headers, method="PUT"))  # noqa: S310

    def _token(self) -> str:
        section = self._config.distributor
        return section.http_token.get_secret_value() or known_token(section.state_dir)

    def _get(self, path: str) -> dict[str, Any] | None:
        if self._base is None:
            return None
        headers = {"Authorization": f"Bearer {token}"} if (token := self._given_token()) else {}
        try:
            return self._call(urllib.request.Request(self._base + path, headers=headers))  # noqa: S310
        except DistributorError:
            return None

    def _given_token(self) -> str:
        return self._config.distributor.http_token.get_secret_value()

    def _call(self, request: urllib.request.Request) -> dict[str, Any]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on this machine
        try:
            with opener.open(request, timeout=_ANSWER_WITHIN) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as error:
            raise DistributorError(f"the daemon refused: {_reason(error)}") from error
        except (OSError, ValueError) as error:
            raise DistributorError(f"no daemon answers at {self._base}: {error}") from error
        if not isinstance(told, dict):
            raise DistributorError(f"what answers at {self._base} is no daemon of ours")
        return told


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
