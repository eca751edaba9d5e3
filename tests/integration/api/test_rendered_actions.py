"""What is kept rendered is what would be rendered now, whatever has happened to an action in between.

Each test asks before and after, through an application that has answered already, and through one that keeps nothing.
"""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from falcon.testing import Result
from msgspec.structs import fields, replace
from msgspec.structs import replace as with_fields

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.api.airship import app as airship
from shipyard_api.api.airship.rendered_actions import BATCH, RenderedActions, listed
from shipyard_api.api.mount import Mount
from shipyard_api.domain.actions import ActionId, ActionName, Control, RunState, StepId, StepState
from shipyard_api.domain.facts import steps
from shipyard_api.domain.facts.actions import ActionEnded, Noted
from shipyard_api.domain.facts.cases import CaseChanged, CaseClosed, CaseOpened, CasesUnknown
from shipyard_api.domain.facts.codec import KINDS
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, LateResult, WorkLeftBehind
from shipyard_api.domain.facts.nodes import (
    NodesChanged,
    NodesFailed,
    NodesGivenUp,
    NodesKept,
    NodesLate,
    NodesLeft,
    NodesNotLate,
    NodesRelabelled,
    TargetsKnown,
)
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.facts.software import NodeResult, SoftwareGiven, TaskChanged, TaskStatus
from shipyard_api.domain.facts.steps import AttemptFailed
from shipyard_api.domain.facts.teardown import (
    EtcdMemberRemoved,
    LabelsCleared,
    PodsEvicted,
    TeardownChanged,
    TeardownWaits,
)
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.domain.teardown import order
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.provisioner import JobId, JobReport, JobState, Marker, Operation, Work
from shipyard_api.ports.state.nodes import Straggler
from shipyard_api.ports.state.turns import Claim, Intent
from shipyard_api.storage.actions import SERVER, Actions
from shipyard_api.storage.journal import Journal
from shipyard_api.storage.stragglers import Stragglers
from shipyard_api.storage.turns import Turns
from shipyard_api.storage.unit_of_work import Store, Transaction, connect_readers
from shipyard_api.wiring import bootstrap
from tests.factories import group, strategy
from tests.integration.api.conftest import settings
from tests.integration.api.wire import V1, Caller, Site, small_design
from tests.integration.storage.conftest import new_action
from tests.peer import Peer
from tests.stored_facts import RACK

NOW = datetime.now(UTC)


@dataclass
class Watched:
    """An action, somebody who has seen it before, and somebody who never has."""

    store: Store
    action: ActionId
    before: Caller
    new: Caller
    claim: Claim | None = None

    def shown(self, caller: Caller, *levels: int) -> list[Any]:
        """The answers at these verbosities; at 5, unless some are named, every note is shown."""
        paths = ("/actions", f"/actions/{self.action}")
        return [caller.get(path, verbosity=level).content for path in paths for level in levels or (5,)]

    def versions(self) -> list[Any]:
        with self.store.begin() as tx:
            return list(tx.actions.versions())

    def do(self, act: Callable[[Transaction, "Watched"], object]) -> None:
        with self.store.begin() as tx:
            act(tx, self)

    def turn(self) -> Claim:
        """The turn that is going on; the first time, a new one."""
        if self.claim is None:
            with self.store.begin() as tx:
                self.claim = tx.turns.claim(self.action, now=NOW + timedelta(hours=1), worker="w")
            assert self.claim is not None
        return self.claim


def created(site: Site) -> ActionId:
    site.commit(*small_design())
    return ActionId(site.create_action())


