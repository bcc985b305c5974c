"""Opening and closing AMQP connections on an asyncio loop; pika's exceptions end here.

A list of URLs is tried in turn. Every wait has a deadline, and every failure becomes one of `errors.py` in words that
name host and user, never the password.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pika
from pika import exceptions as pika_errors
from pika.adapters.asyncio_connection import AsyncioConnection

from raquo.broker.errors import AccessRefused, BrokerError, BrokerUnreachable, ConnectionLost
from raquo.broker.url import BrokerUrl

Connection = TypeVar("Connection", bound=AsyncioConnection)

_PROBABLY_REFUSED = (pika_errors.ProbableAuthenticationError, pika_errors.ProbableAccessDeniedError)
_BROKER_SAID_NO = re.compile(r"\((403|530)\)")


async def connect(
    urls: Sequence[BrokerUrl],
    make: Callable[..., Connection],
    name: str,
    on_lost: Callable[[BrokerError], None],
) -> Connection:
    """The first connection that one of the URLs gives; `on_lost` is called once when an open one ends."""
    failure: BrokerError = BrokerUnreachable("there is no broker URL to try")
    for url in urls:
        try:
            return await _connect_to(url, make, name, on_lost)
        except AccessRefused:
            raise
        except BrokerError as error:
            failure = error
    raise failure


async def _connect_to(
    url: BrokerUrl, make: Callable[..., Connection], name: str, on_lost: Callable[[BrokerError], None]
) -> Connection:
    opened: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()

    def on_error(_connection: object, error: BaseException) -> None:
        if not opened.done():
            opened.set_exception(translated(error, url))

    def on_open(connection: Connection) -> None:
        if not opened.done():
            opened.set_result(connection)

    def on_close(_connection: object, error: BaseException) -> None:
        on_lost(translated(error, url))

    connection = make(
        parameters(url, name), on_open, on_error, on_close, custom_ioloop=asyncio.get_running_loop()
    )
    try:
        return await asyncio.wait_for(opened, url.connect_timeout)
    except TimeoutError:
        abort(connection, "it took too long to open")
        raise BrokerUnreachable(f"{url} did not answer within {url.connect_timeout:g} s") from None
    except asyncio.CancelledError:
        abort(connection, "nobody waits for it any more")
        raise


def parameters(url: BrokerUrl, name: str) -> pika.ConnectionParameters:
    """What pika needs to know; heartbeats are always on, because nothing else frees a dead connection."""
    tls = pika.SSLOptions(url.tls.context(), url.host) if url.tls else None
    return pika.ConnectionParameters(
        host=url.host,
        port=url.port,
        virtual_host=url.vhost,
        credentials=pika.PlainCredentials(url.user, url.password),
        heartbeat=url.heartbeat,
        ssl_options=tls,
        socket_timeout=url.connect_timeout,
        stack_timeout=url.connect_timeout,
        client_properties={"connection_name": name, "product": "raquo"},
    )


async def close(connection: AsyncioConnection, lost: "asyncio.Future[Any]", timeout: float) -> None:
    """Say good-bye, and wait for the answer no longer than `timeout`: a blocked broker gives none."""
    if connection.is_open:
        connection.close()
    try:
        await asyncio.wait_for(asyncio.shield(lost), timeout)
    except TimeoutError:
        abort(connection, "the broker did not answer the close")


def abort(connection: AsyncioConnection, why: str) -> None:
    """Drop the connection without a word; the broker gives back what it had handed out."""
    if not connection.is_closed:
        connection._terminate_stream(pika_errors.StreamLostError(why))  # pika has no public way to do it


def translated(error: BaseException, url: BrokerUrl) -> BrokerError:
    """Pika's exception as one of ours, the cause kept."""
    ours = _in_our_words(error, url)
    ours.__cause__ = error
    return ours


def _in_our_words(error: BaseException, url: BrokerUrl) -> BrokerError:
    if isinstance(error, BrokerError):
        return error
    if isinstance(error, _PROBABLY_REFUSED) and not _BROKER_SAID_NO.search(str(error)):
        return ConnectionLost(f"the connection to {url} was lost while it opened: {error}")  # pika only guesses
    if isinstance(error, _PROBABLY_REFUSED) or getattr(error, "reply_code", 0) == 403:
        words = f"{url} refused user {url.user!r} for vhost {url.vhost!r}: check password and permissions"
        return AccessRefused(f"{words} ({error})")
    if isinstance(error, pika_errors.ConnectionClosed):
        text = f"{url} closed the connection: {error.reply_code} {error.reply_text}"
        return AccessRefused(text) if error.reply_code == 530 else ConnectionLost(text)
    if isinstance(error, pika_errors.StreamLostError | pika_errors.AMQPHeartbeatTimeout):
        return ConnectionLost(f"the connection to {url} was lost: {error}")
    return BrokerUnreachable(f"no broker answers at {url}: {_root_cause(error)}")


def _root_cause(error: BaseException) -> str:
    """The last of the nested reasons that pika's connection workflow collects."""
    while inner := getattr(error, "exceptions", None) or [a for a in error.args if isinstance(a, BaseException)]:
        error = inner[-1]
    inner_most = getattr(error, "exception", None)
    return str(inner_most or error) or type(error).__name__
