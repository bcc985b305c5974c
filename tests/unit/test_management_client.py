"""The management client against a server that misbehaves on demand."""

import base64
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from raquo.broker.errors import AccessRefused, BadUrl, BrokerUnreachable, ManagementError, MissingExtra
from raquo.broker.management import ManagementClient, QueueInfo
from raquo.broker.url import BrokerUrl, Tls
from support.http_server import serving

OVERVIEW = {"rabbitmq_version": "4.3.6", "cluster_name": "c", "node": "n"}


@pytest.fixture
def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port of this machine that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_a_5xx_is_asked_again_and_then_forgotten() -> None:
    answers = iter([(503, {"error": "starting"}), (500, b"oops"), (200, OVERVIEW)])
    with serving(lambda path: next(answers)) as server, ManagementClient(server.url) as client:
        assert client.version == "4.3.6"
        assert len(server.asked) == 3


def test_a_lasting_5xx_is_given_up_after_three_times() -> None:
    with serving(lambda path: (503, {"reason": "no\nluck"})) as server, ManagementClient(server.url) as client:
        with pytest.raises(ManagementError, match="503: no luck") as caught:
            client.overview()
        assert caught.value.status == 503
        assert len(server.asked) == 3


@pytest.mark.parametrize(("status", "kind"), [(401, AccessRefused), (403, AccessRefused), (404, ManagementError)])
def test_a_refusal_is_not_asked_again(status: int, kind: type[Exception]) -> None:
    with serving(lambda path: (status, {"error": "x", "reason": "not for you"})) as server:
        with ManagementClient(server.url, password="s3cret") as client, pytest.raises(kind) as caught:
            client.overview()
        assert len(server.asked) == 1
    assert "not for you" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", [], "text"])
def test_another_kind_of_server_is_recognised(body: object) -> None:
    with serving(lambda path: (200, body)) as server, ManagementClient(server.url) as client:
        with pytest.raises(ManagementError):
            client.overview()
        assert len(server.asked) == 1


def test_a_redirect_is_not_followed_with_our_password() -> None:
    with serving(lambda path: (302, b"")) as server, ManagementClient(server.url) as client:
        with pytest.raises(ManagementError, match="302"):
            client.overview()
        assert len(server.asked) == 1


def test_an_address_where_nobody_listens_is_one_line_without_the_password(closed_port: int) -> None:
    address = f"127.0.0.1:{closed_port}"
    with ManagementClient(f"http://user:s3cret@{address}") as client, pytest.raises(BrokerUnreachable) as caught:
        client.overview()
    assert str(caught.value) == f"the management API at http://{address} does not answer: Connection refused"


def test_addresses_are_tried_in_turn_and_the_one_that_answered_is_kept(closed_port: int) -> None:
    with serving(lambda path: (200, OVERVIEW)) as server:
        with ManagementClient([f"http://127.0.0.1:{closed_port}", server.url]) as client:
            assert client.version == "4.3.6"
            assert client.version == "4.3.6"
            assert client._http._bases[0] == server.url


def test_a_server_that_never_answers_costs_one_timeout(silent_port: int) -> None:
    began = time.monotonic()
    with ManagementClient(f"http://127.0.0.1:{silent_port}", timeout=(1, 0.3)) as client:
        with pytest.raises(BrokerUnreachable, match="timed out"):
            client.overview()
    assert time.monotonic() - began < 2


def test_user_and_password_come_from_the_broker_or_from_the_address() -> None:
    broker = BrokerUrl.parse("amqp://us%C3%A9r:p%E2%82%ACss@host/v")
    with serving(lambda path: (200, OVERVIEW)) as server:
        with ManagementClient.for_broker(broker, server.url) as client:
            client.overview()
        with ManagementClient.for_broker(broker, server.url.replace("//", "//other:w%40rd@")) as client:
            client.overview()
        sent = [base64.b64decode(str(header).split()[1]).decode() for header in server.authorizations]
    assert sent == ["usér:p€ss", "other:w@rd"]


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port}")
    with serving(lambda path: (200, OVERVIEW)) as server, ManagementClient(server.url) as client:
        assert client.version == "4.3.6"


