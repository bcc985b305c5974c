"""The endpoints. Each is `async`, so that it runs in the daemon's loop and sees its values without locks."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Security
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from raquo.distributor.metrics import CONTENT_TYPE, Metrics
from raquo.distributor.status import plan_as_json
from raquo.distributor.web.access import Access
from raquo.distributor.web.answers import answer_errors, error
from raquo.distributor.web.guard import Guard, header
from raquo.distributor.web.view import View

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Raquo</title>
<h1>»</h1>
<p>This is a Raquo distributor.
<ul>
<li><a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>: is it alive, is it ready
<li><a href="/metrics">/metrics</a>: for Prometheus
<li><a href="/api/v1/status">/api/v1/status</a>: targets and staging queues
<li><a href="/api/v1/plan">/api/v1/plan</a>: what the next round would move
<li>/api/v1/explain?target=…&amp;tenant=…: why somebody waits
<li><a href="/openapi.json">/openapi.json</a>: all of it, for programs
</ul>
"""

# The guard has checked the token before; this tells /openapi.json which requests need one.
_TOKEN = Security(HTTPBearer(auto_error=False, scheme_name="token"))

Answer = TypeVar("Answer", bound=Response)
OneTarget = Annotated[str | None, Query(description="only this target")]


class Bypass(BaseModel):
    """Whether everything staged flows at once, why, and for how long (null: until it is changed)."""

    model_config = ConfigDict(strict=True, extra="forbid")

    on: bool
    reason: Annotated[str, Field(min_length=1, max_length=1000, pattern=r"\S")]
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


def make_app(view: View, metrics: Metrics, access: Access) -> FastAPI:
    """The application for a daemon that is seen through `view`."""
    app = FastAPI(
        title="Raquo",
        summary="Fair sharing of RabbitMQ workers between tenants",
        docs_url=None,  # these pages would load scripts from other hosts
        redoc_url=None,
        redirect_slashes=False,
    )
    answer_errors(app)
    app.add_middleware(Guard, access=access)
    _add_probes(app, view, access)
    _add_metrics(app, metrics, access)
    _add_reads(app, view)
    _add_writes(app, view)
    return app


def _add_probes(app: FastAPI, view: View, access: Access) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE)

    @app.get("/healthz")
    async def healthz() -> JSONResponse:
        """Whether the daemon's loop turned lately; 503 if not."""
        if view.alive():
            return JSONResponse({"alive": True})
        return error(503, "the loop has not turned lately", alive=False)

    @app.get("/readyz")
    async def readyz(request: Request) -> JSONResponse:
        """Whether the broker is reachable and the snapshot fresh; 503 with the reasons if not."""
        problems = list(view.problems())
        if problems and not access.sees_tenants(header(request.scope, b"authorization")):
            problems = ["the broker or its management API does not answer as it should: see the log"]
        if problems:
            return error(503, "; ".join(problems), ready=False, problems=problems)
        return JSONResponse({"ready": True, "problems": []})


def _add_metrics(app: FastAPI, metrics: Metrics, access: Access) -> None:
    @app.get("/metrics")
    async def scrape(request: Request) -> Response:
        """Metrics for Prometheus; tenants' names only for those who may see them."""
        with_tenants = access.sees_tenants(header(request.scope, b"authorization"))
        text = metrics.look(with_tenants)
        return await _in_a_thread(lambda: Response(text(), media_type=CONTENT_TYPE))


def _add_reads(app: FastAPI, view: View) -> None:
    @app.get("/api/v1/about")
    async def about() -> dict[str, Any]:
        """Which version this is, and which broker it serves."""
        return view.about()

    @app.get("/api/v1/status")
    async def status(target: OneTarget = None) -> JSONResponse:
        """Targets and staging queues with depths, shares, ages."""
        seen = view.status(target)
        if target is not None:
            _found(seen.targets, target)
        return await _in_a_thread(lambda: JSONResponse(seen.as_json()))

    @app.get("/api/v1/plan")
    async def plan(target: OneTarget = None) -> JSONResponse:
        """What the next round would move; moves nothing."""
        planned = view.plan(target)
        if target is not None:
            _found(planned, target)
        return await _in_a_thread(lambda: JSONResponse(plan_as_json(planned)))

    @app.get("/api/v1/explain")
    async def explain(target: str, tenant: str | None = None) -> JSONResponse:
        """Why a tenant's messages wait, who is ahead, when they move."""
        told = view.explain(target, tenant)
        if told is None:
            whose = "" if tenant is None else f", or no tenant {tenant!r} in it"
            raise HTTPException(404, f"there is no target {target!r} here{whose}")
        return JSONResponse(told)


def _add_writes(app: FastAPI, view: View) -> None:
    @app.put("/api/v1/bypass", dependencies=[_TOKEN])
    async def bypass(change: Bypass) -> dict[str, Any]:
        """Let everything staged flow at once, or stop doing so."""
        view.set_bypass(change.on, change.reason, change.seconds)
        return change.model_dump()


async def _in_a_thread(render: Callable[[], Answer]) -> Answer:
    """Write out what was seen, which may be long, beside the loop: nothing of it changes any more."""
    return await asyncio.to_thread(render)


def _found(targets: object, target: str) -> None:
    if not targets:
        raise HTTPException(404, f"there is no target {target!r} here")
