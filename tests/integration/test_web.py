"""The web server as its users meet it: a real one, on a free port, asked by HTTP."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests

from raquo.distributor.status import PlannedTarget
from raquo.distributor.web.access import Access, Address
from raquo.distributor.web.errors import CannotListen
from raquo.distributor.web.server import WebServer
from raquo.mutators.errors import RaquoError
from support.web import FakeView, serving_view

LOOPBACK = Access(Address("127.0.0.1", 0), token="secret", configured=False)
BEARER = {"Authorization": "Bearer secret"}
BYPASS = {"on": True, "reason": "an incident", "seconds": 60}


@pytest.fixture
def view() -> FakeView:
    return FakeView()


@pytest.fixture
def url(view: FakeView) -> Iterator[str]:
    with serving_view(view, LOOPBACK) as url:
        yield url


def get(url: str, **headers: str) -> requests.Response:
    return requests.get(url, headers=headers, timeout=10)


def put(url: str, body: object, headers: dict[str, str] | None = None) -> requests.Response:
    return requests.put(f"{url}/api/v1/bypass", json=body, headers=headers, timeout=10)


def error_of(response: requests.Response) -> str:
    """The error, which is JSON and one line, whatever happened."""
    text = response.json()["error"]
    assert isinstance(text, str)
    assert text
    assert "\n" not in text
    return text


def test_a_daemon_whose_loop_turns_is_alive(url: str, view: FakeView) -> None:
    assert get(f"{url}/healthz").status_code == 200
    view.is_alive = False
    answer = get(f"{url}/healthz")
    assert (answer.status_code, error_of(answer)) == (503, "the loop has not turned lately")


def test_readiness_tells_all_reasons(url: str, view: FakeView) -> None:
    assert get(f"{url}/readyz").json() == {"ready": True, "problems": []}
    view.reasons = ["the broker does not answer", "the snapshot is 60 s old"]
    answer = get(f"{url}/readyz")
    assert answer.status_code == 503
    assert answer.json()["problems"] == view.reasons
    assert all(reason in error_of(answer) for reason in view.reasons)


def test_metrics_are_prometheus_text(url: str) -> None:
    answer = get(f"{url}/metrics")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'raquo_eligible_messages{target="worker-input",vhost="/"} 3.0\n' in answer.text
    assert 'tenant="acme"' in answer.text


def test_the_status_is_the_json_that_users_rely_on(url: str, view: FakeView) -> None:
    told = get(f"{url}/api/v1/status").json()
    assert told == view.shown.as_json() | {"targets": [_as_lists(target) for target in view.shown.as_json()["targets"]]}
    assert get(f"{url}/api/v1/status?target=worker-input").json()["targets"] == told["targets"]


def test_the_plan_lists_grants_of_one_target_or_all(url: str, view: FakeView) -> None:
    view.planned = [PlannedTarget(name, 1, 9, 10, "equal", ((f"{name}»a", 4),)) for name in ("one", "two")]
    assert [plan["target"] for plan in get(f"{url}/api/v1/plan").json()["targets"]] == ["one", "two"]
    only = get(f"{url}/api/v1/plan?target=two").json()["targets"]
    assert [plan["grants"] for plan in only] == [[{"queue": "two»a", "count": 4}]]


def test_explain_tells_of_a_tenant(url: str) -> None:
    assert get(f"{url}/api/v1/explain?target=worker-input&tenant=acme").json()["tenant"] == "acme"


@pytest.mark.parametrize("path", ["status?target=nope", "plan?target=nope", "explain?target=nope&tenant=acme"])
def test_an_unknown_target_is_not_found_and_named(url: str, path: str) -> None:
    answer = get(f"{url}/api/v1/{path}")
    assert answer.status_code == 404
    assert "'nope'" in error_of(answer)


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/docs", 404), ("/redoc", 404), ("/healthz/", 404)])
def test_what_is_not_there_is_an_error_in_json(url: str, path: str, status: int) -> None:
    answer = get(url + path)
    assert answer.status_code == status
    assert path in error_of(answer)


def test_a_question_without_its_target_is_refused_and_the_field_named(url: str) -> None:
    answer = get(f"{url}/api/v1/explain")
    assert answer.status_code == 400
    assert "target" in error_of(answer)


def test_a_wrong_method_is_an_error_in_json_that_says_what_is_allowed(url: str) -> None:
    answer = requests.put(f"{url}/healthz", headers=BEARER, timeout=10)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")
    assert error_of(answer)


def test_bypass_needs_the_token_on_loopback_too(url: str, view: FakeView) -> None:
    for headers in (None, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
        answer = put(url, BYPASS, headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "Bearer" in error_of(answer)
    assert view.bypasses == []


def test_bypass_with_the_token_reaches_the_daemon(url: str, view: FakeView) -> None:
    assert put(url, BYPASS, BEARER).json() == BYPASS
    assert put(url, {"on": False, "reason": "over"}, BEARER).status_code == 200
    assert view.bypasses == [(True, "an incident", 60), (False, "over", None)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"on": "yes"}, "on"),
        ({"reason": " "}, "reason"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": "60"}, "seconds"),
        ({"secs": 60}, "secs"),
    ],
)
def test_a_bypass_that_is_not_understood_changes_nothing(
    url: str, view: FakeView, change: dict[str, Any], named: str
) -> None:
    answer = put(url, BYPASS | change, BEARER)
    assert answer.status_code == 400
    assert f"body.{named}" in error_of(answer)
    assert view.bypasses == []


def test_a_body_that_is_no_json_is_an_error_in_json(url: str) -> None:
    answer = requests.put(f"{url}/api/v1/bypass", data=b"{", headers=BEARER, timeout=10)
    assert answer.status_code == 400
    assert error_of(answer)


def test_a_name_that_was_pointed_at_loopback_is_refused_everywhere(url: str) -> None:
    for path in ("/", "/healthz", "/metrics", "/api/v1/status"):
        answer = get(url + path, Host="evil.example")
        assert answer.status_code == 403
        assert "evil.example" in error_of(answer)


def test_other_origins_may_read_nothing(url: str) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "PUT"}
    for answer in (get(f"{url}/api/v1/status", **asked), requests.options(url, headers=asked, timeout=10)):
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_beyond_loopback_without_a_token_only_what_names_no_tenant_is_served(view: FakeView) -> None:
    with serving_view(view, replace(LOOPBACK, address=Address("0.0.0.0", 0))) as url:  # noqa: S104 (what is tested)
        url = url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        for path in ("/healthz", "/readyz", "/openapi.json", "/metrics"):
            answer = get(url + path, **BEARER)
            assert answer.status_code == 200
            assert "acme" not in answer.text
        for path in ("/", "/api/v1/status", "/api/v1/plan", "/api/v1/explain?target=worker-input", "/nowhere"):
            answer = get(url + path, **BEARER)
            assert answer.status_code == 403
            assert "http_token" in error_of(answer)
        assert put(url, BYPASS, BEARER).status_code == 403


def test_beyond_loopback_the_configured_token_opens_what_is_closed_without_it(view: FakeView) -> None:
    access = Access(Address("0.0.0.0", 0), token="secret")  # noqa: S104 (what is tested)
    with serving_view(view, access) as url:
        url = url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert get(f"{url}/api/v1/status").status_code == 401
        assert get(f"{url}/api/v1/status", **BEARER).status_code == 200
        assert "acme" not in get(f"{url}/metrics").text
        assert "acme" in get(f"{url}/metrics", **BEARER).text


def test_the_page_loads_nothing_from_anywhere(url: str) -> None:
    answer = get(url)
    assert "/api/v1/status" in answer.text
    assert "//" not in answer.text
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]


def test_openapi_names_the_endpoints_and_which_of_them_needs_the_token(url: str) -> None:
    paths = get(f"{url}/openapi.json").json()["paths"]
    assert {"/healthz", "/readyz", "/metrics", "/api/v1/status", "/api/v1/plan", "/api/v1/explain"} <= set(paths)
    assert paths["/api/v1/bypass"]["put"]["security"] == [{"token": []}]
    assert "security" not in paths["/api/v1/status"]["get"]


def test_what_the_daemon_cannot_do_now_is_503_in_its_words(url: str, view: FakeView) -> None:
    view.failure = RaquoError("the broker\ndoes not answer")
    answer = get(f"{url}/api/v1/status")
    assert (answer.status_code, error_of(answer)) == (503, "the broker does not answer")


def test_a_mistake_of_ours_is_500_without_inner_workings(url: str, view: FakeView) -> None:
    view.failure = ValueError("inner workings")
    answer = get(f"{url}/api/v1/status")
    assert answer.status_code == 500
    assert "inner" not in error_of(answer)
    view.failure = None
    assert get(f"{url}/api/v1/status").status_code == 200


def test_a_port_in_use_is_one_line_that_names_it(url: str) -> None:
    address = Address.parse(url.removeprefix("http://"))
    with pytest.raises(CannotListen) as raised:
        asyncio.run(WebServer(_nothing, address).start())
    assert str(raised.value) == f"cannot listen on {address}: Address already in use"


def test_an_address_of_another_machine_is_one_line() -> None:
    with pytest.raises(CannotListen, match=r"^cannot listen on 192\.0\.2\.1:0: [^\n]+$"):
        asyncio.run(WebServer(_nothing, Address("192.0.2.1", 0)).start())


def test_the_server_leaves_signals_alone_and_can_be_stopped() -> None:
    async def serve() -> None:
        server = WebServer(_nothing, Address("localhost", 0))
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        await server.start()
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
        port = Address.parse(server.url.removeprefix("http://")).port
        assert port
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port))

    asyncio.run(serve())


def test_a_reader_who_never_finishes_does_not_hold_up_the_end(view: FakeView) -> None:
    with serving_view(view, LOOPBACK) as url:
        address = Address.parse(url.removeprefix("http://"))
        lingering = socket.create_connection((address.host, address.port))
        lingering.sendall(b"PUT /api/v1/bypass HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n"
                          b"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n")  # fmt: skip
        assert lingering.recv(100).startswith(b"HTTP/1.1 100")  # the endpoint waits for a body that never comes
    lingering.close()  # the block has ended within its deadline


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nothing."""


def _as_lists(target: dict[str, Any]) -> dict[str, Any]:
    return target | {"staging": list(target["staging"])}
