"""Declares staging queues on a channel of its own, because a refused declare closes its channel.

A queue that exists with other arguments is used as it is. A declare that is refused for another reason is no error
yet: the queue may be there, and if it is not, the message comes back, and the broker's words are told then.

A quorum queue drops a message after twenty returns from RabbitMQ 4.0 on; in staging it must not. Where the broker
chooses the type nobody says which it will be, so the limit is lifted there too, until a declare shows that the choice
is classic: a classic queue refuses that argument.
"""

import logging
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from pika.adapters.asyncio_connection import AsyncioConnection
from pika.data import encode_table
from pika.exceptions import AMQPError

from raquo.broker.errors import BrokerError

_log = logging.getLogger(__name__)

_MOST_REMEMBERED = 10_000
_PRECONDITION_FAILED = 406
_OTHER_ARGUMENTS = "inequivalent arg"
_NO_LIMIT_PLEASE = "invalid arg 'x-delivery-limit'"


class Declarer:
    """Knows which queues are declared, and declares the others one after the other."""

    def __init__(self, on_declared: Callable[[str], None], clock: Callable[[], float]) -> None:
        self.declared_count = 0
        self._on_declared = on_declared
        self._known: OrderedDict[str, str] = OrderedDict()  # queue -> why declaring it was refused, or ""
        self._wanted: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._connection: AsyncioConnection | None = None
        self._channel: Any = None
        self._warned = False
        self._may_choose_quorum = True
        self._clock = clock
        self._asked_at: float | None = None

    def knows(self, queue: str) -> bool:
        """Whether a message may be sent to it now."""
        if queue in self._known:
            self._known.move_to_end(queue)
            return True
        return False

    def why_refused(self, queue: str) -> str:
        """The broker's words when it refused to declare this queue."""
        return self._known.get(queue, "")

    def forget(self, queue: str) -> None:
        """It is gone: declare it again before the next message."""
        self._known.pop(queue, None)

    def overdue(self, patience: float) -> bool:
        """Whether a declare has waited too long for its answer."""
        return self._asked_at is not None and self._clock() - self._asked_at > patience

    def want(self, queue: str, arguments: Mapping[str, Any]) -> None:
        """Declare it; `on_declared` follows."""
        if queue not in self._wanted:
            self._wanted[queue] = arguments
            if len(self._wanted) == 1:
                self._next()

    def attach(self, connection: AsyncioConnection) -> None:
        """Work on this connection from now on."""
        self._connection = connection
        self._channel = None
        self._next()

    def detach(self) -> None:
        """The connection is gone; what is wanted stays wanted."""
        self._connection = self._channel = self._asked_at = None

    def _next(self) -> None:
        if not self._wanted or self._connection is None:
            return
        self._asked_at = self._clock()
        if self._channel is None:
            self._connection.channel(on_open_callback=self._on_open)
            return
        queue, arguments = next(iter(self._wanted.items()))
        version = str(self._connection.server_properties.get("version", ""))
        arguments = for_this_broker(arguments, version, self._may_choose_quorum)
        self._channel.queue_declare(queue, durable=True, arguments=arguments, callback=self._on_declare_ok)

    def _on_open(self, channel: Any) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._on_close)
        self._next()

    def _on_declare_ok(self, _frame: Any) -> None:
        self.declared_count += 1
        self._done("")

    def _on_close(self, channel: Any, reason: Any) -> None:
        """The broker refused the declare, or the whole connection is gone."""
        if channel is not self._channel or self._connection is None or not self._connection.is_open:
            return
        self._channel = None
        code, text = getattr(reason, "reply_code", 0), str(getattr(reason, "reply_text", reason))
        if code == _PRECONDITION_FAILED and _NO_LIMIT_PLEASE in text and self._may_choose_quorum:
            self._may_choose_quorum = False
            self._next()
        elif code == _PRECONDITION_FAILED and _OTHER_ARGUMENTS in text:
            self._warn(text)
            self._done("")
        elif self._wanted:
            self._done(f"{code} {text}")

    def _warn(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("a staging queue exists with other arguments and is used as it is: %s", text)

    def _done(self, refusal: str) -> None:
        self._asked_at = None
        queue, _ = self._wanted.popitem(last=False)
        self._known[queue] = refusal
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        self._on_declared(queue)
        self._next()


def for_this_broker(
    arguments: Mapping[str, Any], version: str, may_choose_quorum: bool = False
) -> dict[str, Any]:
    """Lift the limit of returns where the queue is, or may become, a quorum queue of 4.0 or later.

    On 3.x there is no limit by default, and -1 would mean: drop at the first return.
    """
    major = version.partition(".")[0]
    quorum = arguments.get("x-queue-type", "quorum" if may_choose_quorum else "") == "quorum"
    unlimited = quorum and major.isdigit() and int(major) >= 4
    return {"x-delivery-limit": -1, **arguments} if unlimited else dict(arguments)


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse in words what a declare cannot carry."""
    for key, value in arguments.items():
        try:
            encode_table([], {key: value})
        except (AMQPError, struct.error, ValueError, TypeError, AttributeError):
            raise BrokerError(f"no queue can be declared with {key} = {value!r}") from None
