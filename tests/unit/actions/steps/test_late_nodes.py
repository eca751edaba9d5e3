"""Late nodes of a rollout: when they are noticed, what is done with them once, and that none of it settles a node."""

from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.steps import late_nodes
from shipyard_api.actions.steps.acceptance import Accepting
from shipyard_api.actions.steps.rollout_messages import Answers, Recover, Recovered
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.software.state import TaskOnNodes, TaskState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.nodes import NodesLate, NodesNotLate
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.rollout.policy.lateness import ANY
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Way, Ways
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.provisioner import Capabilities, JobId, Marker
from shipyard_api.workflow.step import Folded, Look, PeerFailure
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, begun, ended, names, poll, reread, running, step, submit
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
A = GroupName("a")
GROUPS = {"a": "n1 n2"}


def policy(on_late: str = "nothing", **usual: float) -> PolicyInputs:
    """Return a policy by which n2, of a slow profile, is late after twice as long as n1."""
    lengths = {phase: {ANY: seconds, "slow": 2 * seconds} for phase, seconds in (usual or {"prepare": 100}).items()}
    return PolicyInputs({"late": {"on_late": on_late}}, usual=lengths, models={N2: "slow"})


def sent(rules: PolicyInputs | None, **options: Any) -> RolloutState:
    return submit(begun(GROUPS, policy=rules, **options), "j").state


def late(folded: Folded[RolloutState]) -> list[NodesLate]:
    return [fact for fact in folded.facts if isinstance(fact, NodesLate)]


def test_each_node_is_noticed_once_after_the_usual_duration_of_its_profile() -> None:
    state, noticed = sent(policy()), []
    for seconds in (10, 90, 111, 150, 211, 290):
        folded = poll(reread(state), at(seconds), running("j"))
        noticed += late(folded)
        state = folded.state

    assert noticed == [
        NodesLate(A, Phase.PREPARE, {N1: 100}, 101),
        NodesLate(A, Phase.PREPARE, {N2: 200}, 201),
    ]
    assert set(state.rollout.nodes.values()) == {NodeStatus.NOT_STARTED}
    assert folded.awaited.what == "prepare of group a, running, late: n1 n2"


def test_a_node_that_the_job_reports_as_done_is_not_late_before_its_move_ends() -> None:
    state = poll(sent(policy()), at(1), running("j", "n2")).state
    folded = poll(reread(state), at(150), running("j", "n2"))
    assert [*late(folded)[0].usual] == ["n1"]

    folded = poll(reread(folded.state), at(250), running("j", "n1 n2"))
    assert folded.facts == (NodesNotLate(A, Phase.PREPARE, (N1,)),)
    assert poll(reread(folded.state), at(290), running("j", "n1 n2")).facts == ()
    assert "late" not in folded.awaited.what


def test_nothing_is_late_without_the_rule_and_the_stored_state_is_that_of_before() -> None:
    plain, ruled = sent(None), sent(policy())
    for state, facts in ((plain, 0), (ruled, 1)):
        folded = poll(poll(state, at(1), running("j")).state, at(150), running("j"))
        assert len(late(folded)) == facts
        assert folded.state.to_json()["v"] == (6 if facts else 4)
    # No rule of this policy keeps a node from beginning, so it has no part in what moves.
    assert type(ruled.rollout) is Rollout


def test_a_node_that_is_done_is_not_late_and_its_move_ends_as_ever() -> None:
    state = poll(sent(policy()), at(1), running("j")).state
    state = poll(state, at(150), running("j")).state

    folded = poll(reread(state), at(160), ended("j", "n1 n2"))

    assert late(folded) == []
    assert set(folded.state.rollout.nodes.values()) == {NodeStatus.PREPARED}
    assert folded.state.to_json()["v"] == 4


def test_nodes_that_take_long_to_join_kubernetes_are_late_in_their_deployment() -> None:
    state = poll(sent(policy(deploy=100), join=True), at(0), ended("j", "n1 n2")).state
    state = submit(state, "k", at(0)).state
    state = poll(state, at(10), ended("k", "n1 n2")).state

    assert late(poll(reread(state), at(110), readiness={})) == []
    assert late(poll(reread(state), at(150))) == []  # Kubernetes did not answer
    folded = poll(reread(state), at(150), readiness={})

    assert late(folded) == [NodesLate(A, Phase.DEPLOY, {N1: 100}, 140)]