def test_names_are_percent_encoded() -> None:
    with serving(lambda path: (200, {"name": "x"})) as server, ManagementClient(server.url, vhost="/") as client:
        client.queue("worker-input»t/1%2F")
        assert server.asked == ["/api/queues/%2F/worker-input%C2%BBt%2F1%252F"]


def test_queues_are_listed_cheaply_and_unpaged_while_they_are_few() -> None:
    def answer(path: str) -> tuple[int, object]:
        return 200, ({"total_count": 1, "items": []} if "page=1" in path else [{"name": "a", "messages": 3}])

    with serving(answer) as server, ManagementClient(server.url) as client:
        assert list(client.queues()) == [QueueInfo("a", messages=3)]
        assert list(client.queues()) == [QueueInfo("a", messages=3)]
        listings = [parse_qs(urlsplit(path).query) for path in server.asked if "page=" not in path]
    assert len(server.asked) == 3
    assert all(query["disable_stats"] == ["true"] for query in listings)
    assert all(query["enable_queue_totals"] == ["true"] for query in listings)


def test_pages_are_followed_to_the_end_and_a_queue_on_two_of_them_is_told_once() -> None:
    pages = {"1": ["a", "b"], "2": ["b", "c"], "3": ["d"]}

    def answer(path: str) -> tuple[int, object]:
        number = parse_qs(urlsplit(path).query)["page"][0]
        items = [{"name": name} for name in pages[number]]
        return 200, {"total_count": 5, "page_count": 3, "items": items}

    with serving(answer) as server, ManagementClient(server.url, page_above=4) as client:
        assert [queue.name for queue in client.queues()] == ["a", "b", "c", "d"]


def test_a_page_that_is_gone_meanwhile_ends_the_listing() -> None:
    def answer(path: str) -> tuple[int, object]:
        if "page=1&" in path:
            return 200, {"total_count": 900, "page_count": 2, "items": [{"name": "a"}]}
        return 400, {"error": "page_out_of_range", "reason": "page out of range"}

    with serving(answer) as server, ManagementClient(server.url, page_above=4) as client:
        assert [queue.name for queue in client.queues()] == ["a"]


def test_whatever_a_broker_leaves_out_is_tolerated() -> None:
    entry: dict[str, Any] = {"name": "s", "type": "stream", "exclusive": None, "arguments": [], "messages": "unknown"}
    queue = QueueInfo.read(entry)
    assert (queue.messages, queue.exclusive, queue.arguments) == (None, False, {})
    assert QueueInfo.read({"name": "only"}) == QueueInfo("only")


@pytest.mark.parametrize("url", ["host:15672", "amqp://host", "http://", "http://host?x=1"])
def test_an_address_that_is_none_is_refused_before_anything_connects(url: str) -> None:
    with pytest.raises(ManagementError, match="looks like"):
        ManagementClient(url)


def test_no_address_is_refused() -> None:
    with pytest.raises(ManagementError, match="no address"):
        ManagementClient([])


def test_a_missing_ca_is_named_before_anything_connects() -> None:
    with pytest.raises(BadUrl, match=r"/no/ca\.pem"):
        ManagementClient("https://host", tls=Tls(ca="/no/ca.pem"))


def test_without_requests_the_line_to_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(MissingExtra, match=r'pip install "raquo\[distributor\]"'):
        ManagementClient("http://host")


def test_it_may_be_used_from_several_threads() -> None:
    with serving(lambda path: (200, OVERVIEW)) as server, ManagementClient(server.url) as client:
        versions: list[str] = []
        threads = [threading.Thread(target=lambda: versions.append(client.version)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert versions == ["4.3.6"] * 8
