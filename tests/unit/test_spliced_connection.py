"""Which pika the mover accepts, and what it says of the others."""

import configparser
import re
from pathlib import Path

import pika
import pytest

from raquo.broker import spliced_connection
from raquo.broker.errors import UntestedPika
from raquo.broker.spliced_connection import TESTED, check_pika

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", [*TESTED, pika.__version__, "1.3.3", "1.4.0"])
def test_tested_versions_and_those_between_are_accepted(version: str) -> None:
    check_pika(version)


@pytest.mark.parametrize("version", ["1.2.0", "1.3.1", "0.13.1", "1.4.5", "1.5.0", "2.0.0", "1.5.0rc1", "odd"])
def test_other_versions_are_refused_in_one_line_that_says_what_to_install(version: str) -> None:
    with pytest.raises(UntestedPika) as refusal:
        check_pika(version)
    assert str(refusal.value) == (
        f"the mover was tested with pika {TESTED[0]} to {TESTED[1]}, not with {version}: "
        f"pip install 'pika=={TESTED[1]}'"
    )


def test_a_pika_that_lost_a_member_is_refused_by_the_members_name(monkeypatch: pytest.MonkeyPatch) -> None:
    members = ((*spliced_connection._MEMBERS[0][:1], ("_on_data_available", "_gone")),)
    monkeypatch.setattr(spliced_connection, "_MEMBERS", members)
    with pytest.raises(UntestedPika, match=r"\(it lacks _gone\): pip install"):
        check_pika(TESTED[1])


def test_the_oldest_tested_version_is_the_oldest_that_is_installed() -> None:
    setup = configparser.ConfigParser()
    setup.read(_ROOT / "setup.cfg")
    requirement = re.search(r"pika\s*>=\s*([\d.]+)", setup["options"]["install_requires"])
    assert requirement is not None
    assert requirement[1] == TESTED[0]


def test_ci_runs_the_oldest_tested_version() -> None:
    assert f"'pika=={TESTED[0]}'" in (_ROOT / "Makefile").read_text()
    assert "make test-pika" in (_ROOT / ".ci" / "run").read_text()
