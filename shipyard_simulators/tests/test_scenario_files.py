"""Scenarios: what they may say, and that everything wrong with one is said at once."""

import pytest

from shipyard_simulators.outcomes import ExpectedEnd, FaultAction, NodeOutcome, NodeOutcomeKind, TaskOutcomeKind
from shipyard_simulators.scenario import (
    DURATIONS,
    Scenario,
    ScenarioInvalid,
    load_scenario,
    parse_scenario,
    scenario_names,
)

GROUPS = {"ntp-node", "control-nodes", "compute-nodes-1", "compute-nodes-2", "monitoring-nodes"}


def faults_of(text: str) -> tuple[str, ...]:
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(text)
    return caught.value.faults


def test_an_empty_file_is_a_calm_site():
    assert parse_scenario("", default_name="calm") == Scenario()


def test_everything_a_scenario_can_say_is_read():
    scenario = parse_scenario(
        """
        name: rough
        description: All at once.
        durations: {prepare_nodes: 1.5, poll_interval: 0}
        nodes:
          n1: {prepare: fail, deploy: slow, reason: no power, seconds: 7, times: 2}
          "cmp*": {destroy: false_success}
        machines: {n9: Deployed}
        tasks: {verify_site: fail, prepare_site: {outcome: partial, reason: no VLANs, seconds: 3}}
        quirks: {both_lists: true, stuck_in_running: false}
        service:
          - {method: post, path: /tasks, status: 503, first: 2, probability: 0.5}
          - {action: hang, seconds: 30}
        seed: 7
        expect:
          verdict: failed
          groups: {a: {status: failed, reason: prepare}, b: {status: success}}
          nodes: {n1: {status: not_started, reason: policy}}
        policy: {waves: [{name: canary, nodes: 1}]}
        burn_in: {cpu: 60}
        holds: [{node: n1, class: no_alerts, reason: loud}]
        approvals: [{wave: canary, reason: quiet}, {group: a, approve: false}]
        """
    )
    assert scenario.name == "rough"
    assert scenario.durations == {**DURATIONS, "prepare_nodes": 1.5, "poll_interval": 0}
    assert scenario.node_outcome("n1", "prepare") == NodeOutcome(NodeOutcomeKind.FAIL, "no power", 7, 2)
    assert scenario.node_outcome("n1", "deploy").kind is NodeOutcomeKind.SLOW
    assert scenario.node_outcome("cmp7", "destroy").kind is NodeOutcomeKind.FALSE_SUCCESS
    assert scenario.machines == {"n9": "Deployed"}
    assert scenario.task_outcome("verify_site").kind is TaskOutcomeKind.FAIL
    assert scenario.task_outcome("prepare_site").reason == "no VLANs"
    assert scenario.task_outcome("deploy_nodes").kind is TaskOutcomeKind.OK
    assert scenario.quirks["both_lists"]
    assert not scenario.quirks["stuck_in_running"]
    assert scenario.quirks["success_of_nothing"]
    error, hang = scenario.service
    assert (error.method, error.path, error.status, error.first, error.probability) == ("POST", "/tasks", 503, 2, 0.5)
    assert (hang.method, hang.path, hang.action, hang.seconds) == ("*", "*", FaultAction.HANG, 30)
    assert scenario.seed == 7
    assert scenario.expect is not None
    assert scenario.expect.verdict == "failed"
    assert scenario.expect.groups == {"a": ExpectedEnd("failed", "prepare"), "b": ExpectedEnd("success")}
    assert scenario.expect.nodes == {"n1": ExpectedEnd("not_started", "policy")}
    assert scenario.policy == {"waves": [{"name": "canary", "nodes": 1}]}
    assert scenario.burn_in == {"cpu": 60}
    assert scenario.holds == ({"node": "n1", "class": "no_alerts", "reason": "loud"},)
    assert scenario.approvals == (
        {"wave": "canary", "reason": "quiet", "approve": True},
        {"group": "a", "approve": False},
    )


@pytest.mark.parametrize(
    ("node", "phase", "outcome"),
    [
        ("n2-fails-prepare", "prepare", NodeOutcomeKind.FAIL),
        ("n2-fails-prepare", "deploy", NodeOutcomeKind.OK),
        ("n2-fails-deploy", "deploy", NodeOutcomeKind.FAIL),
        ("n2-slow-prepare-x", "prepare", NodeOutcomeKind.SLOW),
        ("n2-slow-deploy", "deploy", NodeOutcomeKind.SLOW),
        ("never-prepare", "prepare", NodeOutcomeKind.NEVER),
        ("never-deploy", "deploy", NodeOutcomeKind.NEVER),
        ("n2", "prepare", NodeOutcomeKind.OK),
    ],
)
def test_a_node_may_carry_its_outcome_in_its_name(node: str, phase: str, outcome: NodeOutcomeKind):
    assert Scenario().node_outcome(node, phase).kind is outcome