@pytest.fixture(scope="module")
def forgetful(shared_url: str, drydock: Peer) -> Mount:
    """The API of a process that has no room for what it has rendered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(airship, "RenderedActions", partial(RenderedActions, most=0))
        return bootstrap.api(settings(shared_url, drydock.url))


@pytest.fixture
def watched(site: Site, forgetful: Mount) -> Watched:
    action = site.kept(created)
    new = Caller(forgetful, site.admin.client.headers["X-Auth-Token"])
    return Watched(site.store, action, site.admin, new)


Tx = Transaction
FINDING = FindingReported(Finding("Bad", Level.ERROR, "it is bad"))
A, N1 = GroupName("a"), NodeName("n1")
MEMBERS = MembersKnown.of(strategy(group("a", critical=True)), {A: frozenset([N1])})
SENT = PhaseStarted(A, Phase.PREPARE, (N1,), "j")
LEFT = WorkLeftBehind("prepare_nodes", "j", "design", (N1,), "timeout")
STRAGGLER = Straggler(ActionId(""), JobId("j"), Work(Operation.PREPARE_NODES, "design", (N1,)), "timeout", NOW)
REPORT = JobReport(JobId("j"), JobState.ENDED, ok=True, succeeded=frozenset({N1}))
TOLD: dict[str, Any] = {"now": NOW, "wake_at": None}


@dataclass(frozen=True)
class Change:
    """What one method does, alone in its transaction; ``first``: what has happened before anybody looks."""

    method: Callable[..., Any]
    act: Callable[[Tx, Watched], object]
    first: tuple[Callable[[Tx, Watched], object], ...] = ()
    shown: bool = True
    claimed: bool = True


def record(*facts: Fact) -> Callable[[Tx, Watched], object]:
    return lambda tx, watched: tx.turns.record(watched.turn(), {"v": 1}, facts, **TOLD)


def tell(tx: Tx, watched: Watched) -> None:
    """As the engine does: the row is written with the wake-up."""
    turn = watched.turn()
    tx.turns.tell(turn, (FINDING,), now=NOW)
    tx.turns.sleep(turn, until=NOW)


def control(verb: Control) -> Callable[[Tx, Watched], object]:
    return lambda tx, watched: tx.actions.control(watched.action, verb, "eve")


def end(tx: Tx, watched: Watched) -> None:
    tx.turns.end_action(watched.turn(), RunState.FAILED, now=NOW)


# Whatever changes what is shown of an action, or writes the action's row.
CHANGES: dict[str, Change] = {
    "another action": Change(
        Actions.create,
        lambda tx, _: tx.actions.create(replace(new_action("a"), name=ActionName("test_site"), exclusive=False)),
    ),
    "a turn begins": Change(
        Turns.claim, lambda tx, w: tx.turns.claim(w.action, now=NOW + timedelta(hours=1), worker="w"), claimed=False
    ),
    "a step begins": Change(Turns.start_step, lambda tx, w: tx.turns.start_step(w.turn(), {"v": 1}, now=NOW)),
    "something is intended": Change(
        Turns.intend,
        lambda tx, w: tx.turns.intend(w.turn(), Intent(Marker("m"), {"v": 1}, NOW, NOW, NOW, 1)),
        shown=False,
    ),
    "something came of it": Change(Turns.record, record(FINDING)),
    "something is told while it waits": Change(Turns.tell, tell),
    "it waits": Change(Turns.sleep, lambda tx, w: tx.turns.sleep(w.turn(), until=NOW), shown=False),
    "it waits for somebody": Change(Turns.rest, lambda tx, w: tx.turns.rest(w.turn()), shown=False),
    "a turn ended in a bug": Change(Turns.broke, lambda tx, w: tx.turns.broke(w.turn(), "bug", now=NOW), shown=False),
    "a step ends, and one after it": Change(
        Turns.end_step,
        lambda tx, w: tx.turns.end_step(w.turn(), StepState.FAILED, "because", w.turn().remaining[:1], now=NOW),
    ),
    "a step is skipped": Change(Turns.skip, lambda tx, w: tx.turns.skip(w.turn(), w.turn().remaining[-1:], now=NOW)),
    "it waits for something else": Change(
        Turns.wait, lambda tx, w: tx.turns.wait(w.turn(), WaitingFor("Peer", "work", NOW))
    ),
    "the action ends": Change(Turns.end_action, end),
    "somebody pauses": Change(Actions.control, control(Control.PAUSE)),
    "somebody lets it go on": Change(Actions.control, control(Control.UNPAUSE), first=(control(Control.PAUSE),)),
    "somebody stops": Change(Actions.control, control(Control.STOP)),
    "somebody changes limits": Change(
        Actions.set_limits, lambda tx, w: tx.actions.set_limits(w.action, TeardownLimits(drain=5), "eve", "text")
    ),
    "somebody says whose jobs are": Change(
        Actions.answer_doubts, lambda tx, w: tx.actions.answer_doubts(w.action, JobAnswers(), "eve", "text")
    ),
    "somebody approves what follows a wave": Change(
        Actions.approve, lambda tx, w: tx.actions.approve(w.action, (), "eve", "text")
    ),
    "somebody acknowledges its failures": Change(
        Actions.acknowledge, lambda tx, w: tx.actions.acknowledge(w.action, "eve", "text"), first=(end,)
    ),
    "late work ends, long after the action": Change(
        Stragglers.end,
        lambda tx, w: tx.stragglers.end(replace(STRAGGLER, action=w.action), REPORT, now=NOW, worker="w"),
        first=(record(LEFT), end),
    ),
}

# Each kind of fact, and whether it is shown with an action.
FACTS: dict[type[Fact], tuple[Fact, bool]] = {
    MembersKnown: (MEMBERS, False),
    PhaseStarted: (SENT, False),
    PhaseRunning: (PhaseRunning(A, Phase.PREPARE), False),
    PhaseEnded: (PhaseEnded(A, Phase.PREPARE, PhaseStatus.FAILURE, "no"), False),
    JoinAwaited: (JoinAwaited(A, (N1,)), False),
    AcceptanceAwaited: (AcceptanceAwaited(A, TaskId("t"), (N1,)), False),
    GroupChanged: (GroupChanged(A, GroupStatus.PREPARING), False),
    NodesChanged: (NodesChanged(A, Phase.PREPARE, NodeStatus.PREPARED, (N1,)), False),
    WaveEnded: (WaveEnded(A, "canary", 1, 1, 0), False),
    NodesLate: (NodesLate(A, Phase.PREPARE, {N1: 60.0}, 90.0), False),
    NodesNotLate: (NodesNotLate(A, Phase.PREPARE, (N1,)), False),
    CaseOpened: (CaseOpened(RACK), True),
    CaseChanged: (CaseChanged(with_fields(RACK, rest=3)), True),
    CaseClosed: (CaseClosed(RACK.key, RACK.sentence), True),
    CasesUnknown: (CasesUnknown("deckhand gave no answer"), True),
    PolicyStopped: (PolicyStopped("budget site", "text", 1), True),
    RolloutEnded: (RolloutEnded(Verdict.FAILED, {GroupStatus.FAILED: (A,)}, {}), True),
    JobStarted: (JobStarted("verify_site", "j"), False),
    WorkLeftBehind: (LEFT, True),
    NodesFailed: (NodesFailed((N1,), 2), False),
    NodesGivenUp: (NodesGivenUp((N1,), "destroy_nodes failed"), False),
    NodesKept: (NodesKept((N1,), "other"), False),
    NodesLeft: (NodesLeft((N1,)), False),
    SoftwareGiven: (SoftwareGiven(1, {N1: "d"}), False),
    NodesRelabelled: (NodesRelabelled({N1: "d"}), False),
    TargetsKnown: (TargetsKnown((NodeName("n9"),)), False),
    FindingReported: (FINDING, True),
    Noted: (Noted("Word", "text"), True),
    AttemptFailed: (AttemptFailed(1, "no answer", 5.0), False),
    TeardownChanged: (TeardownChanged(N1, order.Operation.DRAIN, order.Outcome.RUNNING), True),
    TeardownWaits: (TeardownWaits(N1, order.Operation.DRAIN, ("a/b: budget a/x",)), True),
    PodsEvicted: (PodsEvicted(N1, ("a/b",), forced=True), True),
    LabelsCleared: (LabelsCleared(N1, ("openstack",)), False),
    TaskChanged: (TaskChanged(TaskId("t"), "m", (NodeResult(N1, TaskStatus.FAILED, detail="exit 1"),)), False),
    EtcdMemberRemoved: (EtcdMemberRemoved(N1, "etcd", "17"), True),
}

# What changes a row, and none of what is shown of an action.
UNSEEN: dict[Callable[..., Any], str] = {
    Turns.remind: "a job of the queue",
    Turns.wake: "a job of the queue",
    Turns.interrupt: "a job of the queue",
    Turns.flush: "what other methods gathered",
    Turns.pass_on: "a job of the queue",
    Turns.held: "a lock",
    Turns.renew: "a lock, and a look at what was asked for",
    Actions.lock: "a lock",
    Stragglers.to_poll: "when to look at late work again, which is shown nowhere",
}

READS: dict[Callable[..., Any], Callable[[Tx, ActionId], object]] = {
    Turns.overdue: lambda tx, _: tx.turns.overdue(grace=0),
    Turns.unfinished: lambda tx, _: tx.turns.unfinished(),
    Turns.name: lambda tx, action: tx.turns.name(action),
    Actions.with_key: lambda tx, _: tx.actions.with_key("c", "k"),
    Actions.running_site_action: lambda tx, _: tx.actions.running_site_action(),
    Actions.node_operations: lambda tx, _: tx.actions.node_operations(),
    Actions.ended: lambda tx, action: tx.actions.ended([action]),
    Actions.lock_creation: lambda tx, _: tx.actions.lock_creation(),
    Actions.get: lambda tx, action: tx.actions.get(action),
    Actions.matching: lambda tx, _: tx.actions.matching(),
    Actions.by_ids: lambda tx, action: tx.actions.by_ids([action]),
    Actions.version: lambda tx, action: tx.actions.version(action),
    Actions.versions: lambda tx, _: tx.actions.versions(),
    Actions.created_at: lambda tx, _: tx.actions.created_at(ActionName("deploy_site"), NOW),
    Actions.steps: lambda tx, action: tx.actions.steps([action]),
    Actions.described: lambda tx, action: tx.actions.described(action, ("noted",)),
    Actions.groups: lambda tx, action: tx.actions.groups(action, status=(), group=(), after=-1, limit=9),
    Actions.nodes: lambda tx, action: tx.actions.nodes(action, status=(), group=(), after="", limit=9),
    Actions.successor: lambda tx, action: [tx.actions.successor(one) for one in tx.actions.by_ids([action])],
    Actions.further: lambda tx, action: tx.actions.further([action]),
    Actions.approvals: lambda tx, action: tx.actions.approvals(action),
    Actions.doubts: lambda tx, action: tx.actions.doubts(action),
    Actions.limits: lambda tx, action: tx.actions.limits(action),
    Actions.inputs: lambda tx, action: tx.actions.inputs(action),
    Actions.software: lambda tx, action: tx.actions.software(action),
    Actions.deployed: lambda tx, action: tx.actions.deployed(action),
    Journal.owner: lambda tx, _: tx.journal.owner(JobId("j")),
    Journal.jobs_since: lambda tx, _: tx.journal.jobs_since(NOW),
    Journal.entries: lambda tx, action: tx.journal.entries(action),
    Journal.step_runs: lambda tx, action: tx.journal.step_runs(action),
    Journal.extent: lambda tx, action: tx.journal.extent(action, [StepId("a")]),
    Journal.step_entries: lambda tx, action: tx.journal.step_entries(action, StepId("a"), after=0, until=None, limit=9),
    Journal.ends: lambda tx, _: tx.journal.ends(),
    Journal.following: lambda tx, action: tx.journal.following(0, 9, action=action, limit=9),
    Journal.earlier_cases: lambda tx, action: tx.journal.earlier_cases(action, [RACK.key]),
    Journal.entry: lambda tx, _: tx.journal.entry(1),
    Journal.action_notes: lambda tx, action: tx.journal.action_notes([action]),
    Stragglers.open: lambda tx, _: tx.stragglers.open(),
}
NOUNS = (Turns, Actions, Journal, Stragglers)
# What these write is shown of no action.
OTHER_NOUNS = {
    *("items", "software", "task_results", "deploy_templates", "tokens", "tickets"),
    *("nodes", "observations", "holds", "write_limits", "measures", "webhooks", "retention", "plans", "specifications"),
}


def test_whatever_can_be_asked_of_the_store_is_in_one_of_the_tables() -> None:
    """So whoever adds a writer is asked here whether it writes the action's row."""
    methods = {
        method
        for noun in NOUNS
        for name, method in inspect.getmembers(noun, inspect.isfunction)
        if not name.startswith("_")
    }
    changing = {change.method for change in CHANGES.values()}

    assert {method.__qualname__ for method in methods ^ {*changing, *UNSEEN, *READS}} == set()
    assert changing.isdisjoint(UNSEEN)
    assert changing.isdisjoint(READS)
    assert {field.name for field in fields(Transaction)} == {
        "turns",
        "actions",
        "journal",
        "stragglers",
    } | OTHER_NOUNS


