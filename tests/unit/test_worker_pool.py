"""Which sites of a pool have a worker, from none to more than there is room for."""

from __future__ import annotations

from collections.abc import Mapping

from shipyard_api.adapters.procrastinate.visits import Answer, Question
from shipyard_api.setting_types import Secret
from shipyard_api.settings import DatabaseOptions, Settings, SettingsError
from shipyard_api.worker_pool import WorkerPool


class Pool:
    """A pool without processes: ``answers`` are those of the next visit."""

    def __init__(self, *names: str, most: int = 50) -> None:
        self.files: dict[str, Settings | SettingsError] = {name: settings(name) for name in names}
        self.answers: dict[str, Answer] = dict.fromkeys(names, False)
        self.started: list[str] = []
        self.stopped: list[int] = []
        self.pool = WorkerPool(lambda: self.files, self._ask, self._start, self.stopped.append, most=most, linger=1e6)
        self.pool.reload(0.0)

    def turn(self, now: float = 1.0) -> list[str]:
        """Visit and tend once; return the sites that have a worker."""
        self.pool.visit(now)
        self.pool.tend(now)
        return [name for name, site in self.pool.sites.items() if site.pid]

    def _ask(self, questions: Mapping[str, Question]) -> Mapping[str, Answer]:
        return {name: self.answers[name] for name in questions}

    def _start(self, name: str, _: Settings) -> int:
        self.started.append(name)
        return len(self.started)


def settings(name: str) -> Settings:
    return Settings(database=DatabaseOptions(url=Secret(f"postgresql://shipyard@127.0.0.1/{name}")))


def test_only_a_site_with_work_gets_a_worker() -> None:
    pool = Pool("a", "b")
    assert pool.turn() == []

    pool.answers["b"] = True
    assert pool.turn() == ["b"]
    assert pool.turn() == ["b"]
    assert pool.started == ["b"]


def test_a_site_that_cannot_be_visited_leaves_the_others_alone() -> None:
    pool = Pool("a", "b", "c")
    pool.files["c"] = SettingsError(["wrong"])
    pool.pool.reload(0.0)
    pool.answers |= {"a": "connection refused", "b": True}

    assert pool.turn() == ["b"]


def test_a_worker_without_work_is_asked_to_end_once() -> None:
    pool = Pool("a")
    pool.answers["a"] = True
    pool.turn()
    pool.answers["a"] = False
    later = pool.pool.sites["a"].needed_at + 2e6
    pool.turn(later)
    pool.turn(later + 1)

    assert pool.stopped == [1]
    pool.pool.ended(1, 0, later + 2)
    assert pool.turn(later + 3) == []


def test_sites_beyond_the_bound_wait_in_order() -> None:
    pool = Pool("a", "b", "c", "d", most=2)
    pool.answers |= dict.fromkeys("bcd", True)
    assert pool.turn() == ["b", "c"]

    pool.answers["a"] = True
    pool.turn()
    pool.pool.ended(1, 0, 1.0)
    pool.turn()

    assert pool.started == ["b", "c", "d"]


def test_a_worker_that_fails_is_started_again_after_a_growing_pause() -> None:
    pool = Pool("a")
    pool.answers["a"] = True
    pool.turn(now=1.0)
    pool.pool.ended(1, 1, now=2.0)
    assert pool.turn(now=2.5) == []
    assert pool.turn(now=3.1) == ["a"]
    pool.pool.ended(2, 1, now=4.0)
    assert pool.turn(now=5.5) == []
    assert pool.turn(now=6.1) == ["a"]


def test_a_changed_or_removed_file_ends_its_worker_and_no_other() -> None:
    pool = Pool("a", "b", "c")
    pool.answers = dict.fromkeys("abc", True)
    pool.turn()
    pool.files = {"a": settings("a"), "b": settings("other")}
    pool.pool.reload(2.0)

    assert pool.stopped == [2, 3]
    assert list(pool.pool.sites) == ["a", "b"]
    pool.pool.ended(2, 0, 3.0)
    pool.pool.ended(3, 0, 3.0)
    assert pool.turn(4.0) == ["a", "b"]
