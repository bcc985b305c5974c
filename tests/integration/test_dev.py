"""`raquo dev`, run as its users run it: small tenants are served beside a flood, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local import find_server
from support.leftovers import assert_nothing_left, directory_of_child
from support.waiting import wait_until

WITHOUT_RABBITMQ = """
from raquo.broker import local
from raquo.distributor.cli import app

local._FOLDERS = ()
app(["dev"])
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts `raquo dev`; what a test has left of it is killed."""
    try:
        find_server()
    except LocalBrokerError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "raquo", "dev", *arguments]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_small_tenants_are_served_while_the_flood_waits(start: Start) -> None:
    dev = start("--seconds", "8", "-o", "json")
    directory = _served(dev, dev.stderr)
    told = json.loads(dev.communicate(timeout=60)[0])
    assert dev.returncode == 0
    assert 8 <= told["seconds"] < 30
    flood, *small = told["tenants"]
    assert flood["waiting"] > 1000
    assert len(small) == 3
    assert all(_served_beside(one, flood) for one in small), told
    assert sum(one["share"] for one in told["tenants"]) == pytest.approx(1, abs=0.001)
    assert_nothing_left(directory)


def test_ctrl_c_ends_it_with_a_summary_and_exit_code_0(start: Start) -> None:
    dev = start()
    directory = _served(dev, dev.stdout)
    dev.send_signal(signal.SIGINT)
    out, err = dev.communicate(timeout=60)
    assert (dev.returncode, err) == (0, "")
    assert "What each tenant got" in out
    assert_nothing_left(directory)


def test_sigterm_ends_it_while_it_starts(start: Start) -> None:
    dev = start()
    directory = wait_until(lambda: directory_of_child(dev.pid), what="its broker starts")
    assert directory is not None
    dev.send_signal(signal.SIGTERM)
    out, err = dev.communicate(timeout=60)
    assert (dev.returncode, err) == (0, "")
    assert "Stopped." in out
    assert_nothing_left(directory)


def test_nothing_is_left_when_it_is_killed(start: Start) -> None:
    dev = start()
    directory = _served(dev, dev.stdout)
    dev.kill()
    dev.communicate()
    assert_nothing_left(directory)


def test_a_distributor_that_ends_is_one_line_and_exit_code_1(start: Start) -> None:
    dev = start()
    directory = _served(dev, dev.stdout)
    os.kill(int((directory / "distributor.pid").read_text()), signal.SIGKILL)
    err = dev.communicate(timeout=60)[1]
    assert dev.returncode == 1
    assert err.startswith("raquo: the distributor ended")
    assert err.count("\n") == 1
    assert_nothing_left(directory)


def test_without_any_rabbitmq_it_says_what_to_install_and_exits_with_1() -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAQUO_")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RABBITMQ],
        env={**environment, "PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "apt-get install rabbitmq-server" in done.stderr
    assert done.stderr.count("\n") == 1


def _served(dev: "subprocess.Popen[str]", stream: IO[str] | None) -> Path:
    """Wait until the demo begins; the directory of its broker."""
    assert stream is not None
    assert any("workers of" in line for line in stream), "it ended early"
    directory = directory_of_child(dev.pid)
    assert directory is not None
    return directory


def _served_beside(small: dict[str, Any], flood: dict[str, Any]) -> bool:
    """It got nearly all it asked for, and soon."""
    return bool(small["done"] > small["published"] / 2 and small["wait_p50_seconds"] < flood["wait_p50_seconds"] / 2)
