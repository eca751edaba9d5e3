"""Which sites of a pool have a worker, from none to more than there is room for."""

from __future__ import annotations

import pytest

from shipyard_api.adapters.procrastinate.visits import Answer
from shipyard_api.programs.worker_pool import WorkerPool
from shipyard_api.settings.types import Secret
from shipyard_api.wiring.settings import DatabaseOptions, Settings, SettingsError


class Pool:
    """A pool without processes: ``answers`` are those of the next visit."""

    def __init__(self, *names: str, most: int = 50, linger: float = 1e6, every: float = 0.0) -> None:
        self.files: dict[str, Settings | SettingsError] = {name: settings(name) for name in names}
        self.answers: dict[str, Answer] = dict.fromkeys(names, False)
        self.started: list[str] = []
        self.stopped: list[int] = []
        self.asked: list[str] = []
        self.pool = WorkerPool(
            lambda: self.files,
            self.asked.extend,
            self._start,
            self.stopped.append,
            most=most,
            linger=linger,
            every=every,
        )
        self.pool.reload(0.0)

    def turn(self, now: float = 1.0) -> list[str]:
        """Visit and tend once; return the sites that have a worker."""
        self.pool.visit(now)
        for name in self.asked:
            self.pool.visited(name, self.answers[name], now)
        self.asked.clear()
        self.pool.tend(now)
        return [name for name, site in self.pool.sites.items() if site.pid]

    def _start(self, name: str, _: Settings) -> int:
        self.started.append(name)
        return len(self.started)


def settings(name: str, host: str = "127.0.0.1") -> Settings:
    return Settings(database=DatabaseOptions(url=Secret(f"postgresql://shipyard@{host}/{name}")))


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


def test_a_worker_ends_only_after_a_newer_visit_that_found_no_work() -> None:
    pool = Pool("a", linger=60.0, every=5.0)
    pool.answers["a"] = True
    pool.turn(1.0)
    pool.pool.visit(10.0)  # it is not answered
    pool.pool.tend(500.0)
    pool.pool.visited("a", "no answer within 5 s", 500.0)
    pool.pool.tend(500.0)
    assert not pool.stopped

    pool.answers["a"] = False
    pool.turn(600.0)
    assert pool.stopped == [1]


def test_visits_that_were_lost_are_made_again() -> None:
    pool = Pool("a")
    pool.answers["a"] = True
    pool.pool.visit(1.0)
    pool.asked.clear()
    assert pool.turn(2.0) == []
    pool.pool.visit_anew()
    assert pool.turn(3.0) == ["a"]


@pytest.mark.parametrize(("silent", "hosts"), [(0, 1), (33, 1), (100, 400), (400, 1), (400, 400)])
def test_silent_servers_take_no_worker_from_healthy_sites(silent: int, hosts: int) -> None:
    """500 sites by a clock of the test: all work at first, then servers freeze, then healthy sites get work in turn."""
    names = [f"s{number}" for number in range(500)]
    sick, healthy, frozen_at = set(names[:silent]), names[silent:], 30.0
    pool = Pool(linger=20.0, every=5.0)
    pool.files = {
        name: settings(name, f"10.0.0.{number % hosts}" if name in sick else "127.0.0.1")
        for number, name in enumerate(names)
    }
    pool.pool.reload(0.0)
    for site in pool.pool.sites.values():
        site.worked_at = 0.0  # no housekeeping
    has_work = {healthy[0]: 0.0}
    answers: dict[str, tuple[float, Answer]] = {}
    waited = []
    for turn in range(400):
        now = turn / 4
        if now > 40.0 and turn % 40 == 0:
            has_work[healthy[turn % len(healthy)]] = now
        for name in [name for name, (at, _) in answers.items() if at <= now]:
            pool.pool.visited(name, answers.pop(name)[1], now)
        pool.pool.visit(now)
        for name in pool.asked:
            is_silent = name in sick and now > frozen_at
            answers[name] = (now + 5.0, "no answer within 5 s") if is_silent else (now + 0.02, name in has_work)
        pool.asked.clear()
        pool.pool.tend(now)
        for name in pool.started[len(waited) :]:
            waited.append(now - has_work[name])
    assert pool.started == list(has_work)[: len(waited)]
    assert len(waited) >= len(has_work) - 1
    assert max(waited) <= 10.0
    assert pool.stopped == []
