"""The broker in a container, against a `docker` command that only notes what it was asked."""

from pathlib import Path

import pytest

from raquo.broker.errors import LocalBrokerError
from raquo.broker.local_container import ContainerNode, engine_answers
from raquo.broker.local_settings import Settings

FAKE = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
case $1 in
  create) echo 0123abc ;;
  inspect) echo true ;;
  kill) echo "no such container" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the front of PATH with a fake `docker`; `calls` in it is what was asked."""
    (tmp_path / "docker").write_text(FAKE)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def test_a_container_is_published_on_loopback_and_removed_by_its_id(docker: Path) -> None:
    node = ContainerNode(Settings())
    node.launch()
    assert node.why_ended() is None
    node.shut_down(5)
    node.launch()
    node.discard()
    asked = (docker / "calls").read_text().splitlines()
    assert f"--publish 127.0.0.1:{node.ports.amqp}:5672" in asked[0]
    assert [line for line in asked if line.startswith("create")] == asked[:1]
    assert asked[-1] == "rm --force --volumes 0123abc"
    assert not node.directory.exists()


def test_its_configuration_is_copied_in(docker: Path) -> None:
    node = ContainerNode(Settings(config="heartbeat = 7"))
    node.launch()
    assert "listeners.tcp.default = 0.0.0.0:5672" in (node.directory / "rabbitmq.conf").read_text()
    asked = (docker / "calls").read_text()
    assert "rabbitmq.conf 0123abc:/etc/rabbitmq/conf.d/90-raquo.conf" in asked
    assert "enabled_plugins 0123abc:/etc/rabbitmq/enabled_plugins" in asked
    node.discard()


def test_a_failing_docker_command_is_one_line(docker: Path) -> None:
    node = ContainerNode(Settings())
    node.launch()
    with pytest.raises(LocalBrokerError, match="docker kill failed: no such container"):
        node.kill()
    node.discard()


def test_an_engine_that_does_not_answer_is_none(docker: Path) -> None:
    assert engine_answers()
    (docker / "docker").write_text("#!/bin/sh\nexit 1\n")
    assert not engine_answers()
