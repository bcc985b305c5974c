"""The bypass: everything staged flows at once, as if there were no Raquo. A file keeps it over a restart."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_FILE = "bypass.json"


@dataclass(frozen=True, slots=True)
class Bypass:
    """Whether it is on, why, and until when (seconds since 1970; None: until it is switched off)."""

    on: bool = False
    reason: str = ""
    until: float | None = None

    def active(self, wall: float) -> bool:
        """Whether everything flows now."""
        return self.on and (self.until is None or wall < self.until)


class BypassFile:
    """The bypass as it was last switched."""

    def __init__(self, state_dir: Path, wall: Callable[[], float]) -> None:
        self._path = state_dir / _FILE
        self._wall = wall
        self.now = self._read()

    @property
    def active(self) -> bool:
        """Whether everything flows now."""
        return self.now.active(self._wall())

    def switch(self, on: bool, reason: str, seconds: float | None) -> None:
        """Switch it; a file that cannot be written raises `OSError`, and nothing has changed."""
        bypass = Bypass(on, reason, self._wall() + seconds if on and seconds is not None else None)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(bypass)), encoding="utf-8")
        draft.replace(self._path)
        self.now = bypass

    def _read(self) -> Bypass:
        try:
            return Bypass(**json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Bypass()
        except (OSError, ValueError, TypeError):
            return Bypass()  # off is what it is without Raquo's file: nobody is surprised by a flood
