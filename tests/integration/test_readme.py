"""The quickstart of the README, run as it stands, with the distributor that `make run` starts."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from raquo.distributor.dev.distributor_process import configuration
from support.brokers import Broker
from support.serving import DaemonProcess

_README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def distributor(node: Broker, vhost_url: str, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A distributor with the configuration of `make run`."""
    daemon = DaemonProcess(tmp_path, configuration(vhost_url, node.management_url, "off", tmp_path / "state"))
    daemon.start()
    yield daemon
    daemon.close()


@pytest.mark.usefixtures("distributor")
def test_the_quickstart_does_what_the_readme_says(vhost_url: str, tmp_path: Path) -> None:
    publish, worker = re.findall(r"```python\n(.*?)```", _README.read_text(encoding="utf-8"), re.DOTALL)
    assert _run(publish, vhost_url, tmp_path) == [
        "10000 of globex",
        "100 of acme, behind them, in worker-input»acme/ocr",
    ]
    (told,) = _run(worker, vhost_url, tmp_path)
    found = re.fullmatch(r"acme has all its 100; globex has (\d+) of its 10000", told)
    assert found, told
    assert int(found[1]) < 1000


def _run(code: str, url: str, folder: Path) -> list[str]:
    """The lines that a script prints."""
    script = folder / "script.py"
    script.write_text(code, encoding="utf-8")
    environment = {**os.environ, "RAQUO_BROKER__URL": url}
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
