"""Stands before the application and answers what may not be served; a body is not even read then."""

from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from raquo.distributor.web.access import Access

_ALWAYS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'"),
]


class Guard:
    """Refuses, or hands on."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host, authorization = header(scope, b"host"), header(scope, b"authorization")
        refusal = self._access.refusal(scope["method"], scope["path"], host, authorization)
        app: ASGIApp = self._app
        if refusal:
            headers = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else None
            app = JSONResponse({"error": refusal.reason}, refusal.status, headers)
        await app(scope, receive, _with_headers(send))


def header(scope: Scope, name: bytes) -> str | None:
    """A request's header; None if it is not there, or there twice: then nobody can say which one counts."""
    found = [value for key, value in scope["headers"] if key == name]
    return str(found[0], "utf-8", "replace") if len(found) == 1 else None


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_ALWAYS]
        await send(message)

    return send_with_headers
