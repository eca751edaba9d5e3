"""How many jobs a worker begins, and that each gives its slot back."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from procrastinate.manager import JobManager

from shipyard_api.adapters.procrastinate import slots as adapter
from shipyard_api.adapters.procrastinate.lifeline import Lifeline
from shipyard_api.adapters.procrastinate.slots import Slots
from tests.unit.tables import every_row

JOB = SimpleNamespace(id=1)


def begins(slots: Slots) -> bool | None:
    """Return whether a job may begin, None if it has to wait."""

    async def asked() -> bool | None:
        question = asyncio.ensure_future(slots.free())
        await asyncio.sleep(0)
        if question.done():
            return question.result()
        question.cancel()
        return None

    return asyncio.run(asked())


@every_row([(1, 0, 0, True), (1, 1, 0, None), (1, 1, 1, True), (2, 1, 0, True), (2, 2, 0, None), (2, 3, 1, None)])
def test_a_job_begins_where_fewer_work_than_there_are_slots(
    count: int, taken: int, waiting: int, free: bool | None
) -> None:
    slots = Slots(count, lambda: waiting)
    for _ in range(taken):
        slots.take()
    assert begins(slots) is free
    slots.stop()
    assert begins(slots) is False


@every_row({"ended": ("finish_job", (JOB, None, False)), "queued again": ("retry_job", (JOB,))})
def test_a_job_gives_its_slot_back(method: str, arguments: tuple[Any, ...]) -> None:
    async def run() -> None:
        slots = Slots(1, lambda: 0)
        slots.take()
        question = asyncio.ensure_future(slots.free())
        await asyncio.sleep(0)
        manager: Any = Lifeline.__new__(Lifeline)
        manager._slots, manager._running = slots, {1}
        await getattr(manager, method)(*arguments)
        for _ in range(10):
            await asyncio.sleep(0)
        assert (question.done(), manager._running) == (True, set())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "_RECHECK", 600.0)
        patch.setattr(JobManager, method, done := AsyncMock())
        asyncio.run(run())
    done.assert_awaited_once()