def test_a_node_that_is_deployed_is_not_held_because_a_neighbour_was_slow() -> None:
    """Its clock stops when the provisioner is done with it, and its wait for Kubernetes has a clock of its own."""
    state = poll(sent(policy("hold", deploy=100), join=True), at(0), ended("j", "n1 n2")).state
    state = poll(submit(state, "k", at(0)).state, at(1), running("k")).state
    state = poll(reread(state), at(90), running("k", "n1")).state
    state = poll(reread(state), at(190), running("k", "n1")).state

    folded = poll(reread(state), at(210), running("k", "n1"))
    assert late(folded) == [NodesLate(A, Phase.DEPLOY, {N2: 200}, 209, hold=True)]
    folded = poll(reread(folded.state), at(215), ended("k", "n1 n2"))
    assert NodesNotLate(A, Phase.DEPLOY, (N2,)) in folded.facts
    folded = poll(reread(folded.state), at(260), readiness={})
    assert (late(folded), folded.state.watches[folded.state.rollout.running[0]].late) == ([], ())


def test_a_node_is_held_once_in_an_action() -> None:
    state = poll(sent(policy("hold", prepare=100, deploy=100), join=True), at(1), running("j")).state
    folded = poll(reread(state), at(150), running("j"))
    assert [(fact.hold, [*fact.usual]) for fact in late(folded)] == [(True, ["n1"])]
    state = submit(poll(reread(folded.state), at(160), ended("j", "n1 n2")).state, "k", at(160)).state
    state = poll(reread(state), at(161), running("k")).state
    folded = poll(reread(state), at(390), running("k"))

    assert [(fact.hold, [*fact.usual]) for fact in late(folded)] == [(True, ["n2"]), (False, ["n1"])]


def test_a_node_is_late_only_by_an_answer_that_was_read_for_it() -> None:
    """A listing serves several polls; the poll that would call a node late asks for one of its own."""
    state = poll(sent(policy()), at(1), running("j")).state
    for seconds, fresh in ((50, False), (150, True)):
        look = STEP.watch(reread(state), at(seconds))
        assert look is not None
        assert [work.fresh for work in look.question.jobs.values()] == [fresh]
    older = STEP.watch(reread(state), at(100))
    answers = Answers({JobId("j"): running("j")}, None)

    assert late(STEP.fold(reread(state), older.question, answers, at(150))) == []  # type: ignore[union-attr]
    silent = PeerFailure("503", refused=False)
    assert late(STEP.fold(reread(state), look.question, silent, at(150))) == []
    assert late(STEP.fold(reread(state), look.question, answers, at(150))) != []


def test_a_service_is_never_late() -> None:
    state = poll(sent(policy()), at(1), running("j")).state
    for way in Way:
        state.usual = way
        assert bool(late_nodes.over(state, late_nodes.rule(state), at(150))) is not way.stays
    state.usual, state.inputs = Way.NEW, replace(state.inputs, ways=Ways(serviced=(N1, N2)))
    assert late_nodes.over(state, late_nodes.rule(state), at(150)) == frozenset()


def test_a_node_that_acceptance_tasks_run_on_is_not_late() -> None:
    state = poll(sent(policy()), at(1), running("j")).state
    (watch,) = state.watches.values()
    task = TaskState(TaskOnNodes(TaskId("t"), {}, "A1.accept.a.0", ()), ())
    for accepting, moves in ((None, 1), (Accepting(0, task, T0, False, ""), 0)):
        watch.accepting = accepting
        assert len(late_nodes.over(state, late_nodes.rule(state), at(150))) == moves


def test_a_hold_is_placed_with_the_fact() -> None:
    state = poll(sent(policy("hold")), at(1), running("j")).state

    assert [fact.hold for fact in late(poll(state, at(150), running("j")))] == [True]


CYCLING = Capabilities(limits=ProvisionerLimits("Fake", no_power_cycle=""))


def cycle(state: RolloutState, seconds: float) -> Recover | None:
    """Return the power cycle that the step decides now."""
    decision = STEP.decide(reread(state), at(seconds))
    if isinstance(decision, Look):
        return None
    assert decision.give_up_at == at(seconds + STEP.give_up_after)
    assert STEP.load_effect(decision.effect.to_json()) == decision.effect
    assert STEP.touches(decision.effect) == decision.effect.nodes
    return decision.effect


