"""Broker URLs: what is understood, what is refused in words, and that no password is ever shown."""

import pickle
import ssl
from pathlib import Path

import pytest

from raquo.broker.errors import BadUrl
from raquo.broker.url import BrokerUrl, Tls, parse_urls
from support.certificates import Certificates, make_certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def test_every_part_is_read_and_decoded() -> None:
    url = BrokerUrl.parse("amqp://us%40er:p%3A%2Fw@broker.example:5000/team%2Fone?heartbeat=20&connection_timeout=2500")
    assert (url.user, url.password) == ("us@er", "p:/w")
    assert (url.host, url.port, url.vhost) == ("broker.example", 5000, "team/one")
    assert (url.heartbeat, url.connect_timeout, url.tls) == (20, 2.5, None)


def test_what_is_missing_has_rabbitmqs_defaults() -> None:
    url = BrokerUrl.parse("amqp://")
    assert (url.host, url.port, url.user, url.password, url.vhost) == ("localhost", 5672, "guest", "guest", "/")
    assert url.heartbeat == 10


@pytest.mark.parametrize(
    ("path", "vhost"), [("", "/"), ("/", "/"), ("//", "/"), ("/%2f", "/"), ("/a", "a"), ("/a%C2%BBb", "a»b")]
)
def test_the_virtual_host_is_the_path(path: str, vhost: str) -> None:
    assert BrokerUrl.parse(f"amqp://host{path}").vhost == vhost


def test_an_ipv6_host_stands_in_brackets() -> None:
    url = BrokerUrl.parse("amqp://[::1]:5673/")
    assert (url.host, url.port) == ("::1", 5673)
    assert url.management_url() == "http://[::1]:15672"
    assert "[::1]:5673" in str(url)


def test_tls_has_its_own_port_and_verifies() -> None:
    url = BrokerUrl.parse("amqps://host")
    assert url.port == 5671
    assert url.tls == Tls(ca=None, cert=None, key=None, verify=True)


@pytest.mark.parametrize("names", [("cacertfile", "certfile", "keyfile"), ("ca", "cert", "key")])
def test_certificates_are_parameters_under_either_name(names: tuple[str, str, str]) -> None:
    ca, cert, key = names
    url = BrokerUrl.parse(f"amqps://host?{ca}=/c.pem&{cert}=/x.pem&{key}=/x.key&verify=verify_peer")
    assert url.tls == Tls("/c.pem", "/x.pem", "/x.key", verify=True)


def test_the_urls_own_parameters_win_over_arguments() -> None:
    url = BrokerUrl.parse("amqps://host?ca=/own.pem", ca="/general.pem", cert="/general-client.pem")
    assert url.tls == Tls("/own.pem", "/general-client.pem")


