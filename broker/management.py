"""The broker's management API, read only: which queues there are, who consumes them, and who the broker is.

The listing of queues is the cheap one (`disable_stats` and `enable_queue_totals`): a sixth to a twelfth of
the default's cost, with depths that are a tenth of a second old for classic queues and up to five seconds for
quorum queues, where the default's lag by up to ten. It lacks policies and consumers; `queue` has those.

Below 50,000 queues a listing is one answer. Above, it comes in pages, and each page is cut from a fresh list:
a queue may be on two of them (it is told once) or fall between two. Missing once does not mean deleted.
"""

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from raquo.broker.errors import AccessRefused, ManagementError
from raquo.broker.management_answers import (
    ConsumerInfo,
    Overview,
    PolicyInfo,
    QueueDetails,
    QueueInfo,
    VhostLimits,
)
from raquo.broker.management_http import ManagementHttp
from raquo.broker.url import BrokerUrl, Tls

__all__ = [
    "ConsumerInfo",
    "ManagementClient",
    "Overview",
    "PolicyInfo",
    "QueueDetails",
    "QueueInfo",
    "VhostLimits",
]

_CHEAP = {
    "disable_stats": "true",
    "enable_queue_totals": "true",
    "columns": "name,type,durable,auto_delete,exclusive,arguments,state,delivery_limit,"
    "messages,messages_ready,messages_unacknowledged",
}
_PAGE_ABOVE = 50_000
_PAGE_SIZE = 500  # the largest that the API allows
_ALARM = 503


class ManagementClient:
    """Reads one virtual host through the management API; close it, or use it in a `with` block."""

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        user: str = "guest",
        password: str = "guest",  # noqa: S107
        vhost: str = "/",
        tls: Tls | None = None,
        timeout: tuple[float, float] = (2.0, 10.0),
        page_above: int = _PAGE_ABOVE,
    ) -> None:
        """`urls` are tried in turn, `timeout` is for connecting and for reading, in seconds."""
        addresses = [urls] if isinstance(urls, str) else list(urls)
        self._http = ManagementHttp(addresses, user, password, tls, timeout)
        self._vhost = vhost
        self._page_above = page_above
        self._last_count: int | None = None

    @classmethod
    def for_broker(
        cls, broker: BrokerUrl | Sequence[BrokerUrl], explicit: str | Sequence[str] = (), **settings: Any
    ) -> "ManagementClient":
        """For the broker's user and virtual host, at the addresses given, else on the broker's own hosts."""
        brokers = [broker] if isinstance(broker, BrokerUrl) else list(broker)
        given = [explicit] if isinstance(explicit, str) else list(explicit)
        urls = [url for url in given if url] or [one.management_url() for one in brokers]
        one = brokers[0]
        return cls(urls, user=one.user, password=one.password, vhost=one.vhost, tls=one.tls, **settings)

    def __enter__(self) -> "ManagementClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def overview(self) -> Overview:
        """Who the broker is."""
        return Overview.read(self._http.get_object("overview"))

    @property
    def version(self) -> str:
        """The broker's version, asked now."""
        return self.overview().version

    def queues(self) -> Iterator[QueueInfo]:
        """Every queue of the virtual host, each once, by the cheap listing."""
        if self._last_count is None:
            self._last_count = self._count()
        seen: set[str] = set()
        for entry in self._entries(self._last_count):
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str):
                raise ManagementError("the management API listed something that is no queue")
            if name not in seen:
                seen.add(name)
                yield QueueInfo.read(entry)
        self._last_count = len(seen)

    def queue(self, name: str) -> QueueDetails:
        """One queue with its policy and its consumers; a missing one is a ManagementError of status 404."""
        return QueueDetails.read(self._http.get_object("queues", self._vhost, name))

    def consumers(self) -> list[ConsumerInfo]:
        """Every consumer in the virtual host."""
        return [ConsumerInfo.read(entry) for entry in self._http.get_list("consumers", self._vhost)]

    def policies(self) -> list[PolicyInfo]:
        """The policies of the virtual host, operators' included, as far as this user may see them."""
        return [
            PolicyInfo.read(entry, operator=kind == "operator-policies")
            for kind in ("policies", "operator-policies")
            for entry in self._permitted(kind)
        ]

    def limits(self) -> VhostLimits:
        """How much the virtual host may have."""
        return VhostLimits.read(self._http.get_list("vhost-limits", self._vhost))

    def alarmed(self) -> bool:
        """Whether a node has a memory or disk alarm, and so takes no messages."""
        try:
            self._http.get_object("health", "checks", "alarms")
        except ManagementError as error:
            if error.status != _ALARM:
                raise
            return True
        return False

    def _permitted(self, kind: str) -> list[dict[str, Any]]:
        try:
            return self._http.get_list(kind, self._vhost)
        except (ManagementError, AccessRefused):
            return []

    def _count(self) -> int:
        """About how many queues there are: a page of one says it without listing them."""
        page = self._http.get_object("queues", self._vhost, **_CHEAP, page="1", page_size="1")
        return _number(page.get("total_count"))

    def _entries(self, expected: int) -> Iterator[dict[str, Any]]:
        if expected > self._page_above:
            return self._pages()
        return iter(self._http.get_list("queues", self._vhost, **_CHEAP))

    def _pages(self) -> Iterator[dict[str, Any]]:
        number, pages = 1, 1
        while number <= pages:
            page = self._page(number)
            pages = _number(page.get("page_count"))
            yield from page.get("items") or []
            number += 1

    def _page(self, number: int) -> dict[str, Any]:
        try:
            return self._http.get_object(
                "queues", self._vhost, **_CHEAP, page=str(number), page_size=str(_PAGE_SIZE)
            )
        except ManagementError as error:
            if error.status == 400 and number > 1:  # queues were deleted meanwhile, and this page with them
                return {}
            raise


def _number(value: object) -> int:
    if value is not None and not isinstance(value, int):
        raise ManagementError(f"the management API counted {value!r}, which is no number")
    return value or 0
