"""The baremetal nodes step with a rollout policy: what it sends, what it waits for, and what it stores."""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.pacing import POLICY, answers, of, waits
from shipyard_api.actions.steps.rollout_messages import Answers, Members, PollJobs, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.approvals import Approval, WaveGate
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Mode
from shipyard_api.domain.rollout.policy.gates import Answer, Gate, GateKind, GateState
from shipyard_api.domain.rollout.policy.pace import OpenGate
from shipyard_api.domain.rollout.policy.pacing import ALL_AT_ONCE
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from shipyard_api.ports.metrics import QueryResult
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Folded
from tests.unit.actions.steps.instants import T0, at
from tests.unit.actions.steps.rollouts import STEP, begun, ended, poll, question, reread, running, submit
from tests.unit.tables import every_row

FIVE = {"a": "n1 n2 n3 n4 n5"}
CANARY = {"waves": [{"name": "canary", "nodes": 1}]}
RACKS = {NodeName(f"n{number}"): {"rack": "r1" if number < 4 else "r2"} for number in range(1, 6)}
ONE_A_RACK = {"budgets": [{"name": "racks", "by": "rack", "max_unavailable": 1}]}


def policy(data: dict[str, Any]) -> PolicyInputs:
    return PolicyInputs(data, topology=RACKS, seconds={"prepare": 300, "deploy": 400})


def sent(state: RolloutState) -> str:
    decision = STEP.decide(reread(state), at(0))
    return f"{decision.effect.move.phase.value} {' '.join(decision.effect.move.nodes)}"


def end(state: RolloutState, *failed: str) -> Folded[RolloutState]:
    """Submit the next move, and let its job end; the named nodes fail."""
    state = submit(reread(state), "j").state
    nodes = frozenset(state.rollout.running[0].nodes)
    lost = nodes.intersection(failed)
    return poll(state, at(0), ended("j", " ".join(nodes - lost), " ".join(lost)))


def test_the_canary_is_deployed_before_any_other_node_begins() -> None:
    state = begun(FIVE, policy=policy(CANARY))
    moves = []
    for _ in range(4):
        moves.append(sent(state))
        state = end(state).state

    assert moves == ["prepare n1", "deploy n1", "prepare n2 n3 n4 n5", "deploy n2 n3 n4 n5"]
    assert state.summary() == "1 of 1 groups and 5 of 5 nodes deployed"


@every_row(list(Phase))
def test_a_bad_canary_stops_the_rest_and_names_the_rule(phase: Phase) -> None:
    groups = {"a": {"success_criteria": {"minimum_successful_nodes": 1}}}
    state = begun(FIVE, policy=policy(CANARY), groups=groups)
    if phase is Phase.DEPLOY:
        state = end(state).state

    folded = end(state, "n1")

    facts = folded.facts
    assert [fact for fact in facts if isinstance(fact, WaveEnded)] == [
        WaveEnded(GroupName("a"), "canary", 1, 1, 1, "maximum_failed_nodes is 1, at most 0 needed")
    ]
    stops = [fact for fact in facts if isinstance(fact, PolicyStopped)]
    assert [(stop.rule, stop.nodes) for stop in stops] == [("wave canary of group a", 4)]
    changes = [fact for fact in facts if isinstance(fact, NodesChanged) and fact.withheld]
    assert [(change.reason, change.nodes) for change in changes] == [("policy", ("n2", "n3", "n4", "n5"))]
    assert folded.state.summary() == (
        "0 of 1 groups and 0 of 5 nodes deployed; stopped by the policy (wave canary of group a): 4 nodes"
    )
    assert isinstance(STEP.decide(reread(folded.state), at(0)), Done)


def test_a_rack_has_one_node_in_flight_at_a_time() -> None:
    state = begun(FIVE, policy=policy(ONE_A_RACK))
    moves = []
    for _ in range(6):
        moves.append(sent(state))
        state = end(state).state

    assert moves == ["prepare n1 n4", "deploy n1 n4", "prepare n2 n5", "deploy n2 n5", "prepare n3", "deploy n3"]


def test_nothing_begins_outside_the_window_and_the_action_says_when_it_goes_on() -> None:
    start = T0 + timedelta(hours=2)
    window = {"zone": "UTC", "start": f"{start:%H:%M}", "minutes": 60}
    state = begun(FIVE, policy=policy({"windows": {"open": [window]}}))

    question = STEP.decide(reread(state), T0)
    folded = STEP.fold(state, question.question, Answers({}, None), T0)

    opening = start.replace(second=0, microsecond=0)
    assert folded.wait_until == opening
    assert (folded.awaited.who, folded.awaited.what) == (POLICY, "windows: closed until 2026-03-01T14:00:00Z")
    assert isinstance(STEP.decide(reread(folded.state), opening), Act)