@pytest.mark.parametrize("text", ["verify_none", "false", "FALSE"])
def test_verification_is_only_off_when_it_is_said(text: str) -> None:
    assert BrokerUrl.parse(f"amqps://host?verify={text}").tls == Tls(verify=False)
    assert BrokerUrl.parse("amqps://host", verify=False).tls == Tls(verify=False)
    assert BrokerUrl.parse("amqps://host?verify=true", verify=False).tls == Tls(verify=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("http://host", "amqp://"),
        ("host:5672", "amqp://"),
        ("amqp:host", "amqp://"),
        ("", "amqp://"),
        ("amqp://host:0/", "port"),
        ("amqp://host:70000/", "port"),
        ("amqp://host/a/b", "%2F"),
        ("amqp://host?heartbeat=0", "heartbeat=0 is refused"),
        ("amqp://host?heartbeat=61", "1 to 60"),
        ("amqp://host?heartbeat=ten", "whole number"),
        ("amqp://host?connection_timeout=5", "milliseconds"),
        ("amqp://host?hartbeat=5", "unknown parameter 'hartbeat'"),
        ("amqp://host?heartbeat=5&heartbeat=6", "twice"),
        ("amqp://host?ca=/c.pem", "amqps://"),
        ("amqp://host?verify=false", "amqps://"),
        ("amqps://host?verify=maybe", "verify is one of"),
        ("amqps://host?key=/x.key", "certificate"),
        ("amqp://[::1/", "must look like"),
        ("amqp://a b/", "spaces"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(BadUrl) as caught:
        BrokerUrl.parse(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "amqp://user:s3/cret@host/",
        "amqp://user:s3#cret@host/",
        "amqp://user:s3?cret@host/",
        "amqp://user:s3cret@host:port/",
        "amqp://user:s3cret@host/a/b",
        "amqp://user:s3cret@[host/",
    ],
)
def test_a_broken_url_does_not_show_its_password(text: str) -> None:
    with pytest.raises(BadUrl) as caught:
        BrokerUrl.parse(text)
    assert "s3" not in str(caught.value)
    assert "cret" not in str(caught.value)


def test_neither_repr_nor_str_show_the_password() -> None:
    url = BrokerUrl.parse("amqp://user:s3cret@host/v")
    assert "s3cret" not in repr(url)
    assert str(url) == "amqp://user:***@host:5672/v"
    assert f"{url}" == str(url)


def test_a_url_travels_between_processes_whole() -> None:
    url = BrokerUrl.parse("amqps://user:s3cret@host/v?ca=/c.pem")
    assert pickle.loads(pickle.dumps(url)) == url  # noqa: S301


def test_another_virtual_host_of_the_same_broker() -> None:
    url = BrokerUrl.parse("amqp://user:s3cret@host/one")
    assert url.with_vhost("two") == BrokerUrl.parse("amqp://user:s3cret@host/two")


def test_the_management_api_is_beside_the_broker_unless_said_otherwise() -> None:
    assert BrokerUrl.parse("amqp://h:1/").management_url() == "http://h:15672"
    assert BrokerUrl.parse("amqps://h:1/").management_url() == "https://h:15671"
    assert BrokerUrl.parse("amqp://h/").management_url("https://elsewhere/rabbit/") == "https://elsewhere/rabbit"


@pytest.mark.parametrize("between", [",", ", ", " ", "\n"])
def test_several_urls_in_one_text(between: str) -> None:
    assert [url.host for url in parse_urls(f"amqp://u:a,b@one/{between}amqp://two/")] == ["one", "two"]


def test_several_urls_in_a_list_share_the_arguments() -> None:
    urls = parse_urls(["amqps://one", "amqps://two?ca=/own.pem"], ca="/c.pem")
    assert [url.tls.ca for url in urls if url.tls] == ["/c.pem", "/own.pem"]


def test_no_url_and_different_virtual_hosts_are_refused() -> None:
    with pytest.raises(BadUrl, match="no broker URL"):
        parse_urls([])
    with pytest.raises(BadUrl, match="same virtual host"):
        parse_urls(["amqp://one/a", "amqp://two/b"])


def test_a_context_verifies_certificate_and_host_name(certificates: Certificates) -> None:
    context = Tls(ca=str(certificates.ca)).context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


def test_a_context_without_verification_exists_only_when_said() -> None:
    context = Tls(verify=False).context()
    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname


def test_a_context_takes_a_client_certificate(certificates: Certificates) -> None:
    Tls(str(certificates.ca), str(certificates.client_cert), str(certificates.client_key)).context()


def test_missing_and_wrong_files_are_named_in_one_line(certificates: Certificates, tmp_path: Path) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("not a certificate")
    ca, cert = str(certificates.ca), str(certificates.client_cert)
    broken = [
        (Tls(ca="/no/ca.pem"), "/no/ca.pem"),
        (Tls(ca=str(rubbish)), str(rubbish)),
        (Tls(ca, "/no/cert.pem"), "/no/cert.pem"),
        (Tls(ca, cert, "/no/key.pem"), "/no/key.pem"),
        (Tls(ca, cert, str(certificates.server.key)), str(certificates.server.key)),
    ]
    for tls, name in broken:
        with pytest.raises(BadUrl) as caught:
            tls.context()
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_an_encrypted_key_is_refused_instead_of_asking_on_the_terminal(
    certificates: Certificates, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(certificates.client_key.read_bytes(), password=None)
    encrypted = tmp_path / "encrypted.key"
    encrypted.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(BadUrl, match=r"encrypted\.key is encrypted"):
        Tls(cert=str(certificates.client_cert), key=str(encrypted)).context()
