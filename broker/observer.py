"""What the management API tells beyond the listing: who listens to the bell, and which queues were published to lately.

Both are looked at by hand before something is deleted, and never in a round: statistics cost the broker more than the
cheap listing, and are ten to fifteen seconds old.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from raquo.broker.bell import EXCHANGE
from raquo.broker.errors import ManagementError
from raquo.broker.management_http import ManagementHttp
from raquo.broker.url import BrokerUrl

REMEMBERED = 3600.0  # how far back the broker's statistics of a queue go, as it comes
_FINE, _FINE_STEP = 600, 5  # seconds: the statistics of the last ten minutes are kept in finer steps
_COARSE_STEP = 60
_NOT_FOUND = 404


class Observer:
    """Looks at one virtual host; close it, or use it in a `with` block."""

    def __init__(self, brokers: Sequence[BrokerUrl], management_urls: Sequence[str] = ()) -> None:
        one = brokers[0]
        urls = [url for url in management_urls if url] or [broker.management_url() for broker in brokers]
        self._http = ManagementHttp(urls, one.user, one.password, one.tls)
        self._vhost = one.vhost

    def __enter__(self) -> "Observer":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def listeners(self) -> int:
        """How many distributors listen to the bell; the broker itself removes one that is gone."""
        try:
            return len(self._http.get_list("exchanges", self._vhost, EXCHANGE, "bindings", "source"))
        except ManagementError as error:
            if error.status == _NOT_FOUND:
                return 0
            raise

    def published_to(self, seconds: float) -> set[str]:
        """The queues that got a message in so many seconds, at most an hour, as far as the statistics tell."""
        found = self._published_to(min(seconds, _FINE), _FINE_STEP)
        return found | self._published_to(seconds, _COARSE_STEP) if seconds > _FINE else found

    def _published_to(self, seconds: float, step: int) -> set[str]:
        listing = self._http.get_list(
            "queues",
            self._vhost,
            msg_rates_age=str(max(int(seconds), 2 * step)),
            msg_rates_incr=str(step),
            columns="name,message_stats.publish,message_stats.publish_details.samples",
        )
        return {str(entry["name"]) for entry in listing if _grew(entry.get("message_stats"))}


def _grew(statistics: Any) -> bool:
    """Whether the count of publishes changed; the count itself may be ahead of its own samples."""
    if not isinstance(statistics, Mapping):
        return False
    details = statistics.get("publish_details")
    samples = details.get("samples") if isinstance(details, Mapping) else None
    if not isinstance(samples, list):
        return False
    counts = {sample.get("sample") for sample in samples if isinstance(sample, Mapping)}
    return len(counts | {statistics.get("publish")}) > 1
