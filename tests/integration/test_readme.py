"""The quickstart of the README, run as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

_README = Path(__file__).parents[2] / "README.md"


def test_the_quickstart_does_what_the_readme_says(vhost_url: str, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", _README.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "quickstart.py"
    script.write_text(code, encoding="utf-8")
    environment = {**os.environ, "RAQUO_BROKER__URL": vhost_url}
    done = subprocess.run(
        [sys.executable, "-W", "error", script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "worker-input»acme/ocr",
        "10000 published and confirmed",
        "worker-input»acme/ocr 1 under_full",
        "worker-input»globex/ocr 100 complete",
    ]
