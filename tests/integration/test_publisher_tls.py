"""Publishing over TLS: certificates are verified, and a failure says which."""

import pytest

from raquo.broker.url import BrokerUrl
from raquo.router import Publisher, PublishTimeout
from support.publishing import HANG, fresh, numbered
from support.tls import TlsNode

T1 = {"tenant": "t1"}


@pytest.fixture
def url(tls_node: TlsNode) -> BrokerUrl:
    return BrokerUrl.parse(
        tls_node.url, ca=str(tls_node.ca), cert=str(tls_node.client_cert), key=str(tls_node.client_key)
    )


def test_messages_of_any_size_are_confirmed_over_tls(url: BrokerUrl) -> None:
    target = fresh("work")
    with Publisher(url) as publisher:
        assert publisher.publish(target, b"x" * 3_000_000, headers=T1, timeout=HANG).queue == f"{target}»t1"
        assert publisher.publish_many(target, numbered(2000, "a", "b", size=1000), timeout=HANG) == 2000
        assert publisher.stats()["reconnects"] == 0


def test_staging_takes_after_its_target_also_through_an_encrypted_management_api(
    url: BrokerUrl, tls_node: TlsNode, caplog: pytest.LogCaptureFixture
) -> None:
    with Publisher(url, management_url=tls_node.management_url, queue_type="classic") as publisher:
        publisher.publish(fresh("work"), b"", headers=T1, timeout=HANG)
    assert "Not Found" in caplog.text  # the answer to a question about a missing target, so it was asked


def test_an_authority_nobody_knows_is_named_and_nothing_is_sent(tls_node: TlsNode) -> None:
    stranger = BrokerUrl.parse(tls_node.url, cert=str(tls_node.client_cert), key=str(tls_node.client_key))
    with Publisher(stranger) as publisher:
        with pytest.raises(PublishTimeout, match="certificate verify failed") as caught:
            publisher.publish("work", b"", headers=T1, timeout=1.0)
    assert not caught.value.may_have_arrived
