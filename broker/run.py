"""The hot loop: a run of whole messages of one channel, passed on in one go.

Nearly every message is like its neighbours: a delivery frame, a content header with nothing in it that must be cut out,
one body frame or none, all of them in the buffer. A run of those is passed on here, with a few operations a message.
It ends at anything else, which the channel then takes frame by frame.
"""

from struct import Struct
from typing import NamedTuple

from raquo.broker import frames
from raquo.broker.content_header import USER_ID_FLAG

CONSUMER_TAG = "raquo"

_delivery = Struct(f">BHII{1 + len(CONSUMER_TAG)}xQB")  # frame, method, consumer tag (ours), delivery tag, redelivered
_header = Struct(">BHI4xQH")  # frame, body size, property flags


class Run(NamedTuple):
    """Where a run ended, and what was in it."""

    end: int
    tags: list[int]
    redelivered: int
    size: int


def pass_on(buffer: bytes, start: int, channel: int, most: int, publish: bytes, output: list[bytes]) -> Run:
    """Append to the output what publishes the messages from `start` on, `most` of them at the most."""
    tags: list[int] = []
    at, redelivered, size = start, 0, 0
    last_delivery, last_header = len(buffer) - _delivery.size, len(buffer) - _header.size
    unpack_delivery, unpack_header = _delivery.unpack_from, _header.unpack_from
    unpack_frame = frames.frame_start.unpack_from
    find, append = buffer.find, output.append
    while at <= last_delivery and len(tags) < most:
        _, number, length, method, tag, again = unpack_delivery(buffer, at)
        header = at + length + frames.OVERHEAD
        if method != frames.BASIC_DELIVER or number != channel or header > last_header:
            break
        kind, number, length, body_size, flags = unpack_header(buffer, header)
        body = header + length + frames.OVERHEAD
        end = body + body_size + frames.OVERHEAD if body_size else body
        if (
            end > len(buffer)
            or kind != frames.HEADER
            or number != channel
            or flags & USER_ID_FLAG
            or find(b"\x02CC", header, body) >= 0
            or find(b"-count", header, body) >= 0
            or (body_size and unpack_frame(buffer, body) != (frames.BODY, channel, body_size))
        ):
            break
        append(publish)
        append(buffer[header:end])
        tags.append(tag)
        redelivered += again & 1
        size += end - header
        at = end
    return Run(at, tags, redelivered, size)
