"""A plan is carried out slice after slice; what is not tried is given back, whatever happens."""

import asyncio
import logging

import pytest

from raquo.distributor.carrying import Carrying


def test_what_a_mistake_leaves_untried_is_given_back_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    moved: list[tuple[str, int, int]] = []
    given_back: list[tuple[str, int]] = []

    async def move(queue: str, count: int, part: int) -> bool:
        if queue == "bad":
            raise RuntimeError("a mistake")
        moved.append((queue, count, part))
        return True

    parts = [{"bad": 3, "good": 4}, {"bad": 5, "good": 6}, {"bad": 7, "good": 8}]
    with caplog.at_level(logging.ERROR):
        late = asyncio.run(Carrying(parts, move, lambda queue, count: given_back.append((queue, count))).run())
    assert not late
    assert moved == [("good", 4, 0), ("good", 6, 1), ("good", 8, 2)]
    assert given_back == [("bad", 5), ("bad", 7)]
    assert "a part of a plan failed" in caplog.text


def test_a_queue_that_moved_less_than_its_part_is_not_asked_again() -> None:
    given_back: list[tuple[str, int]] = []

    async def move(queue: str, count: int, part: int) -> bool:
        return False

    late = asyncio.run(Carrying([{"a": 1}, {"a": 2}], move, lambda *own: given_back.append(own)).run())
    assert not late
    assert given_back == [("a", 2)]
