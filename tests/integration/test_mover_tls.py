"""The mover over TLS, where bytes wait in OpenSSL as well as in the socket."""

import asyncio
from collections.abc import Iterator

import pika
import pytest

from raquo.broker.grant import Reason
from raquo.broker.mover import Limits, Mover, Outcome
from raquo.broker.url import BrokerUrl
from support.moving import run
from support.tls import TlsNode
from support.waiting import wait_until


@pytest.fixture
def url(tls_node: TlsNode) -> BrokerUrl:
    return BrokerUrl.parse(
        tls_node.url, ca=str(tls_node.ca), cert=str(tls_node.client_cert), key=str(tls_node.client_key)
    )


@pytest.fixture
def channel(url: BrokerUrl, queue_type: str) -> Iterator[pika.adapters.blocking_connection.BlockingChannel]:
    """Plain pika over TLS, with two fresh queues."""
    assert url.tls is not None
    options = pika.SSLOptions(url.tls.context(), url.host)
    credentials = pika.PlainCredentials(url.user, url.password)
    connection = pika.BlockingConnection(
        pika.ConnectionParameters(url.host, url.port, credentials=credentials, ssl_options=options)
    )
    channel = connection.channel()
    for queue in ("tls-staging", "tls-target"):
        channel.queue_declare(queue, durable=True, arguments={"x-queue-type": queue_type})
    yield channel
    for queue in ("tls-staging", "tls-target"):
        channel.queue_delete(queue)
    connection.close()


def _publish(channel: pika.adapters.blocking_connection.BlockingChannel, bodies: list[bytes]) -> None:
    for body in bodies:
        channel.basic_publish("", "tls-staging", body)
    wait_until(lambda: _depth(channel, "tls-staging") == len(bodies), deadline=30, what="all are staged")


def _depth(channel: pika.adapters.blocking_connection.BlockingChannel, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def _read(channel: pika.adapters.blocking_connection.BlockingChannel, queue: str) -> list[bytes]:
    count, bodies = _depth(channel, queue), []
    for _ in range(count):
        _, _, body = channel.basic_get(queue, auto_ack=True)
        bodies.append(body)
    return bodies


async def _moves(url: BrokerUrl, limits: Limits, *counts: int) -> list[Outcome]:
    async with Mover(url, "tls-target", limits) as mover:
        return [await mover.move("tls-staging", count) for count in counts]


def test_grants_over_tls_are_exact_and_in_order(
    url: BrokerUrl, channel: pika.adapters.blocking_connection.BlockingChannel
) -> None:
    sent = [str(number).encode() for number in range(500)]
    _publish(channel, sent)
    outcomes = run(_moves(url, Limits(window=50), 137, 1, 200))
    assert [(outcome.moved, outcome.reason) for outcome in outcomes] == [
        (137, Reason.COMPLETE), (1, Reason.COMPLETE), (200, Reason.COMPLETE),
    ]  # fmt: skip
    assert _read(channel, "tls-target") == sent[:338]
    assert _read(channel, "tls-staging") == sent[338:]


def test_more_than_the_write_buffer_holds_passes_through_tls(
    url: BrokerUrl, channel: pika.adapters.blocking_connection.BlockingChannel
) -> None:
    sent = [bytes([number]) * 1_000_000 for number in range(40)]
    _publish(channel, sent)
    outcomes = run(_moves(url, Limits(first_window=40), 40))
    assert (outcomes[0].moved, outcomes[0].reason) == (40, Reason.COMPLETE)
    assert _read(channel, "tls-target") == sent


def test_several_sources_move_side_by_side_over_tls(
    url: BrokerUrl, channel: pika.adapters.blocking_connection.BlockingChannel
) -> None:
    names = [f"tls-target»t{number}" for number in range(5)]
    for name in names:
        channel.queue_declare(name, durable=True)
        for number in range(50):
            channel.basic_publish("", name, f"{name} {number}".encode())
    wait_until(lambda: all(_depth(channel, name) == 50 for name in names), what="all are staged")

    async def scenario() -> list[Outcome]:
        async with Mover(url, "tls-target") as mover:
            return await asyncio.gather(*(mover.move(name, 50) for name in names))

    assert [outcome.moved for outcome in run(scenario())] == [50] * 5
    bodies = _read(channel, "tls-target")
    for name in names:
        own = [body for body in bodies if body.startswith(f"{name} ".encode())]
        assert own == [f"{name} {number}".encode() for number in range(50)]
        channel.queue_delete(name)
