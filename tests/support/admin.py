"""What an administrator does to a broker through its management API, for setting tests up."""

from typing import Any
from urllib.parse import quote

import requests

from raquo.broker.url import BrokerUrl


class Admin:
    """PUT, GET, POST and DELETE on the management API; an error status fails the test."""

    def __init__(self, url: str, management_url: str) -> None:
        broker = BrokerUrl.parse(url)
        self._base = f"{management_url}/api"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.auth = (broker.user, broker.password)
        self._user = broker.user

    def close(self) -> None:
        self._session.close()

    def get(self, *path: str) -> Any:
        return self._call("GET", path).json()

    def put(self, *path: str, **body: Any) -> None:
        self._call("PUT", path, body)

    def post(self, *path: str, **body: Any) -> Any:
        return self._call("POST", path, body).json()

    def delete(self, *path: str) -> None:
        self._call("DELETE", path)

    def make_vhost(self, vhost: str) -> None:
        self.put("vhosts", vhost)
        self.permit(self._user, vhost)

    def make_user(self, user: str, password: str, tags: str = "") -> None:
        self.put("users", user, password=password, tags=tags)

    def permit(self, user: str, vhost: str, **rights: str) -> None:
        """Give a user regexes for `configure`, `write` and `read`; everything where nothing is said."""
        self.put("permissions", vhost, user, **{"configure": ".*", "write": ".*", "read": ".*", **rights})

    def set_policy(self, vhost: str, name: str, pattern: str, **definition: Any) -> None:
        definition = {key.replace("_", "-"): value for key, value in definition.items()}
        self.put("policies", vhost, name, pattern=pattern, definition=definition, **{"apply-to": "queues"})

    def close_connections(self, vhost: str) -> None:
        """Drop every connection to a vhost, as an administrator's click would."""
        for connection in self.get("vhosts", vhost, "connections"):
            self.delete("connections", connection["name"])

    def _call(
        self, method: str, path: tuple[str, ...], body: dict[str, Any] | None = None
    ) -> requests.Response:
        address = "/".join([self._base, *(quote(part, safe="") for part in path)])
        answer = self._session.request(method, address, json=body, timeout=30)
        assert answer.ok, f"{method} {address}: {answer.status_code} {answer.text[:300]}"
        return answer