def test_whatever_can_be_told_of_an_action_is_in_the_table_of_facts() -> None:
    """But for those that only the engine writes, beside what it does: its own methods are in the table of changes."""
    of_the_engine = {*steps.FACTS, ActionEnded, LateResult} - {AttemptFailed}

    assert {*KINDS.values()} - of_the_engine == {*FACTS}


def test_what_only_reads_could_not_write(watched: Watched) -> None:
    """One action serves all of them, since none can change it; a failure says the name of what it read."""
    failed = {}
    for method, read in READS.items():
        try:
            with watched.store.begin() as tx:
                tx.actions._connection.execute(sa.text("SET TRANSACTION READ ONLY"))
                read(tx, watched.action)
        except sa.exc.DBAPIError as error:
            failed[method.__qualname__] = error
    assert failed == {}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_every_change_one_is_shown_what_there_is(watched: Watched, change: Change) -> None:
    """Each change alone: what it needs has been before, and has been seen."""
    if change.claimed:
        watched.turn()
    for act in change.first:
        watched.do(act)
    before, versions = watched.shown(watched.before), watched.versions()

    watched.do(change.act)

    assert watched.versions() != versions
    after = watched.shown(watched.before)
    assert after == watched.shown(watched.new)
    assert (after != before) == change.shown