def test_the_first_rule_that_speaks_of_the_phase_decides_and_rules_go_before_names():
    scenario = parse_scenario(
        "nodes: {n1: {deploy: fail}, 'n*': {prepare: never, deploy: ok}, '*-fails-deploy': {deploy: ok}}"
    )
    assert scenario.node_outcome("n1", "prepare").kind is NodeOutcomeKind.NEVER
    assert scenario.node_outcome("n1", "deploy").kind is NodeOutcomeKind.FAIL
    assert scenario.node_outcome("n2-fails-deploy", "deploy").kind is NodeOutcomeKind.OK


def test_every_fault_is_named_with_its_place():
    faults = faults_of(
        """
        name: 5
        hosts: {}
        durations: {prepare: 1, deploy_nodes: -1, verify_site: soon, prepare_nodes: .nan}
        nodes: {n1: {prepare: explode}, n2: {reason: none}, n3: fail, n4: {deploy: false_success, times: 0}}
        machines: {n1: Sleeping}
        tasks: {fly: fail, verify_site: partial, deploy_nodes: {outcome: perhaps}}
        quirks: {both_lists: maybe, unknown: true}
        service: [{action: bite}, {status: 200}, {probability: 2}, {action: drop, status: 500}, 7, {first: 1.5}]
        seed: 1.5
        expect: {verdict: fine, groups: {a: {reason: x}}, nodes: {n1: {status: lost}}}
        policy: none
        burn_in: long
        holds: [{node: n1, until: ever}]
        approvals: [{approve: perhaps, by: me}]
        """
    )
    answered = "\n".join(faults)
    for place in (
        "name should be text",
        "hosts is not known",
        "durations.prepare is not known",
        "durations.deploy_nodes should be at least 0",
        "durations.verify_site should be a number",
        "durations.prepare_nodes should be a number",
        "nodes.n1.prepare should be one of ok, fail, never, slow",
        "nodes.n2 says nothing of any phase",
        "nodes.n3 should be a mapping",
        "nodes.n4.deploy should be one of",
        "nodes.n4.times should be at least 1",
        "machines.n1 should be one of New,",
        "tasks.fly is not known",
        "tasks.verify_site should be one of ok, fail, never, slow",
        "tasks.deploy_nodes.outcome should be one of",
        "quirks.both_lists should be true or false",
        "quirks.unknown is not known",
        "service[0].action should be one of error, hang",
        "service[1].status should be between 400 and 599",
        "service[2].probability should be between 0 and 1",
        "service[3] has a status, but drop",
        "service[4] should be a mapping",
        "service[5].first should be a whole number",
        "seed should be a whole number",
        "expect.verdict should be one of success, failed",
        "expect.groups.a.status should be one of success, failed",
        "expect.nodes.n1.status should be one of not_started,",
        "policy should be a mapping",
        "burn_in should be a mapping",
        "holds[0].until is not known",
        "approvals[0].approve should be true or false",
        "approvals[0].by is not known",
    ):
        assert place in answered


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: [", "not YAML"),
        ("- a list", "the scenario should be a mapping"),
        ("nodes: []", "nodes should be a mapping, not a list"),
        ("service: {}", "service should be a list, not a mapping"),
        ("name: a\nname: b", "'name' is written twice"),
        ("nodes: {1: {prepare: fail}}", "nodes has the key 1, which is not text"),
        ("durations: {verify_site: 1" + "0" * 400 + "}", "durations.verify_site should be a number"),
        ("name: !!python/object/apply:os.getcwd []", "not YAML"),
        ("[" * 500, "not YAML"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(text: str, message: str):
    assert message in "\n".join(faults_of(text))


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_that_ships_can_be_loaded_and_says_how_it_ends(name: str):
    scenario = load_scenario(name)
    assert scenario.name == name
    assert scenario.description
    assert scenario.expect is not None
    assert set(scenario.expect.groups) <= GROUPS


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ScenarioInvalid, match=r"no scenario named 'clam'.*calm"):
        load_scenario("clam")


def test_a_name_that_leaves_the_directory_is_a_file_and_must_exist():
    with pytest.raises(ScenarioInvalid, match="cannot be read"):
        load_scenario("../scenarios/calm")
