"""Every error as JSON with one line in `error`, whatever raised it."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from raquo.mutators.errors import RaquoError


def answer_errors(app: FastAPI) -> None:
    """Install the handlers."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(RaquoError, _failed)
    app.add_exception_handler(Exception, _broken)


def error(status: int, text: str, **more: Any) -> JSONResponse:
    """An error as users see it."""
    return JSONResponse({"error": " ".join(text.split()), **more}, status)


async def _refused(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, HTTPException)  # noqa: S101 (registered for nothing else)
    answer = error(problem.status_code, f"{request.method} {request.url.path}: {problem.detail}")
    answer.headers.update(problem.headers or {})
    return answer


async def _not_understood(request: Request, problem: Exception) -> JSONResponse:
    assert isinstance(problem, RequestValidationError)  # noqa: S101 (registered for nothing else)
    said = [f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}" for found in problem.errors()]
    return error(400, "; ".join(said))


async def _failed(request: Request, problem: Exception) -> JSONResponse:
    return error(503, str(problem))


async def _broken(request: Request, problem: Exception) -> JSONResponse:
    # What it was stands in the log with its traceback; a reader gets no inner workings.
    return error(500, "something is broken here; the log has more")
