"""What the web server needs to know of the daemon, and may ask of it."""

from collections.abc import Sequence
from typing import Any, Protocol

from raquo.distributor.status import PlannedTarget, Status


class View(Protocol):
    """The daemon, as the web server sees it. Everything is called in the daemon's loop and must not block."""

    def about(self) -> dict[str, Any]:
        """Who this is: version, broker, virtual host."""

    def status(self, only: str | None = None) -> Status:
        """The whole picture, now, or that of one target."""

    def plan(self, only: str | None = None) -> Sequence[PlannedTarget]:
        """What the next round of each target would move, or of one."""

    def alive(self) -> bool:
        """Whether the loop turned lately."""

    def problems(self) -> Sequence[str]:
        """Why it is not ready, each one line; nothing: it is."""

    def explain(self, target: str, tenant: str | None) -> dict[str, Any] | None:
        """Why a tenant's messages (None: anybody's) wait for this target; None where there is nothing of that name."""

    def set_bypass(self, on: bool, reason: str, seconds: float | None) -> None:
        """Let everything staged flow at once, or stop doing so; for so many seconds, or until it is changed."""
