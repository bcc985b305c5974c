"""The code agrees with the test vectors that routers in other languages are written against."""

import json
from pathlib import Path
from typing import Any

import pytest

from raquo.mutators.errors import NameTooLong
from raquo.mutators.names import StagingName

DOCS = Path(__file__).parents[2] / "docs"
VECTORS: list[dict[str, Any]] = json.loads((DOCS / "names.json").read_text(encoding="utf-8"))
OTHERS = {"written_as", "reserved"}
WRITTEN = [case for case in VECTORS if case["target"] and case["queue"] and not OTHERS & case.keys()]
WORDS = ("`*`", "`@none`", "`@in`", "`@sync`", "`@async`", "names.json", "raquo-staged-at", "raquo.wake")


def each(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["note"] for case in cases])


def built(case: dict[str, Any]) -> StagingName:
    return StagingName(case["target"], case["discriminators"], case["service_class"])


@each(WRITTEN)
def test_a_name_is_written_as_the_vector_says(case: dict[str, Any]) -> None:
    assert str(built(case)) == case["queue"]


@each(WRITTEN)
def test_a_written_name_is_read_as_the_same_queue(case: dict[str, Any]) -> None:
    read = StagingName.parse(case["queue"])
    assert str(read) == case["queue"]
    assert read == built(case) or "~" in case["queue"]


@each([case for case in VECTORS if "reserved" in case])
def test_a_reserved_part_stands_as_it_is(case: dict[str, Any]) -> None:
    read = StagingName.parse(case["queue"])
    assert read is not None
    assert (read.reserved, str(read)) == (case["reserved"], case["queue"])
    assert read != built(case)


@each([case for case in VECTORS if "written_as" in case])
def test_a_name_from_elsewhere_is_read(case: dict[str, Any]) -> None:
    read = StagingName.parse(case["queue"])
    assert read is not None
    assert (read.target, read.service_class) == (case["target"], case["service_class"])
    assert list(read.discriminators) == case["discriminators"]
    assert str(read) == case["written_as"]


@each([case for case in VECTORS if not case["target"]])
def test_what_is_no_staging_name_is_not_read_as_one(case: dict[str, Any]) -> None:
    assert StagingName.parse(case["queue"]) is None


@each([case for case in VECTORS if case["queue"] is None])
def test_a_target_without_room_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(NameTooLong, match="237 bytes"):
        str(built(case))


def test_the_page_names_every_reserved_part_and_points_to_the_vectors() -> None:
    page = (DOCS / "wire-contract.md").read_text(encoding="utf-8")
    assert [word for word in WORDS if word not in page] == []
