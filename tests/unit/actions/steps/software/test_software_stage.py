"""The software stage and its items without a database: what begins on which nodes, with what, and how a run ends."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.software_steps import SOFTWARE
from shipyard_api.actions.steps.software.software_stage import NoPlan, PlanSoftware, SoftwareStage, tolerates
from shipyard_api.actions.steps.software.state import StageSoftware, TaskOnNodes
from shipyard_api.actions.steps.software.task_item import SILENCE_SECONDS, StartTask, TaskItem
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.software import SoftwareGiven
from shipyard_api.domain.findings import warning
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.task_graph.execution import Rules, Running
from shipyard_api.domain.task_graph.flow import Flow
from shipyard_api.domain.task_graph.node_facts import SiteFacts
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, RemoteResult, RemoteState
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, PeerFailure
from tests.task_graphs import graph, group, task
from tests.task_plans import node, planned
from tests.unit.actions.steps.instants import at
from tests.unit.tables import every_row

A1, A2, A3 = map(NodeName, ("a1", "a2", "a3"))
ONE, TWO = TaskId("one"), TaskId("two")
ITEM = TaskItem(None, splits=True)
STEP = SoftwareStage(SOFTWARE, lambda _: NoPlan("no"), ITEM)
BEGUN = STEP.begin(ActionInputs(action=ActionId("A1"), revision=3, software={}, retried=ActionId("A0")))
PLAN = STEP.decide(BEGUN, at(0)).effect


def software(tolerance: int | None = 1, **fields: Any) -> StageSoftware:
    """Return the run of two tasks, one after the other, on three nodes of a group."""
    tasks = task("one", groups=["a"]), task("two", groups=["a"], requires=["one"])
    entries = [group("a", **({} if tolerance is None else {"fault_tolerance": tolerance})), *tasks]
    made = planned(entries, [node(name, "a") for name in ("a1", "a2", "a3")])
    hosts = {name: Host(name, f"10.0.0.{number}") for number, name in enumerate((A1, A2, A3), 1)}
    documents = {TaskId(entry["id"]): entry for entry in tasks}
    return StageSoftware(made.flow, Rules.of(graph(*entries), made.groups), documents, hosts, **fields)


@dataclass
class Run:
    """A run in memory. ``answers``: what tasks report on nodes, unless they succeed; BREAKS ends the whole item."""

    software: StageSoftware
    answers: str = ""
    step: SoftwareStage = STEP
    works: list[TaskOnNodes] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)

    def ends(self) -> str:
        """Run until nothing is left; each state is stored and read again, as the engine does."""
        folded = self.step.fold(BEGUN, PLAN, self.software, at(0))
        waiting: list[NewItem] = []
        ended: tuple[EndedItem, ...] = ()
        while True:
            self.facts += folded.facts
            self.state = STEP.load_state(folded.state.to_json())
            decision = self.step.decide(self.state, at(0))
            if not isinstance(decision, Gather):
                return f"done: {decision.summary}" if isinstance(decision, Done) else f"failed: {decision.reason}"
            folded = self.step.gather(self.state, ended, at(0))
            waiting += folded.items
            self.works += [TaskOnNodes.from_json(item.task) for item in folded.items]
            ended = (self._played(waiting.pop(0)),) if waiting else ()

    def _played(self, item: NewItem) -> EndedItem:
        state = ITEM.begin(item.task)
        answers = {(task, node): answer for task, node, answer in map(str.split, filter(None, self.answers.split(",")))}
        said = {host.name: answers.get((state.work.task, host.name), "success") for host in state.work.hosts}
        if BREAKS in said.values():
            return EndedItem(item.id, ItemState.FAILED, "the item broke", None)
        seconds = SILENCE_SECONDS if state.silent else 0.0
        report = {name: RemoteResult(RemoteState(what), exit_status=1) for name, what in said.items()}
        state = ITEM.fold(state, StartTask(state.work, state.work.hosts), report, at(seconds)).state
        if STOPPED in said.values():
            return EndedItem(item.id, ItemState.STOPPED, "stopped by ann", state.to_json())
        decision = ITEM.decide(state, at(seconds))
        outcome = ItemState.SUCCESS if isinstance(decision, Done) else ItemState.FAILED
        return EndedItem(item.id, outcome, "", state.to_json())


BREAKS, STOPPED = "breaks", "running"
SOME = "done: 4 task(s) on 3 node(s); 1 node(s) failed within their tolerance"
MANY = "nodes of group a failed, and 1 may"
FAILS, AWAY = "a1: one: exit 1", "a1: one: the node has not answered for 600 s"
BREAK = "; ".join(f"a{number}: one: the item broke" for number in (1, 2, 3))
STOP = "a1: one: stopped by ann; a2: one: exit 1"
LACKS = "5 task(s) on 3 node(s); 1 node(s) failed or lack a task: a1: two: exit 1"
OWN = {A1: "d1", A2: "d2", A3: ""}


@every_row(
    {
        # the tolerance, what tasks report; how the run ends, the notes, the nodes that are given their software
        "one fails": (1, "one a1 failed", f"{SOME}: {FAILS}", [FAILS], {A2, A3}),
        "one is silent for ever": (1, "one a1 unreachable", f"{SOME}: {AWAY}", [AWAY], {A2, A3}),
        "an item breaks": (1, "one a1 breaks", f"failed: 3 of 3 {MANY}: a1, a2, a3. {BREAK}", [], ()),
        "one fails and nothing is stated": (None, "two a1 failed", f"failed: {LACKS}", [], {A2, A3}),
        "an item is stopped": (1, "one a1 running, one a2 failed", f"failed: 2 of 3 {MANY}: a1, a2. {STOP}", [], {A3}),
    }
)
def test_a_run_ends_by_what_its_tasks_report(
    tolerance: int | None, answers: str, expected: str, notes: list[str], nodes: Any
) -> None:
    run = Run(software(tolerance, given=OWN), answers)
    assert run.ends() == expected
    assert [fact.text for fact in run.facts if isinstance(fact, Noted)] == notes
    assert tolerates(run.state) is expected.startswith("done")
    given = {name: digest for name, digest in OWN.items() if name in nodes}
    facts = [fact for fact in run.facts if isinstance(fact, SoftwareGiven)]
    assert facts == ([SoftwareGiven(sum(map(bool, given.values())), given)] if given else [])


@every_row(
    {
        # what planning reports; how the run ends, and what it warns of
        "no answer": (PeerFailure("no design", refused=False), Failed("no design"), []),
        "no plan": (NoPlan("no graph"), Failed("no graph"), []),
        "no task": (StageSoftware(Flow(), Rules(), {}, {}), Done("no task runs on these nodes"), [""]),
        "no task, and why": (StageSoftware(Flow(), Rules(), {}, {}, ("x", "y")), Done("x; y"), [" x y"]),
    }
)
def test_a_run_without_tasks_says_why(report: Any, expected: Done | Failed, why: list[str]) -> None:
    planned_run = STEP.fold(BEGUN, PLAN, report, at(0))
    state = planned_run.state
    if isinstance(STEP.decide(state, at(0)), Gather):
        state = STEP.gather(state, (), at(0)).state
    assert STEP.decide(STEP.load_state(state.to_json()), at(0)) == expected
    warnings = [warning("NothingToRun", f"The software stage had nothing to run.{text}") for text in why]
    assert planned_run.facts == tuple(map(FindingReported, warnings))


def test_a_plan_is_asked_for_by_what_the_action_was_given_and_may_be_asked_for_again() -> None:
    decision = STEP.decide(BEGUN, at(0))
    assert decision == Act(PlanSoftware("A1", 3, {}, "A0"), at(300), repeatable=True)
    assert STEP.begin(ActionInputs(action=ActionId("A1"))).retried is None
    assert STEP.perform(PLAN, Marker("m")) == NoPlan("no")


def test_items_of_an_earlier_release_end_and_nothing_follows() -> None:
    older, ended = replace(BEGUN, older=frozenset({"a", "b"})), EndedItem(ItemId("a"), ItemState.SUCCESS, "", None)
    assert STEP.decide(older, at(0)) == Gather()
    assert STEP.gather(older, (ended,), at(0)) == Folded(replace(BEGUN, older=frozenset({"b"})))


FACTS = SiteFacts({A1: {"roles": []}, A2: {}}, {A1: {"oob": "10.0.1.1"}}, {"x": 1}, RunValues({"k": "v"}))
ALWAYS = set(json.loads(software().to_text()))
NIGHT = ServerWindows([{"zone": "UTC", "start": "22:00", "minutes": 60}])


@every_row(
    {
        # what the run keeps of an earlier one; of each item its task and nodes, those that get their facts, the windows
        "nothing kept": ({}, [(ONE, [A1, A2, A3], (A1, A2), True), (TWO, [A1, A2, A3], (), False)]),
        "the first task of a node": (
            *({0: 1}, [(TWO, [A1], (A1,), True), (ONE, [A2, A3], (A2,), True), (TWO, [A2, A3], (), False)]),
        ),
    }
)
def test_a_node_begins_with_its_facts_and_in_a_window(kept: Mapping[int, int], expected: list[Any]) -> None:
    run = Run(software(kept=kept, facts=FACTS), step=dataclasses.replace(STEP, windows=NIGHT))
    assert run.ends().startswith("done")
    shown = [(work.task, [host.name for host in work.hosts], work.first, bool(work.windows)) for work in run.works]
    assert sorted(shown) == sorted(expected)


@every_row(
    {
        "facts": {"facts": FACTS},
        "facts without values": {"facts": SiteFacts({A1: {}})},
        "tasks that are skipped": {"skipped": {ONE: "no node"}},
        "what nodes are given": {"given": {A1: "d1", A2: "d2", A3: "d1"}},
        "secrets": {"secrets": ("s",), "noop": True, "connect_timeout": 9, "kept": {0: 0x15}, "warnings": ("w",)},
    }
)
def test_a_planned_run_is_read_as_it_was_written(fields: dict[str, Any]) -> None:
    planned_run = software(**fields)
    text = planned_run.to_text()
    assert StageSoftware.from_text(text) == planned_run
    assert set(json.loads(text)) == ALWAYS | set(fields)
    assert StageSoftware.find(["", "other", text]) == planned_run
    state = replace(BEGUN, fixed=text, done={0: 0x2A}, open={"0": Running(0, 0x15)}, failed={A1: "x"}, stopped="y")
    assert STEP.load_state(state.to_json()) == state
