"""Callers who wait for the end of their actions, without a server."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import pytest

from shipyard_api.api.http.waiting import EndedActions, TooManyWaiting
from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.errors import StoreUnavailable

A, B = ActionId("a"), ActionId("b")


class Actions:
    """What has ended; ``asked``: which actions each look was for. The next look raises ``error``."""

    def __init__(self) -> None:
        self.over: set[ActionId] = set()
        self.asked: list[set[ActionId]] = []
        self.error: Exception | None = None
        self.ends = EndedActions(self.ended, most=2, seconds=0)

    def ended(self, actions: Collection[ActionId]) -> Collection[ActionId]:
        self.asked.append(set(actions))
        if error := self.error:
            self.error = None
            raise error
        return self.over & set(actions)

    async def looks(self, more: int = 2) -> None:
        """Wait for further looks."""
        until = len(self.asked) + more
        while len(self.asked) < until:
            await asyncio.sleep(0)


def run(test: Callable[[Actions], Coroutine[Any, Any, None]]) -> Actions:
    actions = Actions()
    asyncio.run(asyncio.wait_for(test(actions), 60))
    return actions


def test_only_the_callers_of_an_action_that_has_ended_return() -> None:
    async def test(actions: Actions) -> None:
        first, second, other = (asyncio.create_task(actions.ends.wait_for(action)) for action in (A, A, B))
        await actions.looks()
        assert not any(task.done() for task in (first, second, other))
        actions.over = {A}
        await asyncio.gather(first, second)
        await actions.looks()
        assert (other.done(), actions.asked[-1]) == (False, {B})
        actions.over = {A, B}
        await other

    assert run(test).asked[1] == {A, B}


def test_a_caller_who_comes_when_nobody_waits_is_looked_for_anew() -> None:
    async def test(actions: Actions) -> None:
        actions.over = {A}
        await actions.ends.wait_for(A)
        for _ in range(9):  # let the looks end
            await asyncio.sleep(0)
        await actions.ends.wait_for(A)

    assert run(test).asked == [{A}, {A}]


def test_a_caller_who_leaves_is_forgotten_alone() -> None:
    async def test(actions: Actions) -> None:
        stays, leaves, other = (asyncio.create_task(actions.ends.wait_for(action)) for action in (A, A, B))
        await actions.looks()
        leaves.cancel()
        other.cancel()
        await actions.looks()
        assert (actions.asked[-1], stays.done()) == ({A}, False)
        actions.over = {A}
        await stays

    run(test)


def test_a_caller_who_leaves_as_the_action_ends_disturbs_no_other() -> None:
    async def test(actions: Actions) -> None:
        tasks = [asyncio.create_task(actions.ends.wait_for(A)) for _ in range(9)]
        await actions.looks()
        actions.over = {A}
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks[1::2])

    run(test)


def test_callers_wait_through_an_outage() -> None:
    async def test(actions: Actions) -> None:
        actions.error, actions.over = StoreUnavailable("gone"), {A}
        await actions.ends.wait_for(A)

    assert run(test).asked == [{A}, {A}]


def test_a_fault_reaches_each_caller_and_ends_the_looks() -> None:
    async def test(actions: Actions) -> None:
        actions.error = KeyError("a bug")
        answers = await asyncio.gather(*map(actions.ends.wait_for, (A, A, B)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [KeyError] * 3
        actions.over = {A}
        await actions.ends.wait_for(A)

    assert run(test).asked == [{A, B}, {A}]


def test_only_so_many_callers_have_a_place() -> None:
    actions = Actions()
    with actions.ends.place():
        for _ in range(2):
            with actions.ends.place(), pytest.raises(TooManyWaiting), actions.ends.place():
                pass