def test_a_gate_is_asked_about_until_it_is_answered() -> None:
    gated = {"waves": [{"name": "canary", "nodes": 1, "gates": [{"approval": True}]}]}
    state = begun(FIVE, policy=policy(gated))
    state = end(end(state).state).state

    question = STEP.decide(reread(state), at(0))
    (gate,) = question.question.gates
    assert (gate.place, gate.nodes) == (("a", 0), ("n1",))
    waiting = STEP.fold(reread(state), question.question, Answers({}, None), at(0))
    assert waiting.wait_until == at(STEP.pause)
    assert waiting.awaited.who == "operator"
    assert waiting.awaited.what.startswith("approval after wave canary of group a: shipyard approve")
    (asked,) = waiting.awaited.gates
    assert (asked.group, asked.wave, asked.deployed) == ("a", "canary", 1)

    answer = {(gate.place, gate.state.index): Answer(True, at(5), "ops")}
    passed = STEP.fold(waiting.state, question.question, Answers({}, None, gates=answer), at(5))

    assert sent(passed.state) == "prepare n2 n3 n4 n5"


QUERY = {"query": "up == 1", "limit": 100}
HELD = QueryResult(True, 'up{job="node"} 1')
SILENCE = Unavailable("Prometheus", "GET /api/v1/query", "no answer")


@dataclass
class Monitoring:
    """A Prometheus with this answer."""

    answer: QueryResult | PeerError
    name: str = "Prometheus"
    asked: list[str] = field(default_factory=list)

    def ask(self, query: str) -> QueryResult:
        self.asked.append(query)
        if isinstance(self.answer, PeerError):
            raise self.answer
        return self.answer


def queried(gate: dict[str, Any], monitoring: Monitoring | None, now: datetime) -> tuple[Folded[RolloutState], Any]:
    """Let the canary end at 0, and ask the gate after it."""
    gated = {"waves": [{"name": "canary", "nodes": 1, "gates": [gate]}]}
    state = reread(end(end(begun(FIVE, policy=policy(gated))).state).state)
    decision = STEP.decide(state, now)
    step = replace(STEP, gates=answers(cast(Store, None), monitoring))
    return STEP.fold(state, decision.question, step.ask(decision.question), now), decision.question


@every_row(
    [(QUERY, HELD), (QUERY | {"strict": False}, HELD), (QUERY | {"strict": False}, SILENCE)],
)
def test_the_next_wave_begins_when_the_query_holds(gate: dict[str, Any], answer: QueryResult | PeerError) -> None:
    monitoring = Monitoring(answer)

    folded, _ = queried(gate, monitoring, at(5))

    assert monitoring.asked == ["up == 1"]
    assert sent(folded.state) == "prepare n2 n3 n4 n5"
    assert folded.state.rollout is not None
    (given,) = reread(folded.state).rollout.pace.progress.answers["a", 0].values()  # type: ignore[union-attr]
    assert (given.at, given.by) == (at(5), "Prometheus")
    (note,) = [fact for fact in folded.facts if isinstance(fact, Noted)]
    assert note.text == f"Prometheus lets what follows wave canary of group a begin: {given.detail}"


@every_row(
    [
        (Monitoring(QueryResult(False, "no series")), True, "does not hold: no series"),
        (Monitoring(QueryResult(False, "no series")), False, "does not hold: no series"),
        (Monitoring(SILENCE), True, "Prometheus GET /api/v1/query: no answer"),
        (
            Monitoring(Refused("Prometheus", "GET /api/v1/query", "bad_data")),
            False,
            "Prometheus GET /api/v1/query: bad_data",
        ),
        (None, True, "this worker is configured with no Prometheus ([prometheus] url)"),
    ],
)
def test_a_query_that_does_not_hold_is_asked_again_until_its_limit(
    monitoring: Monitoring | None, strict: bool, said: str
) -> None:
    folded, question = queried(QUERY | {"strict": strict}, monitoring, at(5))

    assert folded.wait_until == at(5 + STEP.pause)
    assert (folded.awaited.who, folded.awaited.what) == (POLICY, "wave canary of group a: query up == 1")
    assert (folded.awaited.last_answer, folded.awaited.gates) == (said, ())
    late = STEP.fold(reread(folded.state), question, Answers({}, None), at(100))
    (stop,) = [fact for fact in late.facts if isinstance(fact, PolicyStopped)]
    assert stop.why == "query up == 1 was refused by limit: not passed within 100 s"


def test_an_approval_is_open_while_another_group_is_submitted_and_polled() -> None:
    gated = {"waves": [{"name": "canary", "nodes": 1, "gates": [{"approval": True}]}]}
    state = begun({"a": "n1 n2", "b": "n3"}, policy=policy(gated), mode=Mode(max_parallel_groups=2))
    submit(state, "prepare-a")
    submit(state, "prepare-b")
    poll(state, at(1), ended("prepare-a", "n1"), running("prepare-b"))
    submit(state, "deploy-a", at(1))
    # The gate opens in the turn in which the other group goes on.
    poll(state, at(2), ended("deploy-a", "n1"), ended("prepare-b", "n3"))
    decision = STEP.decide(state, at(2))
    submitting = STEP.awaits(state, decision.effect).after(None, at(2))
    taken_up = STEP.awaits(state, STEP.load_effect(decision.effect.to_json())).after(submitting, at(3))
    assert submit(state, "deploy-b", at(3)).awaited is None  # as before
    polling = STEP.awaits(state, question(state, at(40))).after(taken_up, at(40))
    polled = poll(state, at(40), running("deploy-b"))

    assert [gate.group for gate in submitting.gates] == ["a"]
    assert submitting.gates == taken_up.gates == polling.gates == polled.awaited.gates


