"""What is kept rendered is what would be rendered now, whatever has happened to an action in between.

Each test asks before and after, through an application that has answered already, and through one that has not.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api import bootstrap
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.api.rendered_actions import BATCH, RenderedActions, listed
from shipyard_api.domain.actions import ActionId, Control, RunState, StepState
from shipyard_api.domain.facts import WorkLeftBehind
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Work
from shipyard_api.ports.store import Claim, Intent, Straggler
from shipyard_api.storage.actions import SERVER
from shipyard_api.storage.unit_of_work import SqlStore, connect_readers
from tests.integration.api.conftest import settings
from tests.integration.api.wire import Caller, Site, small_design
from tests.peer import Peer

NOW = datetime.now(UTC)
VERBOSITIES = (0, 1, 5)


@dataclass
class Watched:
    """An action, somebody who has seen it before, and a way to somebody who has not."""

    store: SqlStore
    action: ActionId
    before: Caller
    new: Callable[[], Caller]
    claim: Claim | None = None

    def shown(self, caller: Caller) -> list[Any]:
        paths = ("/actions", f"/actions/{self.action}")
        return [caller.get(path, verbosity=level).content for path in paths for level in VERBOSITIES]

    def turn(self) -> Claim:
        """The turn that is going on; the first time, a new one."""
        if self.claim is None:
            with self.store.begin() as tx:
                self.claim = tx.turns.claim(self.action, now=NOW + timedelta(hours=1), worker="w")
            assert self.claim is not None
        return self.claim


@pytest.fixture
def watched(site: Site, shared_url: str, drydock: Peer) -> Watched:
    site.commit(*small_design())
    action = ActionId(site.create_action())
    token = site.admin.client._default_headers["X-Auth-Token"]

    def new() -> Caller:
        return Caller(bootstrap.api(settings(shared_url, drydock.url)), token)

    return Watched(site.store, action, site.admin, new)


def start_step(watched: Watched) -> None:
    with watched.store.begin() as tx:
        tx.turns.start_step(watched.turn(), {"v": 1}, now=NOW)


def recorded(*facts: object) -> Callable[[Watched], None]:
    def record(watched: Watched) -> None:
        with watched.store.begin() as tx:
            tx.turns.record(watched.turn(), {"v": 1}, facts, now=NOW, wake_at=None)

    return record


def intend(watched: Watched) -> None:
    intent = Intent(Marker("m"), {"v": 1}, NOW, NOW, NOW, 1)
    with watched.store.begin() as tx:
        tx.turns.intend(watched.turn(), intent)


def end_step(watched: Watched) -> None:
    claim = watched.turn()
    with watched.store.begin() as tx:
        tx.turns.end_step(claim, StepState.FAILED, "because", claim.remaining[:1], now=NOW)


def skip(watched: Watched) -> None:
    claim = watched.turn()
    with watched.store.begin() as tx:
        tx.turns.skip(claim, claim.remaining[-1:], now=NOW)


def broke(watched: Watched) -> None:
    with watched.store.begin() as tx:
        tx.turns.broke(watched.turn(), "bug", now=NOW)


def end_action(watched: Watched) -> None:
    with watched.store.begin() as tx:
        tx.turns.end_action(watched.turn(), RunState.FAILED, now=NOW)


def controlled(*controls: Control) -> Callable[[Watched], None]:
    def control(watched: Watched) -> None:
        watched.turn()
        for one in controls:
            with watched.store.begin() as tx:
                tx.actions.control(watched.action, one, "eve")

    return control


def end_straggler(watched: Watched) -> None:
    """Long after the action, and by a worker that has no turn."""
    work = Work(Operation.PREPARE_NODES, "design", (NodeName("n1"),))
    left = Straggler(watched.action, JobId("j"), work, "timeout", NOW)
    with watched.store.begin() as tx:
        tx.turns.record(
            watched.turn(), {"v": 1}, [WorkLeftBehind("prepare_nodes", "j", "design", work.nodes, "t")],
            now=NOW, wake_at=None,
        )  # fmt: skip
        tx.turns.end_action(watched.turn(), RunState.FAILED, now=NOW)
    watched.shown(watched.before)
    report = JobReport(JobId("j"), JobState.ENDED, ok=True, succeeded=frozenset({NodeName("n1")}))
    with watched.store.begin() as tx:
        tx.stragglers.end(left, report, now=NOW, worker="w")


FINDING = Finding("Bad", Level.ERROR, "it is bad")
CHANGES: dict[str, Callable[[Watched], None]] = {
    "a turn begins": lambda watched: void(watched.turn()),
    "a step begins": start_step,
    "something is intended": intend,
    "a finding": recorded(FINDING),
    "a step ends, and one after it": end_step,
    "a step is skipped": skip,
    "a turn ended in a bug": broke,
    "the action ends": end_action,
    "somebody pauses": controlled(Control.PAUSE),
    "somebody pauses and goes on": controlled(Control.PAUSE, Control.UNPAUSE),
    "somebody stops": controlled(Control.STOP),
    "late work ends": end_straggler,
}


def void(_: object) -> None:
    return


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_every_change_one_is_shown_what_there_is(watched: Watched, change: Callable[[Watched], None]) -> None:
    before = watched.shown(watched.before)

    change(watched)

    after = watched.shown(watched.before)
    assert after == watched.shown(watched.new())
    if change is not broke and change is not intend:
        assert after != before


def test_one_change_after_another(watched: Watched) -> None:
    """All on one action, each asked for by somebody who has seen what was there before."""
    fresh = watched.new
    for change in (start_step, intend, recorded(FINDING), broke, end_step, controlled(Control.STOP), skip, end_action):
        change(watched)
        assert watched.shown(watched.before) == watched.shown(fresh())


def test_what_did_not_change_is_not_read_again(watched: Watched, engine: sa.Engine) -> None:
    """Shown by changing it behind the back of the version: in a way that no code of ours changes anything."""
    before = watched.shown(watched.before)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE steps SET state = 'success'"))

    assert watched.shown(watched.before) == before
    assert watched.shown(watched.new()) != before


def test_a_new_action_is_listed_at_once(watched: Watched, site: Site) -> None:
    assert len(site.admin.get("/actions").json) == 1
    end_action(watched)
    new = site.create_action()

    assert [one["id"] for one in site.admin.get("/actions").json] == [watched.action, new]


def test_a_server_that_was_set_back_is_another_one(watched: Watched, shared_url: str) -> None:
    """Of two runs of a server the same transaction may have written different things."""
    readers = connect_readers(shared_url, pool_size=1)
    store = SqlStore(readers, ProcrastinateWakeup(), readers)

    def version() -> str | None:
        return store.read(lambda tx: tx.actions.version(watched.action))

    first = version()
    assert first == version()
    with readers.connect() as connection:
        assert connection.info[SERVER]
        connection.info[SERVER] = "restored"

    assert version() != first
    assert store.read(lambda tx: tx.actions.versions())[0][1] == version()
    store.dispose()


def test_a_question_on_a_connection_that_has_died_is_asked_again(watched: Watched, shared_url: str) -> None:
    readers = connect_readers(shared_url, pool_size=1)
    store = SqlStore(readers, ProcrastinateWakeup(), readers)
    assert store.read(lambda tx: tx.actions.version(watched.action))
    with watched.store.begin() as tx, readers.connect() as connection:
        dead = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        tx.actions._connection.execute(sa.text("SELECT pg_terminate_backend(:pid)"), {"pid": dead})

    assert store.read(lambda tx: tx.actions.version(watched.action))
    store.dispose()


# --- the memory itself ---


def encoded(*entities: object) -> list[bytes]:
    return [json.dumps(entity, ensure_ascii=False).encode() for entity in entities]


def test_it_holds_no_more_than_it_may_and_forgets_what_was_not_asked_for() -> None:
    memory = RenderedActions(most=5 * 1400)
    asked: list[str] = []

    def ask(name: str) -> None:
        def render() -> str:
            asked.append(name)
            return name * 998

        memory.one((ActionId(name), "1"), ("one", 1), render)

    for name in "abcde":
        ask(name)
    ask("a")
    ask("f")
    ask("a")
    ask("b")

    assert asked == ["a", "b", "c", "d", "e", "f", "b"]


def test_another_version_takes_the_place_of_the_old_one() -> None:
    memory = RenderedActions(most=10_000)
    for version in range(1000):
        memory.one((ActionId("a"), str(version)), ("one", 1), lambda: "x" * 1000)

    assert memory._held < 2000
    assert len(memory._known) == 1


def test_what_is_larger_than_all_of_it_is_answered_all_the_same() -> None:
    memory = RenderedActions(most=100)

    assert memory.one((ActionId("a"), "1"), ("one", 1), lambda: "x" * 1000) == b'"' + b"x" * 1000 + b'"'
    assert memory._held == 0


@pytest.mark.parametrize("number", [0, 1, 2, BATCH - 1, BATCH, BATCH + 1, 3 * BATCH])
def test_the_pieces_of_a_list_are_the_list(number: int) -> None:
    entities = [{"id": at, "é": "ü"} for at in range(number)]

    pieces, length = listed(encoded(*entities))

    body = b"".join(pieces)
    assert body == json.dumps(entities, ensure_ascii=False).encode()
    assert length == len(body)


def test_only_what_is_missing_is_rendered_and_what_is_gone_is_left_out() -> None:
    memory, asked = RenderedActions(), []

    def render(ids: Any) -> Any:
        asked.append(list(ids))
        return [(one, f"body of {one}") for one in ids if one != "gone"]

    def ask(*names: str, version: str = "1") -> list[bytes]:
        return memory.many([(ActionId(name), version) for name in names], ("listed", 1), render)

    assert ask("a", "gone", "b") == encoded("body of a", "body of b")
    assert ask("c", "a", "b") == encoded("body of c", "body of a", "body of b")
    assert ask("a", version="2") == encoded("body of a")
    assert asked == [["a", "gone", "b"], ["c"], ["a"]]


def test_views_are_kept_apart() -> None:
    memory = RenderedActions()
    version = (ActionId("a"), "1")

    assert memory.one(version, ("one", 0), lambda: 0) == b"0"
    assert memory.one(version, ("one", 1), lambda: 1) == b"1"
    assert memory.one(version, ("listed", 1), lambda: 2) == b"2"
