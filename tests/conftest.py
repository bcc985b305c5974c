"""Brokers for tests.

`node` is shared by a whole run, and every test gets a virtual host of its own on it. It is a private broker,
or the one that RAQUO_TEST_BROKER names. Tests that restart or kill a broker, or raise its alarms, use
`private_node`. Without any RabbitMQ these tests are skipped at home; in CI (CI=true) they fail.
"""

import os
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import settings

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local import LocalBroker, ServerCertificate
from raquo.broker.management import ManagementClient
from raquo.broker.url import BrokerUrl
from support.admin import Admin
from support.amqp import Amqp, connected
from support.brokers import Broker, external_broker
from support.certificates import make_certificates
from support.tls import TlsNode

settings.register_profile("raquo", deadline=None)  # a busy machine is no failure
settings.load_profile("raquo")


def _private_broker(certificate: ServerCertificate | None = None) -> LocalBroker:
    """A private broker, not started; skips the test where none can be."""
    try:
        return LocalBroker(certificate=certificate)
    except LocalBrokerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def node() -> Iterator[Broker]:
    """The broker of this run; leave it as you found it."""
    if external := external_broker():
        yield external
        return
    with _private_broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def _breakable_node() -> Iterator[LocalBroker]:
    if external_broker():
        pytest.skip("RAQUO_TEST_BROKER names a broker, and this test would have to break it")
    with _private_broker() as broker:
        yield broker


@pytest.fixture
def private_node(_breakable_node: LocalBroker) -> LocalBroker:
    """A broker that a test may restart, kill or put under alarm; it runs when a test gets it."""
    _breakable_node.start()
    return _breakable_node


@pytest.fixture(scope="session")
def tls_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsNode]:
    """A broker with TLS listeners that ask for client certificates."""
    files = make_certificates(tmp_path_factory.mktemp("tls"))
    with _private_broker(certificate=files.server) as broker:
        yield TlsNode(
            url=broker.tls_url,
            management_url=broker.tls_management_url,
            version=broker.version,
            ca=files.ca,
            client_cert=files.client_cert,
            client_key=files.client_key,
        )


@pytest.fixture
def admin(node: Broker) -> Iterator[Admin]:
    """An administrator of `node`."""
    admin = Admin(node.url, node.management_url)
    yield admin
    admin.close()


@pytest.fixture
def vhost(admin: Admin) -> Iterator[str]:
    """A virtual host on `node` for this test alone."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    admin.make_vhost(name)
    yield name
    admin.delete("vhosts", name)


@pytest.fixture
def vhost_url(node: Broker, vhost: str) -> str:
    """The AMQP URL of this test's virtual host."""
    return f"{node.url.rsplit('/', 1)[0]}/{vhost}"


@pytest.fixture
def management(node: Broker, vhost_url: str) -> Iterator[ManagementClient]:
    """The management client for this test's virtual host."""
    with ManagementClient.for_broker(BrokerUrl.parse(vhost_url), node.management_url) as client:
        yield client


@pytest.fixture
def amqp(vhost_url: str) -> Iterator[Amqp]:
    """A plain connection to this test's virtual host."""
    with connected(vhost_url) as amqp:
        yield amqp


@pytest.fixture(params=["classic", "quorum"])
def queue_type(request: pytest.FixtureRequest) -> str:
    """Both kinds of queue, one after the other."""
    return str(request.param)


@pytest.fixture
def rabbitmq_version(node: Broker) -> tuple[int, ...]:
    """The broker's version, for what differs between releases."""
    return tuple(int(part) for part in node.version.split("-")[0].split("+")[0].split(".")[:3])
