"""RabbitMQ's own shovels, one per staging queue, made through the management API as an administrator would.

They run inside the broker, on connections that never leave it, and their processor time is the broker's: it cannot be
told apart. The clock runs from the first request to the API until the target holds everything. A shovel is told how
many messages to move, and then deletes itself; its acks to the source are out by then.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import requests

from benchmarks.apart import ContenderFailed, Measured
from benchmarks.mover import Move
from benchmarks.queues import Queues

_PREFETCH = 1000
_AT_ONCE = 8
_TO_DELETE_THEMSELVES = 10.0
_THIS_BROKER = "amqp://"


class Shovels:
    """The dynamic shovels of the default virtual host."""

    def __init__(self, management_url: str) -> None:
        self._address = f"{management_url}/api/parameters/shovel/%2f"
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.auth = ("guest", "guest")

    def start(self, name: str, settings: dict[str, Any]) -> None:
        self._call("PUT", f"{self._address}/{quote(name, safe='')}", {"value": settings})

    def names(self) -> list[str]:
        return [shovel["name"] for shovel in self._call("GET", self._address).json()]

    def remove_all(self) -> None:
        for name in self.names():
            self._session.delete(f"{self._address}/{quote(name, safe='')}", timeout=10)

    def _call(self, method: str, address: str, body: Any = None) -> requests.Response:
        answer = self._session.request(method, address, json=body, timeout=30)
        if not answer.ok:
            raise ContenderFailed(f"the broker refused a shovel: {answer.status_code} {answer.text[:200]}")
        return answer


class Shovel:
    """A mover that is a shovel per source."""

    share = 1.0

    def __init__(self, name: str, protocol: str, shovels: Shovels, queues: Queues) -> None:
        self.name = name
        self._protocol = protocol
        self._shovels = shovels
        self._queues = queues

    def measure(self, move: Move, deadline: float) -> Measured:
        try:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                begun = time.perf_counter()
                for _ in pool.map(lambda source: self._start(source, move), move.sources):
                    pass
                in_time = self._queues.wait_for_depth(move.target, move.messages, deadline)
                seconds = time.perf_counter() - begun
            if not in_time:
                raise ContenderFailed("it did not end in time")
            self._wait_until_gone()
        finally:
            self._shovels.remove_all()
        return Measured(seconds)

    def _start(self, source: str, move: Move) -> None:
        self._shovels.start(f"bench {source}", self._settings(source, move))

    def _settings(self, source: str, move: Move) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "src-protocol": self._protocol,
            "src-uri": _THIS_BROKER,
            "src-queue": source,
            "src-delete-after": move.each,
            "dest-protocol": self._protocol,
            "dest-uri": _THIS_BROKER,
            "dest-queue": move.target,
            "ack-mode": "on-confirm",
        }
        if self._protocol != "local":  # which has credits instead, and refuses this
            settings["src-prefetch-count"] = _PREFETCH
        return settings

    def _wait_until_gone(self) -> None:
        end = time.monotonic() + _TO_DELETE_THEMSELVES
        while self._shovels.names():
            if time.monotonic() > end:
                raise ContenderFailed("a shovel stayed after its last message")
            time.sleep(0.02)
