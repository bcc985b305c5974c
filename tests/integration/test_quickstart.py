"""The quickstart in docs/, run as it stands: every line of its `sh` blocks, its script and its file."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.amqp import Amqp
from support.brokers import Broker

_PAGE = Path(__file__).parents[2] / "docs/quickstart.md"


def test_every_step_works_and_the_way_back_leaves_the_broker_as_it_was(
    node: Broker, vhost_url: str, amqp: Amqp, tmp_path: Path
) -> None:
    amqp.declare("worker-input")
    done = _run(_as_script(_PAGE.read_text(encoding="utf-8")), node, vhost_url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "worker-input»acme/ocr  (staged: staged)" in done.stdout
    assert "0 left in staging" in done.stdout
    assert amqp.depth("worker-input") == 100
    assert not amqp.exists("worker-input»acme/ocr"), "uninstalled"


def _as_script(page: str) -> str:
    """What a reader does: types the lines, saves the files, runs the script."""
    steps = ["set -e -o pipefail"]
    for language, code in re.findall(r"```(sh|python|toml)\n(.*?)```", page, re.DOTALL):
        if language == "sh":
            steps.append(code)
        else:
            file = "publish.py" if language == "python" else "raquo.toml"
            steps.append(f"cat > {file} <<'END'\n{code}END")
            steps.append(f"python {file}" if language == "python" else "")
    return "\n".join(steps).replace("kill -TERM %1", "kill -TERM %1; wait %1")


def _run(script: str, node: Broker, url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    ours = {key: value for key, value in os.environ.items() if not key.startswith("RAQUO_")}
    environment = {
        **ours,
        "PATH": f"{Path(sys.executable).parent}:{ours['PATH']}",
        "HOME": str(folder),
        "RAQUO_BROKER__URL": url,
        "RAQUO_BROKER__MANAGEMENT_URL": node.management_url,
        "RAQUO_DISTRIBUTOR__HTTP": "127.0.0.1:0",
    }
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=100, check=False, env=environment, cwd=folder
    )
