"""The step that deploys nodes: deployed nodes count once they pass the acceptance tasks of their group."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.acceptance import Acceptance
from shipyard_api.actions.steps.rollout_messages import AcceptNodes, Answers, Members, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.software.software_stage import NoPlan
from shipyard_api.actions.steps.software.task_item import SILENCE_SECONDS
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded
from shipyard_api.domain.facts.software import NodeResult, TaskChanged, TaskStatus
from shipyard_api.domain.groups import Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.rollout.moves import Mode
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import Host, RemoteResult, RemoteState
from shipyard_api.workflow.step import Act, Failed, Folded, PeerFailure
from tests.factories import group_entry, node
from tests.fakes.provisioner import FakeProvisioner
from tests.task_graphs import task
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, ended, names, of, poll, question, running, site, step, submit
from tests.unit.tables import every_row

A = GroupName("a")
DISK, NET = TaskId("disk"), TaskId("net")
RUNNING = RemoteResult(RemoteState.RUNNING, attempts=1)
PASSED = RemoteResult(RemoteState.SUCCESS, 0, 1)
BROKEN = RemoteResult(RemoteState.FAILED, 1, 3, 2.0, "two disks\nof three\n", detail="exit status 1")
SILENT = RemoteResult(RemoteState.UNREACHABLE, detail="no route")


def begun(**keywords: Any) -> RolloutState:
    """Return a state of the group a, of n1 and n2, with two acceptance tasks, and of b without any."""
    entries = [group_entry("a", accept=[DISK, NET]), group_entry("b")]
    state = STEP.begin(ActionInputs.from_json({**site(entries, **keywords).to_json(), "action": "01ACTION"}))
    hosts = {node: Host(node, f"10.0.0.{node[1:]}") for node in names("n1 n2")}
    acceptance = Acceptance("01ACTION", {A: (DISK, NET)}, {name: task(name) for name in (DISK, NET)}, hosts)
    members = {A: frozenset(names("n1 n2")), GroupName("b"): frozenset(names("n3"))}
    return STEP.fold(state, SelectMembers(state.inputs), Members(members, acceptance), T0).state


def deployed(succeeded: str = "n1 n2", failed: str = "", **keywords: Any) -> Folded[RolloutState]:
    """Return what comes of the end of the deployment of n1 and n2 at second 100."""
    state = begun(**keywords)
    submit(state, "prepare-1")
    poll(state, at(30), ended("prepare-1", "n1 n2"))
    submit(state, "deploy-1", at(30))
    return poll(state, at(100), ended("deploy-1", succeeded, failed, "as built"))


def start(state: RolloutState, now: Any, **results: RemoteResult) -> Folded[RolloutState]:
    """Let the nodes answer the start of the task that is due."""
    decision = STEP.decide(state, now)
    assert (decision.repeatable, decision.give_up_at) == (True, now + timedelta(seconds=SILENCE_SECONDS))
    assert STEP.find(decision.effect, Marker("m"), now, JobAnswers()) is None
    assert STEP.load_effect(decision.effect.to_json()) == decision.effect
    return STEP.fold(state, decision.effect, {NodeName(node): one for node, one in results.items()}, now)


def look(state: RolloutState, now: Any, **results: RemoteResult) -> Folded[RolloutState]:
    """Let the nodes answer the look at the task that runs."""
    asked = question(state, now)
    (one,) = asked.accepting
    answers = {NodeName(node): result for node, result in results.items()}
    return STEP.fold(state, asked, Answers({}, None, {one.work.key: answers}), now)


def reasons(folded: Folded[RolloutState]) -> Mapping[NodeName, str]:
    return {node: why for fact in folded.facts if isinstance(fact, NodesChanged) for node, why in fact.reasons.items()}


def test_a_deployed_node_does_not_count_before_it_has_passed_every_task_in_order() -> None:
    folded = deployed()
    state = folded.state
    assert folded.facts == (AcceptanceAwaited(A, DISK, names("n1 n2")),)
    decision = STEP.decide(state, at(100))
    assert [(host.name, host.address) for host in decision.effect.start.waiting] == [  # type: ignore[union-attr]  # an AcceptNodes
        ("n1", "10.0.0.1"), ("n2", "10.0.0.2")
    ]  # fmt: skip
    assert STEP.touches(decision.effect) == names("n1 n2")

    assert of(start(state, at(100), n1=RUNNING, n2=PASSED).facts, NodesChanged, PhaseEnded) == []
    done = look(state, at(110), n1=PASSED)
    assert of(done.facts, AcceptanceAwaited) == [AcceptanceAwaited(A, NET, names("n1 n2"))]
    ended_ = start(state, at(110), n1=PASSED, n2=PASSED)
    assert of(ended_.facts, PhaseEnded) == [PhaseEnded(A, Phase.DEPLOY, PhaseStatus.SUCCESS, "as built")]
    (changed,) = of(ended_.facts, NodesChanged)
    assert changed == NodesChanged(A, Phase.DEPLOY, NodeStatus.SUCCESS, names("n1 n2"))
    markers = {fact.marker for fact in (*done.facts, *ended_.facts) if isinstance(fact, TaskChanged)}
    assert markers == {"01ACTION.accept.a.0", "01ACTION.accept.a.1"}


def test_a_node_that_fails_a_task_fails_at_once_with_the_end_of_the_output_and_runs_no_further_one() -> None:
    state = deployed().state
    folded = start(state, at(100), n1=BROKEN, n2=PASSED)
    why = "acceptance task disk: exit status 1; its output ends with: two disks of three"
    assert reasons(folded) == {"n1": why}
    assert of(folded.facts, AcceptanceAwaited) == [AcceptanceAwaited(A, NET, names("n2"))]

    last = start(state, at(101), n2=BROKEN)
    assert reasons(last) == {"n2": why.replace("disk:", "net:")}
    message = "as built; 1 failed acceptance task disk; 1 failed acceptance task net"
    assert of(last.facts, PhaseEnded) == [PhaseEnded(A, Phase.DEPLOY, PhaseStatus.FAILURE, message)]
    assert state.watches == {}


def test_where_nodes_join_a_cluster_tasks_begin_when_the_last_one_is_ready_or_lost() -> None:
    folded = deployed(join=True)
    state = folded.state
    assert folded.facts == (JoinAwaited(A, names("n1 n2")),)
    early = poll(state, at(220), readiness={NodeName("n1"): ObservedMember(ready=True)})
    assert of(early.facts, NodesChanged, AcceptanceAwaited) == []
    stored = RolloutState.from_json(state.to_json())
    late = poll(stored, at(720), readiness={NodeName("n2"): ObservedMember(ready=False, why="no network")})
    assert of(late.facts, AcceptanceAwaited) == [AcceptanceAwaited(A, DISK, names("n1"))]
    assert list(reasons(late)) == ["n2"]


def test_where_no_node_joins_its_cluster_the_move_ends_without_a_task() -> None:
    folded = poll(deployed(join=True).state, at(720), readiness={})
    assert of(folded.facts, AcceptanceAwaited) == []
    (end,) = of(folded.facts, PhaseEnded)
    assert end == PhaseEnded(A, Phase.DEPLOY, PhaseStatus.FAILURE, "as built; 2 not ready")
    assert (list(reasons(folded)), folded.state.watches) == (["n1", "n2"], {})


def test_a_task_that_no_node_took_is_tried_again_when_it_is_due_whatever_else_is_polled() -> None:
    state = deployed(mode=Mode(max_parallel_groups=2)).state
    start(state, at(100), n1=SILENT, n2=SILENT)
    submit(state, "prepare-2", at(100))
    for seconds in (101, 102, 103):
        assert poll(state, at(seconds), running("prepare-2")).wait_until == at(max(seconds, 102))


@every_row(
    {
        "silent": ({NodeName("n1"): SILENT, NodeName("n2"): PASSED}, "acceptance task disk: no route"),
        "no-answer": (PeerFailure("no socket", refused=False), "acceptance task disk: no socket"),
        "lost": ({NodeName("n1"): RemoteResult(RemoteState.LOST, detail="the node was restarted while it ran"),
             NodeName("n2"): PASSED}, "acceptance task disk: the node was restarted while it ran"),
    },
)  # fmt: skip
def test_a_node_that_does_not_answer_for_ten_minutes_has_failed_and_a_lost_task_is_not_repeated(
    report: Any, why: str
) -> None:
    state = deployed().state
    folded = deployed()
    for now in (100, 400, 701):
        decision = STEP.decide(state, at(now))
        if isinstance(decision, Act) and isinstance(decision.effect, AcceptNodes):
            folded = STEP.fold(state, decision.effect, report, at(now))
            if reasons(folded):
                break
    assert set(reasons(folded).values()) == {why}


def test_while_nodes_are_accepted_other_groups_go_on() -> None:
    folded = deployed(mode=Mode(max_parallel_groups=2))
    state = folded.state
    start(state, at(100), n1=RUNNING, n2=RUNNING)
    submit(state, "prepare-2", at(100))
    asked = question(state, at(110))
    assert (list(asked.jobs), [one.work.task for one in asked.accepting]) == (["prepare-2"], [DISK])
    trouble = STEP.fold(state, asked, PeerFailure("503", refused=False), at(110))
    assert of(trouble.facts, NodesChanged, PhaseEnded) == []
    both = Answers({"prepare-2": running("prepare-2")}, None, {asked.accepting[0].work.key: {}})  # type: ignore[dict-item]  # an id
    assert of(STEP.fold(state, asked, both, at(112)).facts, NodesChanged, PhaseEnded) == []


def test_a_stop_leaves_a_task_to_its_end_and_there_is_no_straggler_at_the_provisioner() -> None:
    state = deployed().state
    start(state, at(100), n1=RUNNING, n2=PASSED)
    facts = STEP.leave(state, "stopped")
    assert [one for one in facts if isinstance(one, TaskChanged | PhaseEnded | WorkLeftBehind)] == [
        TaskChanged(DISK, "01ACTION.accept.a.0", (NodeResult(NodeName("n1"), TaskStatus.LEFT, detail="stopped"),)),
        PhaseEnded(A, Phase.DEPLOY, PhaseStatus.STOPPED, "stopped", 1),
    ]


def test_a_hold_on_a_node_keeps_its_task_from_starting_and_the_others_go_on() -> None:
    state = deployed().state
    decision = STEP.decide(state, at(100))
    held = PeerFailure("node n1 is on hold", refused=True, nodes={NodeName("n1"): "held by ann"})
    assert reasons(STEP.fold(state, decision.effect, held, at(100))) == {"n1": "acceptance task disk: held by ann"}
    again = STEP.decide(state, at(102))
    assert STEP.touches(again.effect) == names("n2")


def test_groups_with_tasks_need_an_action_that_runs_some() -> None:
    for accept, plan in (([DISK], NoPlan("this action runs none")), ([], None)):
        question = SelectMembers(site([group_entry("a", accept=accept)]))
        assert step(FakeProvisioner([node("n1")])).ask(question).acceptance == plan


def test_tasks_that_cannot_run_fail_the_step_before_any_node_is_touched() -> None:
    state = STEP.begin(ActionInputs.from_json(site([group_entry("a", accept=[DISK])]).to_json()))
    report = Members({A: frozenset(names("n1"))}, NoPlan("'disk' is not in the task graph."))
    state = STEP.fold(state, SelectMembers(state.inputs), report, T0).state
    why = "the acceptance tasks of the groups cannot run: 'disk' is not in the task graph."
    assert STEP.decide(state, T0) == Failed(why)


def test_what_is_stored_while_a_task_runs_goes_on_as_the_one_in_memory() -> None:
    state = deployed().state
    start(state, at(100), n1=RUNNING, n2=SILENT)
    loaded = RolloutState.from_json(state.to_json())
    for now in (at(101), at(103)):
        assert STEP.decide(loaded, now) == STEP.decide(state, now)
        assert STEP.watch(loaded, now) == STEP.watch(state, now)
    assert STEP.leave(loaded, "stopped") == STEP.leave(state, "stopped")
    awaited = STEP.awaits(loaded, question(loaded, at(101)))
    assert (awaited.who, awaited.what) == ("the nodes", "acceptance task disk of group a")


def test_an_acceptance_task_knows_the_name_of_its_node() -> None:
    hosts = {node: Host(node, "10.0.0.1") for node in names("n1 n2")}
    acceptance = Acceptance("01ACTION", {A: (DISK,)}, {DISK: task("disk", parameters={"cmd": "probe {NODE}"})}, hosts)

    work = acceptance.of(DISK, NodeName("n2"), "01ACTION.accept.a.0.0")

    assert work.remote_with({}).by_node[NodeName("n2")].command == "probe n2"
