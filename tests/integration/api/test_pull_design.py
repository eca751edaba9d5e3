"""A site that pulls its design from git: what it says, what it does, and what it leaves alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.git import GitOptions
from shipyard_api.adapters.git import Repository as Address
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.pulls import Goal
from shipyard_api.storage import tables as t
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.pulls import PullDesign
from shipyard_api.wiring import bootstrap, parts, pulls
from shipyard_api.yaml_stream import write_documents
from tests.factories import node_document
from tests.git_repository import Repository
from tests.integration.api.conftest import settings
from tests.integration.api.contract.states import CIRCLE
from tests.integration.api.wire import JSON, Site, small_design

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on this machine")


class Killed(BaseException):
    """The end of a worker."""


@dataclass
class Pulling:
    """A site and its repository. Each poll is that of a worker which has just started."""

    site: Site
    upstream: Repository
    url: str

    def poll(self, goal: Goal = Goal.COMMIT, times: int = 1) -> list[str]:
        """Poll, and return the texts of all states so far, the first one first."""
        git = GitOptions(url=Address(self.upstream.url), collection="design", action=goal)
        for _ in range(times):
            (pull,) = pulls.pull(parts.build(settings(self.url, self.site.drydock.url, git=git)))
            pull()
        return [pull["text"] for pull in self.pulls]

    @property
    def pulls(self) -> list[dict[str, Any]]:
        """The states so far, as everybody reads them."""
        return [one["parameters"] for one in self.site.viewer.get("/actions", name="pull_design").json]

    def push(self, *documents: Any, **files: Any) -> str:
        """Push a design, and return the commit as it is shown."""
        return self.upstream.commit(site_yaml=write_documents(documents), **files)[:12]

    def heads(self) -> tuple[int | None, int | None]:
        """Return the committed revision, and that of the buffer."""
        heads = self.site.designs.heads()
        committed = next((revision for tag, revision in heads.newest.items() if tag.value == "committed"), None)
        return committed, heads.head


@pytest.fixture
def pulling(site: Site, shared_url: str, tmp_path: Path) -> Pulling:
    return Pulling(site, Repository.new(tmp_path / "upstream"), shared_url)


def test_each_change_is_committed_once_and_said_once(pulling: Pulling) -> None:
    first = pulling.push(*small_design(["n1"]))
    assert pulling.poll(times=2) == [f"commit {first} is committed as revision 1"]
    # A second file, and one that is removed.
    second = pulling.push(*small_design(["n1"]), more_yaml=write_documents([node_document("n2")]))
    third = pulling.push(*small_design(["n1"]), more_yaml=None)
    assert pulling.poll(times=2)[1:] == [f"commit {third} is committed as revision 1"]
    assert pulling.heads() == (1, 1)
    again = pulling.push(*small_design(["n1", "n2"]))
    assert pulling.poll(times=2)[2:] == [f"commit {again} is committed as revision 2"]
    assert second not in str(pulling.pulls)
    # A forced push back is a change as any other.
    pulling.upstream.git("reset", "--hard", "--quiet", "HEAD~1")
    assert pulling.poll()[3:] == [f"commit {third} is committed as revision 3"]
    assert [pull["revision"] for pull in pulling.pulls] == [1, 1, 2, 3]


def test_a_load_stays_in_the_buffer_for_a_person_until_the_settings_ask_for_more(pulling: Pulling) -> None:
    commit = pulling.push(*small_design())
    assert pulling.poll(Goal.LOAD, times=2) == [f"commit {commit} is loaded as revision 1"]
    newer = pulling.push(*small_design(["n1"]))
    assert pulling.poll(Goal.LOAD)[1:] == [f"commit {newer} is loaded as revision 2"]
    assert pulling.heads() == (None, 2)
    assert pulling.poll()[2:] == [f"commit {newer} is committed as revision 2"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        pytest.param({"site_yaml": "a: [\n"}, "site.yaml: line 1, column 5", id="not YAML"),
        pytest.param({"site_yaml": "a: 1\n"}, "Document 1", id="no document"),
        pytest.param({"README": "none"}, "there is no document", id="nothing"),
        pytest.param({"site_yaml": write_documents([*small_design(), CIRCLE])}, "cycle", id="no design"),
    ],
)
def test_a_broken_tree_changes_nothing_and_is_said_once(pulling: Pulling, files: dict[str, Any], why: str) -> None:
    good = pulling.push(*small_design())
    pulling.poll()
    before = pulling.site.viewer.get("/configdocs/design", version="committed").text
    bad = pulling.upstream.commit(**{"site_yaml": None, **files})[:12]
    for goal in (Goal.COMMIT, Goal.LOAD):
        said = pulling.poll(goal, times=2)
        assert len(said) == 2
        assert said[1].startswith(f"commit {bad} is broken, and changes nothing: ")
        assert why in said[1]
    assert pulling.site.viewer.get("/configdocs/design", version="committed").text == before
    assert pulling.site.viewer.get("/configdocs/design", version="buffer").status_code == 404
    pulling.upstream.git("revert", "--no-edit", "HEAD")
    assert pulling.poll()[2].endswith("is committed as revision 1")
    assert good


def test_the_buffer_of_a_person_is_left_alone_and_waited_for(pulling: Pulling) -> None:
    commit = pulling.push(*small_design())
    person = pulling.site.admin
    person.load("other", node_document("n9"))
    waits = f"commit {commit} waits: the buffer holds documents of others, which are committed first"
    assert pulling.poll(times=2) == [waits]
    assert "n9" in pulling.site.viewer.get("/configdocs/other").text
    assert person.commit(force="true").status_code == 200
    assert pulling.poll()[1:] == [f"commit {commit} is committed as revision 2"]
    # What a person has put on top of a load of ours is theirs, too.
    pulling.push(*small_design(["n1"]))
    pulling.poll(Goal.LOAD)
    person.load("other", node_document("n8"), buffermode="append")
    pulling.push(*small_design(["n2"]))
    assert "waits: " in pulling.poll(times=2)[3]
    assert "n8" in pulling.site.viewer.get("/configdocs/other").text


@pytest.mark.parametrize("after", [LoadConfigdocs.__call__, CommitConfigdocs.__call__], ids=["load", "commit"])
def test_a_worker_that_is_killed_between_two_writes_loses_and_repeats_nothing(
    pulling: Pulling, after: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = pulling.push(*small_design())

    def killed(*arguments: Any, **named: Any) -> Any:
        after(*arguments, **named)
        raise Killed

    owner = LoadConfigdocs if after is LoadConfigdocs.__call__ else CommitConfigdocs
    with monkeypatch.context() as patched:
        patched.setattr(owner, "__call__", killed)
        with pytest.raises(Killed):
            pulling.poll()
    assert pulling.poll(times=2) == [f"commit {commit} is committed as revision 1"]
    assert pulling.heads() == (1, 1)


def test_two_workers_that_poll_at_once_say_it_once(pulling: Pulling, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = pulling.push(*small_design())
    record = PullDesign._record

    def overtaken(self: PullDesign, latest: Any, pull: Any) -> bool:
        monkeypatch.setattr(PullDesign, "_record", record)
        pulling.poll()
        return record(self, latest, pull)

    monkeypatch.setattr(PullDesign, "_record", overtaken)
    assert pulling.poll() == [f"commit {commit} is committed as revision 1"]


def test_a_remote_that_is_gone_is_said_once_and_so_is_its_return(pulling: Pulling) -> None:
    commit = pulling.push(*small_design())
    pulling.poll()
    away = pulling.upstream.directory.rename(pulling.upstream.directory.parent / "away")
    said = pulling.poll(times=2)
    assert len(said) == 2
    assert said[1].startswith("git ls-remote: ")
    away.rename(pulling.upstream.directory)
    assert pulling.poll(times=2)[2:] == ["every peer answers again"]
    assert pulling.pulls[-1]["commit"].startswith(commit)


def test_a_plan_waits_for_another_person_and_then_starts_one_action(pulling: Pulling, engine: sa.Engine) -> None:
    commit = pulling.push(*small_design())
    said = pulling.poll(Goal.DEPLOY, times=2)
    plan = pulling.pulls[-1]["plan"]
    assert said == [
        f"commit {commit} is committed as revision 1",
        f"commit {commit} is committed as revision 1: approve plan {plan}",
    ]
    shown = pulling.site.admin.get(f"/plans/{plan}").json
    signed = pulling.site.admin.post(f"/plans/{plan}/approvals", json.dumps({"hash": shown["hash"]}), JSON)
    assert signed.status_code == 200, signed.text
    assert pulling.poll(Goal.PLAN) == said  # it was approved, but nobody asked to deploy
    (started,) = pulling.poll(Goal.DEPLOY, times=2)[2:]
    (action,) = pulling.site.viewer.get("/actions").json
    assert (action["name"], action["user"]) == ("deploy_site", "git")
    assert started == f"commit {commit} is deployed by deploy_site {action['id']}"
    with engine.connect() as connection:
        names = connection.execute(sa.select(t.actions.c.name).where(t.actions.c.name == "deploy_site")).scalars().all()
    assert names == ["deploy_site"]


def test_a_plan_that_no_longer_holds_when_it_is_approved_is_planned_and_approved_again(pulling: Pulling) -> None:
    def approve() -> str:
        plan: str = pulling.pulls[-1]["plan"]
        shown = pulling.site.admin.get(f"/plans/{plan}").json
        signed = pulling.site.admin.post(f"/plans/{plan}/approvals", json.dumps({"hash": shown["hash"]}), JSON)
        assert signed.status_code == 200, signed.text
        return plan

    commit = pulling.push(*small_design())
    pulling.poll(Goal.DEPLOY, times=2)
    first = approve()
    hold = json.dumps({"reason": "new disk", "class": "no_criteria"})
    assert pulling.site.admin.post("/nodes/n1/holds", hold, JSON).status_code == 201
    again = pulling.poll(Goal.DEPLOY)[-1]
    second = approve()
    assert second != first
    assert again == f"commit {commit} is committed as revision 1: approve plan {second}"
    started = pulling.poll(Goal.DEPLOY)[-1]
    (action,) = pulling.site.viewer.get("/actions").json
    assert started == f"commit {commit} is deployed by deploy_site {action['id']}"


def test_what_is_said_is_a_line_in_the_journal_and_fails_if_somebody_has_to_act(pulling: Pulling) -> None:
    pulling.push(*small_design())
    pulling.poll()
    pulling.upstream.commit(site_yaml="a: [\n")
    pulling.poll()
    worker = bootstrap.worker(settings(pulling.url, pulling.site.drydock.url))
    states = []
    for one in pulling.site.viewer.get("/actions", name="pull_design").json:
        worker._run(ActionId(one["id"]))
        ended = pulling.site.viewer.get(f"/actions/{one['id']}").json
        assert one["parameters"]["text"] in json.dumps(ended, ensure_ascii=False)
        states.append(ended["dag_status"])
    assert states == ["success", "failed"]
    assert pulling.site.viewer.get("/actions").json == []
