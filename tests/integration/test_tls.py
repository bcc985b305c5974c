"""TLS: the broker is verified, its clients show certificates, and what fails says why."""

from dataclasses import replace

import pika
import pytest

from raquo.broker.errors import BrokerUnreachable, ManagementError
from raquo.broker.management import ManagementClient
from raquo.broker.url import BrokerUrl, Tls
from support.certificates import Certificates, make_certificates
from support.tls import TlsNode


@pytest.fixture
def tls(tls_node: TlsNode) -> Tls:
    """What a client of `tls_node` needs."""
    return Tls(str(tls_node.ca), str(tls_node.client_cert), str(tls_node.client_key))


@pytest.fixture
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """The certificates of an authority that `tls_node` does not know."""
    return make_certificates(tmp_path_factory.mktemp("strangers"))


def test_the_management_api_answers_a_client_with_its_certificate(tls_node: TlsNode, tls: Tls) -> None:
    with ManagementClient(tls_node.management_url, tls=tls) as client:
        assert client.version == tls_node.version


def test_the_management_address_may_come_from_the_broker_url(tls_node: TlsNode, tls: Tls) -> None:
    broker = replace(BrokerUrl.parse(tls_node.url), tls=tls)
    with ManagementClient.for_broker(broker, tls_node.management_url) as client:
        assert client.version == tls_node.version


def test_a_broker_of_an_unknown_authority_is_not_trusted(tls_node: TlsNode, tls: Tls, strangers: Certificates) -> None:
    for ca in (None, str(strangers.ca)):
        with ManagementClient(tls_node.management_url, tls=replace(tls, ca=ca)) as client:
            with pytest.raises(ManagementError, match=r"TLS with https://.* failed: .*certificate"):
                client.overview()


def test_a_broker_of_another_name_is_not_trusted(tls_node: TlsNode, tls: Tls) -> None:
    url = tls_node.management_url.replace("127.0.0.1", "localhost")
    with ManagementClient(url, tls=tls) as client, pytest.raises(ManagementError, match="localhost"):
        client.overview()


def test_a_client_without_a_certificate_is_refused(tls_node: TlsNode, tls: Tls) -> None:
    with ManagementClient(tls_node.management_url, tls=replace(tls, cert=None, key=None)) as client:
        with pytest.raises((ManagementError, BrokerUnreachable)):
            client.overview()


@pytest.mark.filterwarnings("default")
def test_without_verification_it_works_and_warns(tls_node: TlsNode, tls: Tls) -> None:
    with ManagementClient(tls_node.management_url, tls=replace(tls, ca=None, verify=False)) as client:
        with pytest.warns(Warning, match="Unverified HTTPS request"):
            assert client.version == tls_node.version


def test_amqp_works_with_the_context_of_the_url(tls_node: TlsNode, tls: Tls) -> None:
    query = f"cacertfile={tls.ca}&certfile={tls.cert}&keyfile={tls.key}"
    url = BrokerUrl.parse(f"{tls_node.url}?{query}")
    assert url.tls == tls
    parameters = pika.ConnectionParameters(
        url.host, url.port, url.vhost, ssl_options=pika.SSLOptions(tls.context(), url.host)
    )
    connection = pika.BlockingConnection(parameters)
    connection.channel().queue_declare("over-tls", exclusive=True)
    connection.close()
