"""A web server that answers as a test says, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FakeServer:
    """Where it is, what it was asked (path with query), and with what credentials."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


Answer = Callable[[str], tuple[int, object]]


@contextmanager
def serving(answer: Answer) -> Iterator[FakeServer]:
    """Serve until the end of the block; `answer` maps a path to a status and JSON, or bytes as they are."""
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            fake.asked.append(self.path)
            fake.authorizations.append(self.headers.get("Authorization"))
            status, body = answer(self.path)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