def test_a_late_node_is_power_cycled_once_in_an_action() -> None:
    fake = FakeProvisioner(capabilities=CYCLING)
    state = poll(sent(policy("power_cycle", prepare=100, deploy=100)), at(1), running("j")).state
    assert cycle(state, 50) is None
    state = poll(state, at(150), running("j")).state
    effect = cycle(state, 150)
    report = step(fake).perform(effect, Marker("m"))
    folded = STEP.fold(reread(state), effect, report, at(150))

    assert fake.power_cycled == [N1]
    assert folded.facts == (Noted("Late Node Power-Cycled", "node n1, late in prepare: once; its phase goes on"),)
    state = poll(folded.state, at(250), running("j")).state
    assert cycle(state, 250) == Recover(effect.move, (N2,), JobId("j"))
    state = submit(poll(folded.state, at(260), ended("j", "n1 n2")).state, "k", at(260)).state
    state = poll(poll(state, at(261), running("k")).state, at(390), running("k")).state
    assert cycle(state, 390) is None


@every_row(
    {
        "refused": (Recovered({N1: "is locked"}), "node n1, late in prepare: is locked", None),
        "unknown": (
            Recovered(unknown=True),
            "node n1, late in prepare: the outcome is unknown, and it is not repeated",
            None,
        ),
        "no rights": (PeerFailure("403", refused=True), "node n1, late in prepare: 403", None),
        "held": (
            PeerFailure("held", refused=True, nodes={N1: "held by ann"}),
            "node n1, late in prepare: held by ann",
            None,
        ),
    },
)
def test_a_power_cycle_that_is_not_possible_is_not_repeated_in_the_phase(
    report: Recovered | PeerFailure, note: str, again: Recover | None
) -> None:
    state = poll(poll(sent(policy("power_cycle")), at(1), running("j")).state, at(150), running("j")).state
    effect = cycle(state, 150)
    assert effect is not None

    folded = STEP.fold(state, effect, report, at(150))

    assert [fact.text for fact in folded.facts if isinstance(fact, Noted)] == [note]
    assert cycle(folded.state, 160) is again


def test_a_power_cycle_whose_outcome_is_unknown_counts() -> None:
    move = begun(GROUPS).rollout.next_move(T0)  # type: ignore[union-attr]  # it has moves
    effect = Recover(move, names("n1"), JobId("j"))

    assert STEP.find(effect, Marker("m"), T0, JobAnswers()) == Recovered(unknown=True)


def test_a_late_node_is_begun_again_once_by_the_polls_of_its_job() -> None:
    state = poll(sent(policy("retry", prepare=100, deploy=100)), at(1), running("j")).state
    state = poll(state, at(150), running("j")).state
    assert asked_again(state, 150) == {"j": frozenset()}
    effect = cycle(state, 150)
    fake = FakeProvisioner(capabilities=CYCLING)
    folded = STEP.fold(reread(state), effect, step(fake).perform(effect, Marker("m")), at(150))

    assert (effect, fake.power_cycled) == (Recover(effect.move, (N1,), JobId("j"), retry=True), [])
    assert folded.facts == (
        Noted("Late Node Begun Again", "node n1, late in prepare: once; the time limit of its phase stays"),
    )
    assert asked_again(folded.state, 160) == {"j": frozenset({N1})}
    state = submit(poll(folded.state, at(170), ended("j", "n1 n2")).state, "k", at(170)).state
    state = poll(poll(state, at(171), running("k")).state, at(290), running("k")).state
    assert (cycle(state, 290), asked_again(state, 290)) == (None, {"k": frozenset()})


def test_nothing_is_begun_again_without_a_policy() -> None:
    assert asked_again(sent(None), 10) == {"j": frozenset()}


def test_a_state_with_retries_is_left_alone_by_workers_that_know_none() -> None:
    assert sent(policy("retry")).to_json()["v"] == 7
    assert sent(policy("power_cycle")).to_json()["v"] == 4


def test_a_held_node_is_not_begun_again() -> None:
    state = poll(poll(sent(policy("retry")), at(1), running("j")).state, at(150), running("j")).state
    effect = cycle(state, 150)
    held = PeerFailure("held", refused=True, nodes={N1: "held by ann"})
    folded = STEP.fold(reread(state), effect, held, at(150))

    assert folded.facts == (Noted("Late Node Not Begun Again", "node n1, late in prepare: held by ann"),)
    assert (cycle(folded.state, 160), asked_again(folded.state, 160)) == (None, {"j": frozenset()})


def asked_again(state: RolloutState, seconds: float) -> dict[str, frozenset[NodeName]]:
    """Return with which nodes the polls of each job ask to begin again."""
    look = STEP.watch(reread(state), at(seconds))
    assert look is not None
    return {job: work.again for job, work in look.question.jobs.items()}
