"""A TCP proxy on 127.0.0.1 between a client and a broker: records what passes, stalls, and cuts anywhere."""

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any

from raquo.broker.url import BrokerUrl

_AT_ONCE = 64 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Passage:
    """One connection through the proxy: `up` is what the client said, `down` what the broker did."""

    def __init__(self, proxy: "Proxy", cut_up: int | None, cut_down: int | None) -> None:
        self.up = bytearray()
        self.down = bytearray()
        self.over = False
        self._proxy = proxy
        self._left = {"up": cut_up, "down": cut_down}
        self._writers: list[asyncio.StreamWriter] = []

    def cut(self) -> None:
        """End it now, on both sides, with a reset."""
        self._proxy.do(self._end(reset=True))

    async def carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter, port: int) -> None:
        self._writers.append(to_client)
        try:
            broker, to_broker = await asyncio.open_connection("127.0.0.1", port)
            self._writers.append(to_broker)
            pumps = [
                asyncio.ensure_future(self._pump("up", client, to_broker)),
                asyncio.ensure_future(self._pump("down", broker, to_client)),
            ]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
            pass  # no broker there: the client sees a closed connection
        finally:
            await self._end()

    async def _pump(self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        record = self.up if way == "up" else self.down
        while data := await reader.read(_AT_ONCE):
            await self._proxy.flowing[way].wait()
            data = self._allowed(way, data)
            record += data
            writer.write(data)
            await writer.drain()
            if self._left[way] == 0:
                return

    def _allowed(self, way: str, data: bytes) -> bytes:
        left = self._left[way]
        if left is None:
            return data
        self._left[way] = max(0, left - len(data))
        return data[:left]

    async def _end(self, reset: bool = False) -> None:
        self.over = True
        for writer in self._writers:
            if reset and not writer.is_closing():
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                writer.transport.abort()
            writer.close()


    async def wait_closed(self) -> None:
        """Until its sockets are gone."""
        for writer in self._writers:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


class Proxy:
    """Use in a `with` block, and connect to `url` instead of the broker's."""

    def __init__(self, url: str) -> None:
        self.passages: list[Passage] = []
        self.flowing: dict[str, asyncio.Event] = {}
        self.url = ""
        self._broker = BrokerUrl.parse(url)
        self._cut_next: tuple[int | None, int | None] = (None, None)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")
        self._tasks: set[asyncio.Task[None]] = set()
        self._original = url

    def __enter__(self) -> "Proxy":
        self._thread.start()
        port = self.do(self._serve())
        self.url = self._original.replace(f":{self._broker.port}", f":{port}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def last(self) -> Passage:
        return self.passages[-1]

    def cut_next(self, *, up: int | None = None, down: int | None = None) -> None:
        """The next connection ends after so many bytes one way or the other."""
        self._cut_next = (up, down)

    def stall(self, *ways: str) -> None:
        """Let nothing through until `resume`, in the given directions ("up", "down"), or both."""
        self.do(self._flow(ways or ("up", "down"), on=False))

    def resume(self) -> None:
        self.do(self._flow(("up", "down"), on=True))

    def do(self, what: Coroutine[Any, Any, Any]) -> Any:
        """Run it in the proxy's own thread, and wait for its result."""
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(10)

    async def _flow(self, ways: tuple[str, ...], on: bool) -> None:
        for way in ways:
            (self.flowing[way].set if on else self.flowing[way].clear)()

    async def _serve(self) -> int:
        self.flowing = {"up": asyncio.Event(), "down": asyncio.Event()}
        await self._flow(("up", "down"), on=True)
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passage = Passage(self, *self._cut_next)
        self._cut_next = (None, None)
        self.passages.append(passage)
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await passage.carry(reader, writer, self._broker.port)

    async def _stop(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for passage in self.passages:
            await passage.wait_closed()