def test_each_fact_makes_a_new_version_and_shows_as_its_row_says(watched: Watched) -> None:
    """All on one action. A caller who has seen an earlier version gets the same as a new caller."""
    wrong = []
    watched.turn()
    shown = watched.shown(watched.before)
    for kind, (fact, is_shown) in sorted(FACTS.items(), key=lambda row: row[1][1]):
        versions = watched.versions()
        watched.do(record(fact))
        seen = watched.shown(watched.before)
        if watched.versions() == versions or (seen != shown) != is_shown:
            wrong.append(kind.__name__)
        if is_shown and seen != watched.shown(watched.new):
            wrong.append(f"{kind.__name__}: a new caller sees another action")
        shown = seen
    assert wrong == []
    assert shown == watched.shown(watched.new)


def test_what_did_not_change_is_not_read_again(watched: Watched, engine: sa.Engine) -> None:
    """Shown by changing it behind the back of the version: in a way that no code of ours changes anything."""
    before = watched.shown(watched.before)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE steps SET state = 'success'"))

    assert watched.shown(watched.before) == before
    assert watched.shown(watched.new) != before


def test_who_holds_an_action_gets_it_again_only_when_it_has_changed(watched: Watched, engine: sa.Engine) -> None:
    """And no answer but the version is read or rendered meanwhile."""
    step = watched.turn().step
    paths = ("/actions", f"/actions/{watched.action}", f"/actions/{watched.action}/steps/{step}/logs")

    def asked(held: Mapping[str, str]) -> dict[str, Result]:
        headers = {path: {"If-None-Match": held[path]} for path in held}
        return {path: watched.before.ask("GET", f"{V1}{path}", headers=headers.get(path)) for path in paths}

    held = {path: answer.headers["ETag"] for path, answer in asked({}).items()}
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE steps SET detail = 'behind the back of the version'"))
    assert {answer.status_code for answer in asked(held).values()} == {304}

    watched.do(CHANGES["something came of it"].act)

    again = asked(held)
    assert {answer.status_code for answer in again.values()} == {200}
    assert {path for path in paths if again[path].headers["ETag"] == held[path]} == set()


