"""A web server over a daemon that is not there: it shows what a test says, and remembers what it was told."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from raquo.broker.loop_thread import LoopThread
from raquo.distributor.metrics import Metrics
from raquo.distributor.status import PlannedTarget, QueueState, StagingStatus, Status, TargetStatus
from raquo.distributor.telemetry import Telemetry
from raquo.distributor.web.access import Access
from raquo.distributor.web.app import make_app
from raquo.distributor.web.server import WebServer


def a_target(name: str = "worker-input", **changes: Any) -> TargetStatus:
    """A target, as most tests need one."""
    usual: dict[str, Any] = {
        "target": name, "depth": 0, "unacked": 0, "consumers": 1, "room": 1000, "max_length": 1000,
        "policy": "weighted", "transport": "client", "owner": None,
    }  # fmt: skip
    return TargetStatus(**(usual | changes))


def a_queue(tenant: str, depth: int, state: QueueState = QueueState.WAITING, **changes: Any) -> StagingStatus:
    """A staging queue of `worker-input`."""
    return StagingStatus(f"worker-input»{tenant}", tenant, depth, weight=1, state=state, **changes)


def seen(*targets: TargetStatus, **changes: Any) -> Status:
    """What a daemon sees."""
    return Status("daemon", "/", targets, **changes)


@dataclass
class FakeView:
    """A daemon, as a test wants it to look."""

    shown: Status = field(default_factory=lambda: seen(a_target(staging=(a_queue("acme", 3),))))
    planned: list[PlannedTarget] = field(default_factory=list)
    is_alive: bool = True
    reasons: list[str] = field(default_factory=list)
    bypasses: list[tuple[bool, str, float | None]] = field(default_factory=list)
    failure: Exception | None = None

    def about(self) -> dict[str, Any]:
        return {"raquo": "0", "broker": "127.0.0.1:5672//", "vhost": "/"}

    def status(self, only: str | None = None) -> Status:
        if self.failure:
            raise self.failure
        shown = tuple(one for one in self.shown.targets if only in (None, one.target))
        return replace(self.shown, targets=shown)

    def plan(self, only: str | None = None) -> Sequence[PlannedTarget]:
        return [one for one in self.planned if only in (None, one.target)]

    def alive(self) -> bool:
        return self.is_alive

    def problems(self) -> Sequence[str]:
        return self.reasons

    def explain(self, target: str, tenant: str | None) -> dict[str, Any] | None:
        known = {(one.target, queue.tenant) for one in self.shown.targets for queue in one.staging}
        return {"target": target, "tenant": tenant} if (target, tenant) in known else None

    def set_bypass(self, on: bool, reason: str, seconds: float | None) -> None:
        self.bypasses.append((on, reason, seconds))


@contextmanager
def serving_view(view: FakeView, access: Access) -> Iterator[str]:
    """Serve until the end of the block; yields the URL."""
    telemetry = Telemetry()
    metrics = Metrics(telemetry, view.status, "/", top_tenants=5)
    loop = LoopThread("raquo test web")
    server = WebServer(make_app(view, metrics, access), access.address)
    try:
        loop.run(server.start(), timeout=10)
        yield server.url
    finally:
        loop.run(server.stop(), timeout=10)
        loop.stop()
