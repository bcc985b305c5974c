"""The lines of docs/runbook.md, so that what is documented is what is tested."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_PAGE = Path(__file__).resolve().parents[2] / "docs/runbook.md"


@dataclass(frozen=True)
class HttpLine:
    """A line for curl: its method, the parts of its path below /api, and what it sends."""

    method: str
    path: tuple[str, ...]
    body: dict[str, Any]


def commands(start: str) -> list[list[str]]:
    """The lines in the page's code blocks that start so, as a shell would split them."""
    blocks = _PAGE.read_text(encoding="utf-8").split("```sh\n")[1:]
    lines = [line for block in blocks for line in block.split("```")[0].splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(start)]


def rabbitmqctl(action: str) -> list[str]:
    """The one line for rabbitmqctl with this action, without the program's name."""
    [line] = commands(f"rabbitmqctl {action} ")
    return line[1:]


def http(method: str) -> HttpLine:
    """The one line for curl with this method."""
    [line] = [line for line in commands("curl ") if line[line.index("-X") + 1] == method]
    address = next(part for part in line if part.startswith("http://localhost:15672/api/"))
    path = tuple(unquote(part) for part in urlsplit(address).path.split("/")[2:])
    body = json.loads(line[line.index("-d") + 1]) if "-d" in line else {}
    return HttpLine(method, path, body)
