"""How far a pulled commit goes at each goal, what waits or is tried again, and which files make no design."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.errors import BufferEmpty, CollectionNotFound
from shipyard_api.domain.findings import error
from shipyard_api.domain.pulls import NO_PULL, Goal, Pull, Stage, Trouble
from shipyard_api.ports.documents import BrokenTree
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.pulls import PullDesign, _entries
from tests.unit.tables import every_row

BROKEN, LOADED, COMMITTED, PLANNED, STARTED = (
    Pull(stage, stage.value, "c1", Revision(3)) for stage in list(Stage) if stage is not Stage.NONE
)
OUT = replace(COMMITTED, trouble=Trouble.UNREACHABLE, text="git head: no answer")
BACK = replace(COMMITTED, text="every peer answers again")
WAITS = replace(COMMITTED, trouble=Trouble.WAITING, text="others")
SILENT, MISSING, TORN = (
    Unavailable("git", "head", "no answer"),
    CollectionNotFound("x", Version.BUFFER),
    error("X", "x"),
)
REFUSED = replace(WAITS, text=str(MISSING))
NEW = Pull(Stage.COMMITTED, "new", "c2", Revision(4))


class Pulls(PullDesign):
    """The use case without loads: a commit becomes ``NEW``."""

    def _loaded(self, latest: Pull, commit: str) -> Pull:
        return NEW


def pulls(goal: Goal, head: Any = "c1", refusal: Exception | None = None) -> Any:
    """Return the use case for a source with this head, or that fails with it; ``refusal``: of a plan."""

    def answer(value: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return value

    deployments = SimpleNamespace(plan=lambda _: answer(refusal or PLANNED), start=lambda _: STARTED)
    parts: Any = dict.fromkeys(("read", "store", "load", "commit", "definition", "caller", "new_id", "now"))
    source: Any = SimpleNamespace(head=lambda: answer(head))
    return Pulls(**{**parts, "deployments": deployments}, source=source, collection="site", goal=goal, pause=60.0)


@every_row(
    {
        # the goal, the latest state, what the parts answer; the next state
        "nothing before": (Goal.LOAD, NO_PULL, {}, NEW),
        "nothing before, and no commit": (Goal.LOAD, NO_PULL, {"head": ""}, NEW),
        "a new commit": (Goal.DEPLOY, COMMITTED, {"head": "c2"}, NEW),
        "a loaded one, and no more asked": (Goal.LOAD, LOADED, {}, LOADED),
        "a loaded one, and more asked now": (Goal.COMMIT, LOADED, {}, NEW),
        "a broken one is not tried again": (Goal.DEPLOY, BROKEN, {}, BROKEN),
        "a committed one": (Goal.COMMIT, COMMITTED, {}, COMMITTED),
        "a committed one to plan": (Goal.PLAN, COMMITTED, {}, PLANNED),
        "a planned one": (Goal.PLAN, PLANNED, {}, PLANNED),
        "a planned one to deploy": (Goal.DEPLOY, PLANNED, {}, STARTED),
        "a started one": (Goal.DEPLOY, STARTED, {}, STARTED),
        "a silent peer": (Goal.DEPLOY, COMMITTED, {"head": SILENT}, OUT),
        "it answers again": (Goal.COMMIT, OUT, {}, BACK),
        "what waits": (Goal.COMMIT, WAITS, {}, WAITS),
        "a refusal to try again": (Goal.PLAN, COMMITTED, {"refusal": BufferEmpty()}, COMMITTED),
        "another refusal": (Goal.PLAN, COMMITTED, {"refusal": MISSING}, REFUSED),
    }
)
def test_the_next_state_of_a_commit(goal: Goal, latest: Pull, answers: dict[str, Any], expected: Pull) -> None:
    assert pulls(goal, **answers)._after(latest) == expected


def test_a_poll_waits_for_its_time() -> None:
    use_case, looks, at = pulls(Goal.LOAD), [], [0.0]
    use_case.now = lambda: datetime(2026, 3, 2, tzinfo=UTC) + timedelta(seconds=at[0])
    use_case.store = SimpleNamespace(read=lambda _: looks.append(at[0]) or LOADED)
    for at[0] in (0.0, 59.9, 60.0, 119.0, 121.0):
        use_case()
    assert looks == [0.0, 60.0, 121.0]


@every_row(
    {
        "no file": ({}, "there is no document in its YAML files"),
        "files without documents": ({"a": "", "b": ""}, "there is no document in its YAML files"),
        "one of two cannot be read": ({"a": "x", "b": "!"}, "b: not YAML"),
        "in the order of the files": ({"b": "x y", "a": "", "c": "x"}, ["x", "y", "x"]),
    }
)
def test_the_documents_of_a_tree_are_those_of_all_files(files: dict[str, str], expected: list[str] | str) -> None:
    def read(content: bytes) -> list[str]:
        if content == b"!":
            raise ValueError("not YAML")
        return content.decode().split()

    try:
        found: object = _entries({path: content.encode() for path, content in files.items()}, read)
    except BrokenTree as broken:
        found = str(broken)
    assert found == expected
