"""Depths by pipelined passive declares."""

import asyncio
from contextlib import suppress

import pytest

from raquo.broker.depths import Depth, DepthReader, Reading, Refused
from raquo.broker.errors import BrokerError, BrokerUnreachable
from support.admin import Admin
from support.amqp import Amqp
from support.moving import run, until


def read(url: str, *queues: str) -> dict[str, Reading]:
    async def scenario() -> dict[str, Reading]:
        reader = DepthReader(url)
        try:
            return await reader.read(queues)
        finally:
            await reader.close()

    return run(scenario())


def test_ready_messages_and_consumers_of_many_queues_are_read_at_once(
    vhost_url: str, amqp: Amqp, queue_type: str
) -> None:
    queues = [amqp.declare(f"q{number}", queue_type) for number in range(30)]
    amqp.publish_numbered("q7", 12)
    amqp.channel.basic_consume("q3", lambda *_: None)
    expected = dict.fromkeys(queues, Depth(0, 0)) | {"q7": Depth(12, 0), "q3": Depth(0, 1)}
    assert read(vhost_url, *queues) == expected


def test_missing_queues_are_told_and_do_not_hide_the_others(vhost_url: str, amqp: Amqp) -> None:
    amqp.declare("a")
    amqp.declare("b")
    amqp.publish_numbered("b", 2)
    readings = read(vhost_url, "none", "a", "nothing", "b", "no")
    assert (readings["a"], readings["b"]) == (Depth(0, 0), Depth(2, 0))
    for queue in ("none", "nothing", "no"):
        reading = readings[queue]
        assert isinstance(reading, Refused)
        assert reading.missing


def test_a_queue_of_another_connection_alone_is_refused_in_the_brokers_words(vhost_url: str, amqp: Amqp) -> None:
    amqp.channel.queue_declare("mine", exclusive=True)
    amqp.declare("a")
    readings = read(vhost_url, "mine", "a")
    assert isinstance(readings["mine"], Refused)
    assert readings["mine"].code == 405
    assert readings["a"] == Depth(0, 0)


def test_several_readings_at_once_do_not_mix_up(vhost_url: str, amqp: Amqp) -> None:
    for number in range(5):
        amqp.declare(f"q{number}")
        amqp.publish_numbered(f"q{number}", number)

    async def scenario() -> list[dict[str, Reading]]:
        reader = DepthReader(vhost_url)
        wanted = [["q1", "none", "q2"], ["q3"], ["no", "q4"], ["q0", "q1"]]
        readings = await asyncio.gather(*(reader.read(queues) for queues in wanted))
        await reader.close()
        return list(readings)

    for readings in run(scenario()):
        for queue, reading in readings.items():
            if isinstance(reading, Depth):
                assert reading.ready == int(queue[1:])


def test_after_a_lost_connection_another_is_opened(vhost: str, vhost_url: str, admin: Admin, amqp: Amqp) -> None:
    amqp.declare("a")

    async def scenario() -> Reading:
        reader = DepthReader(vhost_url)
        await reader.read(["a"])
        await until(lambda: _connections(admin, vhost), what="the broker lists the reader's connection")
        first = _connections(admin, vhost)
        for name in first:
            admin.delete("connections", name)
        with suppress(BrokerError):  # told, if it is noticed while reading
            await reader.read(["a"])
        reading = (await reader.read(["a"]))["a"]
        await until(lambda: set(_connections(admin, vhost)) - set(first), what="the broker lists another connection")
        await reader.close()
        return reading

    assert run(scenario()) == Depth(0, 0)


def test_without_a_broker_reading_is_an_error_that_names_it() -> None:
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        read("amqp://guest:guest@127.0.0.1:1/%2f", "a")


def test_reading_nothing_is_nothing(vhost_url: str) -> None:
    assert read(vhost_url) == {}


def _connections(admin: Admin, vhost: str) -> list[str]:
    listed = admin.get("vhosts", vhost, "connections")
    return [one["name"] for one in listed if one["client_properties"].get("connection_name") == "raquo depths"]
