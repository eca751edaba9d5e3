"""A deployment that is under way while the site is upgraded, and while it goes back; judged by Drydock's own log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from shipyard_api.storage import schema
from shipyard_simulators.embedded_postgres.server import temporary
from tests.crash.test_take_over import Journal, design, judge
from tests.releases import THIS, NoHistoryError, Release, Releases, first_rolling, last_stopped
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.crash

GROUPS = 24
LEFT = "left to a worker of another release"


def of_history(commit: str, directory: Path) -> Release:
    return Release.of_commit(commit, directory / commit[:8])


@contextmanager
def deploying(directory: Path, release: Release) -> Iterator[tuple[Releases, str, Journal]]:
    """A site of this release in the middle of a deployment, which must have ended well when the block is left."""
    with temporary() as server:
        release.admin(server.url, "db", "upgrade")
        with Releases(directory, server.url, scale=0.01, of={"api": release, "worker": release}) as stand:
            stand.commit(design(GROUPS))
            stand.start("worker")
            action, journal = stand.deploy_site(), Journal(server.url)
            journal.await_progress(4)
            yield stand, action, journal
            assert stand.wait(action)["verdict"] == "success"
            judge(stand, GROUPS)


@contextmanager
def paused(stand: Releases, action: str) -> Iterator[None]:
    """Let the action wait during the block: however slowly programs start, it has something left to do then."""
    for command in ("pause", "unpause"):
        answer = stand.request("POST", f"/actions/{action}/control/{command}")
        assert answer.status_code == 202, answer.text
        if command == "pause":
            yield


def pid(stand: Releases, name: str = "") -> int:
    return stand.processes[f"{name}worker"].pid


def left_alone(stand: Releases) -> str:
    """Return what the API says of actions that its release does not know; empty if it is not healthy."""
    answer = requests.get(f"{stand.url}/health", timeout=PATIENCE)
    return answer.headers.get("X-Shipyard-Left-Alone", "") if answer.status_code == 204 else ""


def test_a_deployment_goes_on_through_an_upgrade_and_back(tmp_path: Path) -> None:
    """From the last release to this checkout: upgraded schema, both beside each other, the new one, and the old one."""
    try:
        old = of_history(first_rolling(), tmp_path)
    except NoHistoryError as reason:
        pytest.skip(str(reason))
    with deploying(tmp_path, old) as (stand, action, journal):
        THIS.admin(stand.database_url, "db", "upgrade")
        journal.await_work_of(pid(stand), 4)
        with paused(stand, action):
            stand.begin(THIS, "new-")
        journal.await_work_of(pid(stand, "new-"), 1)
        assert stand.end() == [0, 0]
        journal.await_work_of(pid(stand, "new-"), 4)

        with paused(stand, action):
            old.admin(stand.database_url, "db", "upgrade")
            stand.begin(old, "back-")
        assert stand.end("new-") == [0, 0]
        journal.await_work_of(pid(stand, "back-"), 4)
        assert stand.action(action)["dag_status"] == "running"


def test_a_release_leaves_what_only_the_next_one_knows(tmp_path: Path) -> None:
    """The next one adds to the schema, and stores the rollout in a version that this one does not read."""
    after = Release.after_this_one(tmp_path / "next")
    with deploying(tmp_path, THIS) as (stand, action, journal):
        assert "9998" in after.admin(stand.database_url, "db", "upgrade")
        journal.await_work_of(pid(stand), 4)
        with paused(stand, action):
            stand.begin(after, "next-")
        journal.await_work_of(pid(stand, "next-"), 4)
        until(lambda: LEFT in stand.log("worker"))
        assert stand.end("next-") == [0, 0]

        assert "nothing to do" in THIS.admin(stand.database_url, "db", "upgrade")
        assert "of the state of step" in left_alone(stand)
        before = journal.progress()
        stand.begin(THIS, "further-")
        until(lambda: LEFT in stand.log("further-worker"))
        assert journal.progress() == before
        assert {process.poll() for process in stand.processes.values()} == {None}
        stand.begin(after, "next-")


def test_a_release_without_rolling_upgrades_is_stopped_first(tmp_path: Path) -> None:
    try:
        old = of_history(last_stopped(), tmp_path)
    except NoHistoryError as reason:
        pytest.skip(str(reason))
    with deploying(tmp_path, old) as (stand, _, journal):
        assert stand.end() == [0, 0]
        upgraded = THIS.admin(stand.database_url, "db", "upgrade")
        assert upgraded == f"database is at {schema.NEWEST}\n"
        stand.begin(THIS, "new-")
        journal.await_work_of(pid(stand, "new-"), 4)
