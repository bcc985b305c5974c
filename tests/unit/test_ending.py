"""Tasks end, also those that do not hear the first cancel."""

import asyncio
from contextlib import suppress

from raquo.distributor.ending import end


async def deaf_once() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.Event().wait()


async def fails() -> None:
    raise ValueError("no")


def test_a_task_that_swallows_a_cancel_is_told_again() -> None:
    async def scenario() -> list[BaseException | None]:
        tasks = [asyncio.create_task(deaf_once()), asyncio.create_task(fails())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return await asyncio.wait_for(end(tasks), 10)

    deaf, failed = asyncio.run(scenario())
    assert deaf is None
    assert isinstance(failed, ValueError)


def test_ending_nothing_is_nothing() -> None:
    assert asyncio.run(end([])) == []