def test_a_machine_that_only_its_deployment_releases_has_not_begun_to_a_policy() -> None:
    state = STEP.begin(
        ActionInputs(site=begun(FIVE, policy=policy(ONE_A_RACK)).inputs, kept=(NodeName("n3"),), retried="a")
    )
    members = {GroupName("a"): frozenset(map(NodeName, FIVE["a"].split()))}
    broken = {NodeName("n3"): "Broken", NodeName("n5"): "Failed deployment"}
    folded = STEP.fold(state, SelectMembers(state.inputs), Members(members, to_release=broken), T0)

    prepared = [fact for fact in folded.facts if isinstance(fact, NodesChanged)]
    assert [(fact.nodes, "shows Failed deployment" in fact.reasons["n5"]) for fact in prepared] == [(("n5",), True)]
    assert sent(state) == "deploy n5"  # which takes the place of its rack only now


def test_a_gate_that_is_refused_stops_what_comes_after_it() -> None:
    gated = {"waves": [{"name": "canary", "nodes": 1, "gates": [{"approval": True}]}]}
    state = end(end(begun(FIVE, policy=policy(gated))).state).state

    refused = {(("a", 0), 0): Answer(False, at(5), "ops", "fans too loud")}
    folded = STEP.fold(reread(state), PollJobs({}, ()), Answers({}, None, gates=refused), at(5))

    stops = [fact for fact in folded.facts if isinstance(fact, PolicyStopped)]
    assert [(stop.rule, stop.why, stop.nodes) for stop in stops] == [
        ("wave canary of group a", "approval was refused by ops: fans too loud", 4)
    ]


LATE, SERVICED = policy({"late": {"on_late": "nothing"}}), Ways(serviced=(NodeName("n1"),))


@every_row(
    [
        # the policy, the servers that are interrupted; the policy that paces the rollout, None: nothing does
        (None, NO_WAYS, None),
        (LATE, NO_WAYS, None),
        (policy(CANARY), NO_WAYS, policy(CANARY).policy),
        (LATE, SERVICED, Policy()),
    ]
)
def test_a_rollout_is_paced_by_its_policy_and_by_the_servers_that_it_interrupts(
    rules: PolicyInputs | None, ways: Ways, kept: Policy | None
) -> None:
    state = begun(FIVE, policy=rules)
    pace = of(msgspec.structs.replace(state.inputs, ways=ways), {})
    assert (None if pace is ALL_AT_ONCE else pace.policy, pace.ways) == (kept, ways)


ASKED = WaveGate("canary", 1, 0, 1, T0, "a")


@every_row(
    [
        # the gates that people have answered, the oldest first; whose answer counts
        ([], None),
        ([ASKED], 0),
        ([ASKED, ASKED], 1),
        ([ASKED, msgspec.structs.replace(ASKED, index=1)], 0),
        ([msgspec.structs.replace(ASKED, group="b"), msgspec.structs.replace(ASKED, place=0)], None),
        ([msgspec.structs.replace(ASKED, since=at(1))], None),
    ]
)
def test_an_approval_answers_only_the_gate_that_was_shown(gates: list[WaveGate], counts: int | None) -> None:
    given = [Approval(gate, bool(number), "ops", at(number), "fans") for number, gate in enumerate(gates)]
    actions = SimpleNamespace(approvals=lambda _action: ([], given))
    store: Any = SimpleNamespace(begin=lambda: nullcontext(SimpleNamespace(actions=actions)))
    gate = OpenGate((GroupName("a"), 1), GateState(0, Gate(GateKind.APPROVAL), T0), ())
    answer = None if counts is None else Answer(bool(counts), at(counts), "ops", "fans")
    assert answers(store)("A1", gate) == answer


def test_an_action_waits_for_a_rule_only_while_nothing_runs() -> None:
    window = {"zone": "UTC", "start": "14:00", "minutes": 60}
    state = begun({"a": "n1", "b": "n2"}, policy=policy({"windows": {"open": [window]}}), mode=Mode(2))
    assert state.rollout is not None
    closed = Awaited(POLICY, "windows: closed until 2026-03-01T14:00:00Z")
    assert [waits(state.rollout, at(seconds), "A1") for seconds in (0, 7199, 7200)] == [closed, closed, None]
    submit(state, "j", at(7200))
    assert waits(state.rollout, at(20_000), "A1") is None
