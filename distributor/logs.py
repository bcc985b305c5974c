"""Log lines: how they look, and which events become one.

All records go through one formatter: ours, those of the standard library under `raquo.…`, uvicorn's, pika's. Two things
are kept out of every line, whoever wrote it: passwords in URLs, and control characters, with which the name of a queue
could otherwise forge a line or steer a terminal. Tracebacks come without the values of variables: these may be message
bodies and passwords.
"""

import logging
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import Any, TextIO

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor

from raquo.distributor.telemetry import Discovered, DiscoveryFailed, Event, MoveFailed, Reloaded, Warned
from raquo.mutators.errors import RaquoError

LEVELS = ("debug", "info", "warning", "error", "critical")
FORMATS = ("auto", "human", "json")

_MINUTE = 60.0
_REMEMBERED = 1000  # texts and queues told of; beyond them the oldest may be told again
_USER_INFO = re.compile(r"://[^/\s]*@")
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROL_IN_TRACEBACKS = {code: text for code, text in _CONTROL.items() if chr(code) not in "\n\t"}


class LogEvents:
    """Writes a line for the events that people should know of; subscribe it to the telemetry."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = structlog.stdlib.get_logger("raquo.distributor")
        self._warnings = _Seldom(clock)
        self._listings = _Seldom(clock)
        self._moves = _Seldom(clock)
        self._listing_fails = False

    def __call__(self, event: Event) -> None:
        """Write a line, if this event is worth one now."""
        match event:
            case Warned(text=text, again_after=seconds):
                if (unsaid := self._warnings.due(text, seconds)) is not None:
                    self._log.warning(text, **_more(unsaid))
            case DiscoveryFailed(text=text):
                self._listing_fails = True
                if (unsaid := self._listings.due(text, _MINUTE)) is not None:
                    self._log.warning("the queues cannot be listed", text=text, **_more(unsaid))
            case Discovered() if self._listing_fails:
                self._listing_fails = False
                self._log.info("the queues are listed again")
            case MoveFailed():
                self._move_failed(event)
            case Reloaded(problem=""):
                self._log.info("the configuration was read again")
            case Reloaded(problem=problem):
                self._log.error("the configuration was refused, the old one stays", problem=problem)
            case _:  # what goes well is a number in the metrics
                pass

    def _move_failed(self, event: MoveFailed) -> None:
        unsaid = self._moves.due((event.queue, event.reason), _MINUTE)
        if unsaid is not None:
            self._log.warning(
                "a grant ended early",
                target=event.target,
                queue=event.queue,
                reason=event.reason,
                text=event.text,
                **_more(unsaid),
            )


class _Seldom:
    """Lets each key through once in so many seconds, and counts what it held back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told: OrderedDict[Hashable, tuple[float, int]] = OrderedDict()  # when next, and how many held back

    def due(self, key: Hashable, seconds: float) -> int | None:
        """How many were held back since the last time, if it is time for this key; None if not."""
        now = self._clock()
        again_at, unsaid = self._told.get(key, (now, 0))
        if now < again_at:
            self._told[key] = again_at, unsaid + 1
            return None
        self._told[key] = now + seconds, 0
        self._told.move_to_end(key)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return unsaid


def configure_logs(
    level: str, format: str = "auto", stream: TextIO | None = None, clock: Callable[[], float] = time.time  # noqa: A002
) -> None:
    """Send all logs to `stream` (standard error): for people, as JSON, or `auto`: for people on a terminal only.

    Called again, it replaces what it set up before, and leaves handlers of others alone.
    """
    if level.lower() not in LEVELS or format not in FORMATS:
        raise RaquoError(f"log level {level!r}, format {format!r}: expected one of {LEVELS}, and one of {FORMATS}")
    stream = stream or sys.stderr
    first: list[Processor] = [structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, _stamp(clock)]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *first, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    last = _for_people(stream) if format == "human" or (format == "auto" and stream.isatty()) else _for_programs()
    handler = _Handler(stream)
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=first,
            processors=[
                ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _without_passwords,
                *last,
            ],
        )
    )
    _install(handler, logging.getLevelNamesMapping()[level.upper()])


class _Handler(logging.StreamHandler[TextIO]):
    """Ours, to be known again."""


def _install(handler: _Handler, level: int) -> None:
    root = logging.getLogger()
    for old in [known for known in root.handlers if isinstance(known, _Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(level, logging.WARNING))  # what libraries do when all is well is their business
    logging.getLogger("raquo").setLevel(level)
    # pika writes several lines with tracebacks for each connection that fails; the same comes to us as one error, which
    # we tell. Who looks for bugs wants both.
    logging.getLogger("pika").setLevel(logging.WARNING if level <= logging.DEBUG else logging.CRITICAL)


def _stamp(clock: Callable[[], float]) -> Processor:
    def stamp(_logger: Any, _method: str, line: EventDict) -> EventDict:
        line["timestamp"] = datetime.fromtimestamp(clock(), UTC).isoformat(timespec="milliseconds")
        return line

    return stamp


def _for_programs() -> list[Processor]:
    return [structlog.processors.JSONRenderer(ensure_ascii=False)]


def _for_people(stream: TextIO) -> list[Processor]:
    renderer = structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, sort_keys=False
    )
    return [_on_one_line, renderer]


def _without_passwords(_logger: Any, _method: str, line: EventDict) -> EventDict:
    return {key: _USER_INFO.sub("://***@", value) if isinstance(value, str) else value for key, value in line.items()}


def _on_one_line(_logger: Any, _method: str, line: EventDict) -> EventDict:
    return {
        key: value.translate(_CONTROL_IN_TRACEBACKS if key == "exception" else _CONTROL)
        if isinstance(value, str)
        else value
        for key, value in line.items()
    }


def _more(unsaid: int) -> dict[str, int]:
    """A field for what was held back since the last line, if anything was."""
    return {"and_before": unsaid} if unsaid else {}
