"""Rendering takes time: callers at the same time share one rendering, or its failure."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.documents import Rendering, Revision, RevisionTag
from shipyard_api.ports.documents import Heads, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import Unavailable
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


class Designs:
    """Revisions without waits, each of as many documents; ``asked``: in the order in which they were rendered."""

    def __init__(self, documents: int = 0, failure: Exception | None = None) -> None:
        self.asked: list[int] = []
        self.documents, self.failure, self.created, self.newest = documents, failure, CREATED, Revision(2)

    def revision(self, _revision: Revision) -> Any:
        return SimpleNamespace(created_at=self.created)

    def rendered(self, revision: Revision) -> Rendering:
        self.asked.append(revision)
        if self.failure:
            raise self.failure
        return Rendering((None,) * self.documents)  # type: ignore[arg-type]  # they are only counted

    def heads(self) -> Heads:
        return Heads(Revision(9), {RevisionTag.COMMITTED: self.newest} if self.newest else {})


@every_row(
    {
        # the revisions that are asked for in turn, how many documents each has; those that were rendered
        "four": ([1, 2, 3, 4, 1, 2, 3, 4], 0, [1, 2, 3, 4]),
        "the oldest of five gives way": ([1, 2, 3, 4, 5, 2, 1], 0, [1, 2, 3, 4, 5, 1]),
        "one that is used stays longest": ([1, 2, 3, 4, 1, 5, 1, 2], 0, [1, 2, 3, 4, 5, 2]),
        "as many documents as fit": ([1, 2, 1], 10_000, [1, 2]),
        "one more than fits": ([1, 2, 3, 2, 3, 1], 6_667, [1, 2, 3, 1]),
        "a single one that does not fit": ([1, 1], 20_001, [1]),
    }
)
def test_designs_that_were_not_used_for_longest_are_rendered_again(
    revisions: list[int], documents: int, rendered: list[int]
) -> None:
    store = Designs(documents)
    designs: Any = RenderedDesigns(store)  # type: ignore[arg-type]
    assert all(len(designs.of(Revision(revision)).documents) == documents for revision in revisions)
    assert store.asked == rendered


def test_the_committed_design_is_remembered_for_its_time_and_until_it_is_forgotten() -> None:
    store, at, found = Designs(), [100.0], []
    designs: Any = RenderedDesigns(store, remember=5.0, now=lambda: at[0])  # type: ignore[arg-type]
    for at[0], newest in ((100.0, 2), (104.9, 3), (105.0, 4), (109.9, 5)):
        store.newest = Revision(newest)
        found.append(designs.committed()[0])
    designs.forget_committed()
    assert [*found, designs.committed()[0]] == [2, 2, 4, 4, 5]


def test_without_a_time_to_remember_each_call_asks_the_store_and_other_times_have_other_designs() -> None:
    store = Designs()
    designs: Any = RenderedDesigns(store, now=lambda: 100.0)  # type: ignore[arg-type]
    first = designs.committed()[1]
    store.created += timedelta(seconds=1)
    assert designs.committed()[1] is not first
    store.newest = Revision(0)
    assert (designs.committed(), designs.committed_nodes(), store.asked) == (None, None, [2, 2])


@every_row([RenderingFailed(Revision(2), ()), UnknownRevision(2), Unavailable("Deckhand", "render", "no answer")])
def test_a_committed_design_that_cannot_be_read_is_none_until_it_can_be(failure: Exception) -> None:
    store = Designs(0, failure)
    designs: Any = RenderedDesigns(store)  # type: ignore[arg-type]
    assert (designs.committed(), designs.committed_nodes()) == (None, None)
    store.failure = None
    assert designs.committed_nodes() == frozenset()