def test_a_server_that_was_set_back_is_another_one(watched: Watched, shared_url: str) -> None:
    """Of two runs of a server the same transaction may have written different things."""
    readers = connect_readers(shared_url, pool_size=1)
    store = Store(readers, ProcrastinateWakeup(), readers)

    def version() -> str | None:
        return store.read(lambda tx: tx.actions.version(watched.action))

    first = version()
    assert first == version()
    with readers.connect() as connection:
        assert connection.info[SERVER]
        connection.info[SERVER] = "restored"

    assert version() != first
    assert str(version()).startswith(store.read(lambda tx: tx.actions.versions())[0][1])
    store.dispose()


def test_a_question_on_a_connection_that_has_died_is_asked_again(watched: Watched, shared_url: str) -> None:
    readers = connect_readers(shared_url, pool_size=1)
    store = Store(readers, ProcrastinateWakeup(), readers)
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
        def read(known: str) -> tuple[str, str | None]:
            if known:
                return known, None
            asked.append(name)
            return "1", name * 998

        memory.one(ActionId(name), ("one", 1), read)

    for name in "abcde":
        ask(name)
    ask("a")
    ask("f")
    ask("a")
    ask("b")

    assert asked == ["a", "b", "c", "d", "e", "f", "b"]
    # What is larger than all of it is answered all the same, and another version takes the place of the old one.
    assert memory.one(ActionId("z"), ("one", 1), lambda _: ("1", "x" * 9000)) == ("1", b'"' + b"x" * 9000 + b'"')
    for version in range(100):
        memory.one(ActionId("b"), ("one", 1), lambda _, version=version: (str(version), "b" * 998))
    assert memory._held <= 5 * 1400
    # Views are kept apart.
    memory, views = RenderedActions(), [("one", 0), ("one", 1), ("listed", 1)]
    for at, view in enumerate(views):
        assert memory.one(ActionId("a"), view, lambda _, at=at: ("1", at))[1] == str(at).encode()
    assert [memory.one(ActionId("a"), view, lambda known: (known, None))[1] for view in views] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("number", [0, 1, BATCH, BATCH + 1, 3 * BATCH])
def test_the_pieces_of_a_list_are_the_list(number: int) -> None:
    entities = [{"id": at, "é": "ü"} for at in range(number)]

    pieces, length = listed(encoded(*entities))

    async def whole() -> bytes:
        return b"".join([piece async for piece in pieces])

    body = asyncio.run(whole())
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
