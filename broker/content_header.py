"""A message's properties as bytes: what must not be passed on is cut out, and everything else stays as it was.

Three things would do harm on their way into the target:

* a `user_id` that is not ours: the broker closes the channel. It goes on as the header `raquo-user-id`.
* a `CC` header: the broker would route the message a second time. It goes on as `raquo-cc`.
* `x-delivery-count` and `x-acquired-count`, which a quorum queue adds to what it delivers again: a worker would take
  them for the target's own. A table that held nothing else was the queue's too, and goes with them.

Few messages have any of them, so the common case is one flag and two searches in the bytes; a false alarm costs a
walk over the table and changes nothing.
"""

from struct import Struct

from raquo.broker import frames
from raquo.broker.fields import Field, UnknownField, fields

_PAYLOAD = 7
_BODY_SIZE = _PAYLOAD + 4
_FLAGS = _PAYLOAD + 12
_PROPERTIES = _FLAGS + 2

_flags = Struct(">H")
_length = Struct(">I")
_body_size = Struct(">Q")

_HEADERS_FLAG = 1 << 13
USER_ID_FLAG = 1 << 4
_SHORT_STRINGS_BEFORE_HEADERS = (1 << 15, 1 << 14)
_BETWEEN_HEADERS_AND_USER_ID = (
    (1 << 12, 1), (1 << 11, 1), (1 << 10, 0), (1 << 9, 0), (1 << 8, 0), (1 << 7, 0), (1 << 6, 8), (1 << 5, 0),
)  # fmt: skip

_CC = b"CC"
_CC_KEY = frames.short_string(b"raquo-cc")
_USER_ID_KEY = frames.short_string(b"raquo-user-id") + b"S"
_BROKERS_OWN = frozenset((b"x-delivery-count", b"x-acquired-count"))
_STAMP = b"\x0fraquo-staged-at"


def body_size(frame: bytes) -> int:
    """How many bytes of body follow this content header."""
    return int(_body_size.unpack_from(frame, _BODY_SIZE)[0])


def passed_on(frame: bytes, user: bytes, frame_max: int) -> bytes:
    """The content header frame as it may be published by `user`: the same bytes unless something must go."""
    if not needs_editing(frame, 0, len(frame), _flags.unpack_from(frame, _FLAGS)[0]):
        return frame
    try:
        edited = _edited(frame, user, keep=True)
        return edited if len(edited) <= frame_max else _edited(frame, user, keep=False)
    except UnknownField:
        return frame


def needs_editing(buffer: bytes, start: int, end: int, flags: int) -> bool:
    """Whether the content header between `start` and `end` may hold something that must go."""
    return (
        flags & USER_ID_FLAG != 0
        or buffer.find(b"\x02CC", start, end) >= 0
        or buffer.find(b"-count", start, end) >= 0
    )


def staged_at(frame: bytes) -> int | None:
    """The milliseconds of the header `raquo-staged-at`, found by its bytes, or None."""
    found = frame.find(_STAMP)
    if found < 0:
        return None
    at = found + len(_STAMP)
    width = {b"l": 8, b"T": 8, b"I": 4}.get(frame[at : at + 1])
    return int.from_bytes(frame[at + 1 : at + 1 + width], signed=True) if width else None


def _edited(frame: bytes, user: bytes, keep: bool) -> bytes:
    """Cut out what must go; `keep` it under a name of ours (which makes the frame a little longer) or not."""
    flags = _flags.unpack_from(frame, _FLAGS)[0]
    table = _table_start(frame, flags)
    entries = list(fields(frame, table)) if flags & _HEADERS_FLAG else []
    tail = entries[-1].end if entries else table + (4 if flags & _HEADERS_FLAG else 0)
    kept = b"".join(_kept(frame, entry, keep) for entry in entries)
    rest = frame[tail:-1]
    if flags & USER_ID_FLAG:
        at = _user_id_start(frame, flags, tail)
        end = at + 1 + frame[at]
        if frame[at + 1 : end] != user:
            flags &= ~USER_ID_FLAG
            kept += _USER_ID_KEY + _length.pack(frame[at]) + frame[at + 1 : end] if keep else b""
            rest = frame[tail:at] + frame[end:-1]
    if kept or not any(entry.key in _BROKERS_OWN for entry in entries):
        flags |= _HEADERS_FLAG if kept else 0
        kept = _length.pack(len(kept)) + kept if flags & _HEADERS_FLAG else b""
    else:
        flags &= ~_HEADERS_FLAG
    payload = frame[_PAYLOAD:_FLAGS] + _flags.pack(flags) + frame[_PROPERTIES:table] + kept + rest
    return frames.frame_start.pack(frames.HEADER, *_flags.unpack_from(frame, 1), len(payload)) + payload + frames.END


def _kept(frame: bytes, entry: Field, keep: bool) -> bytes:
    """An entry as it stands, under our name where the broker would act on it, or nothing."""
    if entry.key in _BROKERS_OWN:
        return b""
    if entry.key == _CC:
        return _CC_KEY + frame[entry.value : entry.end] if keep else b""
    return frame[entry.start : entry.end]


def _table_start(frame: bytes, flags: int) -> int:
    at = _PROPERTIES
    for flag in _SHORT_STRINGS_BEFORE_HEADERS:
        if flags & flag:
            at += 1 + frame[at]
    return at


def _user_id_start(frame: bytes, flags: int, at: int) -> int:
    for flag, width in _BETWEEN_HEADERS_AND_USER_ID:
        if flags & flag:
            at += width or 1 + frame[at]
    return at
