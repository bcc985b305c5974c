"""Who may see what, decided without a server; and the token that is made when none is configured."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from raquo.distributor.web.access import Access, Address, access_for, token_in
from raquo.distributor.web.errors import BadAddress, BadToken

EVERYWHERE = "0.0.0.0"  # noqa: S104 (what is tested)
CLOSED = ["/", "/api/v1/status", "/api/v1/plan", "/api/v1/explain", "/nowhere", "//metrics", "/metrics/"]
OPEN = ["/healthz", "/readyz", "/metrics", "/openapi.json"]


def access(host: str = "127.0.0.1", configured: bool = True, hosts: tuple[str, ...] = ()) -> Access:
    return Access(Address(host, 15690), "secret", configured, hosts)


def status(access: Access, path: str, method: str = "GET", host: str | None = "localhost", auth: str = "") -> int:
    """The HTTP status that access decides on; 200: it is served."""
    refusal = access.refusal(method, path, host, auth or None)
    return refusal.status if refusal else 200


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:15690", "localhost.", "127.0.0.1", "127.0.0.1:8080", "127.1.2.3", "[::1]:15690", "[::1]"],
)
def test_loopback_names_are_known_whatever_the_port(host: str) -> None:
    assert status(access(), "/api/v1/status", host=host) == 200


@pytest.mark.parametrize(
    "host",
    [None, "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:15690", "10.0.0.7",
     "[::2]", "localhost@evil.example", "evil.example#localhost", EVERYWHERE],
)  # fmt: skip
def test_other_names_are_refused_even_probes(host: str | None) -> None:
    assert {status(access(), path, host=host, auth="Bearer secret") for path in OPEN + CLOSED} == {403}


def test_the_address_listened_on_and_configured_hosts_are_known() -> None:
    listener = access("10.0.0.7", hosts=("Raquo.example.com", "[fd00:0::1]"))
    for host in ("10.0.0.7:15690", "raquo.EXAMPLE.com", "raquo.example.com:443", "[fd00::1]:80"):
        assert status(listener, "/healthz", host=host) == 200
    for host in ("10.0.0.8", "example.com", "sub.raquo.example.com"):
        assert status(listener, "/healthz", host=host) == 403


@pytest.mark.parametrize("everywhere", [EVERYWHERE, "::"])
def test_a_listener_on_all_addresses_is_known_by_any_address_and_by_no_name(everywhere: str) -> None:
    assert status(access(everywhere), "/healthz", host="10.1.2.3:15690") == 200
    assert status(access(everywhere), "/healthz", host="[fd00::1]:15690") == 200
    assert status(access(everywhere), "/healthz", host="evil.example") == 403


@pytest.mark.parametrize("configured", [True, False])
def test_on_loopback_everything_may_be_read(configured: bool) -> None:
    assert {status(access(configured=configured), path) for path in OPEN + CLOSED} == {200}


@pytest.mark.parametrize("method", ["PUT", "POST", "PATCH", "DELETE", "put", "ANYTHING"])
def test_writes_need_the_token_everywhere(method: str) -> None:
    for listener in (access(), access(configured=False), access("10.0.0.7", hosts=("localhost",))):
        assert status(listener, "/api/v1/bypass", method) == 401
        assert status(listener, "/healthz", method) == 401
        assert status(listener, "/api/v1/bypass", method, auth="Bearer secret") == 200


@pytest.mark.parametrize(
    "auth", ["secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "Basic secret"]
)
def test_a_token_that_is_not_quite_it_is_refused(auth: str) -> None:
    assert status(access(), "/api/v1/bypass", "PUT", auth=auth) == 401


def test_a_token_outside_ascii_is_compared_and_not_stumbled_over() -> None:
    assert status(access(), "/api/v1/bypass", "PUT", auth="Bearer é") == 401


def test_the_word_bearer_may_be_written_in_any_case() -> None:
    assert status(access(), "/api/v1/bypass", "PUT", auth="bearer secret") == 200


def test_beyond_loopback_without_a_configured_token_the_made_one_opens_nothing() -> None:
    listener = access(EVERYWHERE, configured=False)
    assert {status(listener, path) for path in OPEN} == {200}
    assert {status(listener, path, auth="Bearer secret") for path in CLOSED} == {403}
    assert status(listener, "/api/v1/bypass", "PUT", auth="Bearer secret") == 403
    assert not listener.sees_tenants("Bearer secret")


def test_a_refusal_says_what_to_configure() -> None:
    refusal = access(EVERYWHERE, configured=False).refusal("GET", "/api/v1/status", "localhost", None)
    assert refusal is not None
    assert "0.0.0.0:15690" in refusal.reason
    assert "http_token" in refusal.reason


def test_beyond_loopback_with_a_configured_token_reads_need_it_but_for_the_page() -> None:
    listener = access(EVERYWHERE)
    assert {status(listener, path) for path in [*OPEN, "/"]} == {200}
    assert {status(listener, path) for path in CLOSED[1:]} == {401}
    assert {status(listener, path, auth="Bearer secret") for path in CLOSED} == {200}


def test_tenants_are_named_in_metrics_on_loopback_or_for_the_token() -> None:
    assert access(configured=False).sees_tenants(None)
    assert access(EVERYWHERE).sees_tenants("Bearer secret")
    assert not access(EVERYWHERE).sees_tenants("Bearer wrong")
    assert not access(EVERYWHERE).sees_tenants(None)


@pytest.mark.parametrize(
    ("text", "host", "port", "loopback"),
    [
        ("127.0.0.1:15690", "127.0.0.1", 15690, True),
        ("[::1]:80", "::1", 80, True),
        ("Localhost:0", "Localhost", 0, True),
        ("0.0.0.0:1", EVERYWHERE, 1, False),
        ("[::]:1", "::", 1, False),
        ("localhost.example.com:1", "localhost.example.com", 1, False),
    ],
)
def test_addresses_are_host_and_port(text: str, host: str, port: int, loopback: bool) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, address.loopback) == (host, port, loopback)
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "15690", ":15690", "localhost", "localhost:", "localhost:http", "::1:80",
                                  "[::1]", "[]:1", "a:70000", "a:-1", "[a]:1", "a:²"])  # fmt: skip
def test_what_is_no_address_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(BadAddress) as raised:
        Address.parse(text)
    assert repr(text) in str(raised.value)


def test_the_token_is_never_shown() -> None:
    assert "secret" not in repr(access())


def test_an_empty_token_lets_nobody_in() -> None:
    with pytest.raises(BadToken):
        Access(Address("127.0.0.1", 1), "")


def test_a_configured_token_is_used_and_none_is_made(tmp_path: Path) -> None:
    made = access_for("0.0.0.0:15690", " mine\n", ("name",), tmp_path / "state")
    assert (made.token, made.configured, made.hosts) == ("mine", True, ("name",))
    assert not (tmp_path / "state").exists()


def test_without_a_configured_token_one_is_made_for_this_user_only(tmp_path: Path) -> None:
    made = access_for("127.0.0.1:15690", "", (), tmp_path / "deep" / "state")
    (file,) = (tmp_path / "deep" / "state").iterdir()
    assert not made.configured
    assert len(made.token) >= 32
    assert file.read_text().strip() == made.token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_made_token_is_kept_over_restarts(tmp_path: Path) -> None:
    assert token_in(tmp_path) == token_in(tmp_path)


@pytest.mark.parametrize(("mode", "content"), [(0o644, "known"), (0o660, "known"), (0o600, "")])
def test_a_token_that_others_could_read_or_that_is_empty_is_made_anew(tmp_path: Path, mode: int, content: str) -> None:
    token_in(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    file.chmod(mode)
    assert token_in(tmp_path) not in ("known", "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_replicas_that_start_at_once_get_one_token(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: token_in(tmp_path), range(50)))) == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_a_place_where_no_token_can_be_kept_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadToken, match=r"^cannot keep a token in [^\n]+$"):
        token_in(tmp_path / "file")
