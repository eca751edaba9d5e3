"""Rendering takes time: callers at the same time share one rendering, or its failure."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from tests.unit.tables import every_row
from tests.waiting import PATIENCE

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
CALLERS = 4


class Store:
    """A store of one revision; a rendering ends when all callers have asked for it."""

    def __init__(self, outcome: Callable[[], Rendering]) -> None:
        self.renderings = 0
        self._outcome = outcome
        self._asked = threading.Semaphore(0)

    def revision(self, _revision: Revision) -> Any:
        self._asked.release()
        return SimpleNamespace(created_at=CREATED)

    def rendered(self, _revision: Revision) -> Rendering:
        self.renderings += 1
        for _ in range(CALLERS if self.renderings == 1 else 0):
            assert self._asked.acquire(timeout=PATIENCE)
        return self._outcome()


def failing() -> Rendering:
    raise RenderingFailed(Revision(1), ())


def outcomes(store: Store) -> list[object]:
    designs: Any = RenderedDesigns(store)  # type: ignore[arg-type]  # of the port, only what a rendering needs

    def call(_number: int) -> object:
        try:
            return designs.of(Revision(1))
        except RenderingFailed as failed:
            return failed

    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(call, range(CALLERS)))


@every_row([lambda: Rendering(()), failing])
def test_callers_at_the_same_time_share_one_rendering(outcome: Callable[[], Rendering]) -> None:
    store = Store(outcome)

    found = outcomes(store)

    # A caller who has asked and not yet looked may be late for a failure, and renders again.
    assert len({id(one) for one in found}) == store.renderings < CALLERS
