"""A pika connection that writes once per turn of the loop.

pika sends every frame by itself: three system calls a message. Here the frames of one turn of the loop go out together.
The method overridden is not a public one; where a version of pika does not call it, frames go out as pika sends them.
"""

from typing import Any

from pika.adapters.asyncio_connection import AsyncioConnection


class GatheringConnection(AsyncioConnection):  # type: ignore[misc]  # pika ships no types
    """An asyncio connection that joins what is written in one turn of the loop."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._gathered: list[bytes] = []
        super().__init__(*arguments, **options)

    def _adapter_emit_data(self, data: bytes) -> None:
        if not self._gathered:
            self.ioloop.call_soon(self._emit_gathered)
        self._gathered.append(data)

    def _emit_gathered(self) -> None:
        data = b"".join(self._gathered)
        self._gathered.clear()
        if data and not self.is_closed and self._transport is not None:
            super()._adapter_emit_data(data)
