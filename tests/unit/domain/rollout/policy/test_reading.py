"""A rollout policy as a design writes it: what is refused, what is reported, and what an action freezes."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.policy.lateness import Lateness, OnLate, Usual
from shipyard_api.domain.rollout.policy.reading import PolicyInputs, check_policy
from tests.conftest import ROOT

NOW = datetime(2026, 11, 26, tzinfo=UTC)
LIMITS = {Phase.PREPARE: 1800.0, Phase.DEPLOY: 3600.0}
SITE = Inventory.of(
    [
        Node(NodeName("n1"), "r1", labels=frozenset({("pdu", "a")})),
        Node(NodeName("n2"), "r1"),
        Node(NodeName("n3"), "r2"),
    ]
)
NIGHT = {"zone": "Europe/Berlin", "start": "22:00", "minutes": 360}
QUIET = {"name": "patching", "class": "no_alerts", "windows": [NIGHT]}
SCHEMAS = SchemaFiles(ROOT / "schemas")


def schema_faults(policy: dict[str, Any]) -> list[str]:
    data = {"armada": {"manifest": "full-site"}, "physical_provisioner": {"policy": policy}}
    return [finding.path for finding in SCHEMAS.check("deployment_configuration_v1", data)]


@pytest.mark.parametrize(
    ("policy", "findings"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"waves": [{"name": "canary", "nodes": 1}, {"name": "some", "percent": 10}]}, [], id="waves"),
        pytest.param(
            {"waves": [{"name": "c", "nodes": 1, "gates": [{"query": "up == 1", "limit": 60, "strict": False}]}]},
            [],
            id="a query",
        ),
        pytest.param(
            {"waves": [{"name": "rest", "nodes": 1}]}, ["PolicyDuplicateName waves/0/name"], id="rest is taken"
        ),
        pytest.param(
            {"waves": [{"name": "c", "selectors": [{"rack_names": ["r9"]}]}]},
            ["PolicyWaveEmpty waves/0/selectors"],
            id="selectors that match nothing",
        ),
        pytest.param({"budgets": [{"name": "r", "by": "rack", "max_unavailable": "50%"}]}, [], id="a budget a rack"),
        pytest.param(
            {"budgets": [{"name": "p", "by": "pdu", "max_lost": 1}]},
            ["PolicyLabelMissing budgets/0/by"],
            id="nodes without the label",
        ),
        pytest.param(
            {"budgets": [{"name": "p", "max_unavailable": 0}]},
            ["PolicyBudgetAllowsNothing budgets/0/max_unavailable"],
            id="a budget of nothing",
        ),
        pytest.param({"windows": {"open": [NIGHT]}}, [], id="a window"),
        pytest.param({"holds": [{**QUIET, "selectors": [{"rack_names": ["r1"]}]}]}, [], id="a hold"),
        pytest.param({"holds": [QUIET, QUIET]}, ["PolicyDuplicateName holds/1/name"], id="two holds of a name"),
        pytest.param(
            {"holds": [{**QUIET, "selectors": [{"rack_names": ["r9"]}]}]},
            ["PolicyHoldEmpty holds/0/selectors"],
            id="a hold of nothing",
        ),
        pytest.param(
            {"holds": [{**QUIET, "windows": [NIGHT, {**NIGHT, "zone": "Mars/Olympus"}]}]},
            ["PolicyUnknownTimeZone holds/0/windows/1/zone"],
            id="a hold in no zone",
        ),
        pytest.param(
            {"holds": [{**QUIET, "windows": [{**NIGHT, "dates": ["2026-01-01"]}]}]},
            ["PolicyWindowNeverComes holds/0/windows"],
            id="a hold in the past",
        ),
        pytest.param({"late": {}}, ["PolicyLateNotMeasured late"], id="late, and nothing measured"),
        pytest.param(
            {"late": {"durations": {"prepare": 60, "deploy": 0}}}, ["PolicyLateNotMeasured late"], id="half of it"
        ),
        pytest.param({"late": {"durations": {"prepare": 60, "deploy": 90}, "on_late": "hold"}}, [], id="late"),
        pytest.param(
            {"late": {"durations": {"prepare": 60, "deploy": 90}, "on_late": "power_cycle"}},
            ["PolicyPowerCycleImpossible late/on_late"],
            id="a provisioner that cannot",
        ),
        pytest.param(
            {"windows": {"open": [{**NIGHT, "zone": "Mars/Olympus"}, {**NIGHT, "dates": ["2026-02-30"]}]}},
            ["PolicyUnknownTimeZone windows/open/0/zone", "PolicyDateInvalid windows/open/1/dates/0"],
            id="no such zone, no such date",
        ),
        pytest.param(
            {"windows": {"open": [{**NIGHT, "dates": ["2026-01-01"]}]}},
            ["PolicyWindowNeverComes windows/open"],
            id="a window in the past",
        ),
        pytest.param(
            {"windows": {"open": [{**NIGHT, "minutes": 60}]}}, ["PolicyWindowTooShort windows/open"], id="too short"
        ),
        pytest.param(
            {"windows": {"open": [{**NIGHT, "minutes": 60}], "durations": {"prepare": 600, "deploy": 1200}}},
            [],
            id="long enough for the configured durations",
        ),
    ],
)
def test_findings(policy: dict[str, Any], findings: list[str]) -> None:
    assert schema_faults(policy) == []

    found = check_policy(PolicyInputs.of(policy, SITE, LIMITS), SITE, NOW)

    prefix = "/physical_provisioner/policy/"
    assert [f"{finding.name} {finding.path.removeprefix(prefix)}" for finding in found] == findings


@pytest.mark.parametrize(
    ("windows", "measured", "seconds"),
    [
        pytest.param({}, (), 1800, id="nothing measured: the time limit"),
        pytest.param({}, (70,), 70, id="one"),
        pytest.param({}, range(1, 101), 95, id="many: the usual certainty"),
        pytest.param({"certainty": 50}, range(1, 101), 50, id="another certainty"),
        pytest.param({"certainty": 100}, (1, 2, 3), 3, id="the longest"),
        pytest.param({"certainty": 1}, (1, 2, 3), 1, id="the shortest"),
        pytest.param({"durations": {"prepare": 600}}, (70,), 600, id="the configured duration wins"),
    ],
)
def test_how_long_a_phase_may_take(windows: dict[str, Any], measured: Sequence[float], seconds: float) -> None:
    written = {"windows": {"open": [NIGHT], **windows}}

    frozen = PolicyInputs.of(written, SITE, LIMITS, {Phase.PREPARE: measured})

    assert frozen.policy.seconds == {Phase.PREPARE: seconds, Phase.DEPLOY: 3600}


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"wavs": []}, id="a misspelt key"),
        pytest.param({"late": {"on_late": "fail"}}, id="lateness is no verdict"),
        pytest.param({"holds": [{**QUIET, "class": "none"}]}, id="an unknown class of hold"),
        pytest.param({"holds": [{"name": "h", "class": "all"}]}, id="a hold without a window"),
        pytest.param({"waves": [{"name": "c"}]}, id="a wave without a size"),
        pytest.param({"waves": [{"name": "c", "nodes": 1, "percent": 1}]}, id="two sizes"),
        pytest.param({"waves": [{"name": "c", "nodes": 0}]}, id="a wave of no node"),
        pytest.param(
            {"waves": [{"name": "c", "nodes": 1, "gates": [{"soak": 1, "approval": True}]}]}, id="two gates in one"
        ),
        pytest.param({"budgets": [{"name": "b"}]}, id="a budget without a number"),
        pytest.param({"budgets": [{"name": "b", "max_lost": "101%"}]}, id="more than all"),
        pytest.param({"windows": {"open": []}}, id="no window"),
        pytest.param({"windows": {"open": [{**NIGHT, "start": "24:00"}]}}, id="no such time"),
    ],
)
def test_the_schema_refuses(policy: dict[str, Any]) -> None:
    assert schema_faults(policy)


@pytest.mark.parametrize(
    ("durations", "usual"),
    [
        pytest.param({}, {Phase.PREPARE: {"": 30, "gen8": 60}, Phase.DEPLOY: {"": 90}}, id="measured"),
        pytest.param({"prepare": 50}, {Phase.PREPARE: {"": 50}, Phase.DEPLOY: {"": 90}}, id="one is given"),
        pytest.param({"prepare": 50, "deploy": 70}, {Phase.PREPARE: {"": 50}, Phase.DEPLOY: {"": 70}}, id="both"),
    ],
)
def test_an_action_freezes_when_a_node_is_late(
    durations: dict[str, float], usual: Mapping[Phase, Mapping[str, float]]
) -> None:
    site = Inventory.of([Node(NodeName("n1"), hardware="gen8"), Node(NodeName("n2"))])
    asked = []

    def learn(models: Mapping[NodeName, str]) -> Usual:
        asked.append(models)
        return {Phase.PREPARE: {"": 30, "gen8": 60}, Phase.DEPLOY: {"": 90}}

    frozen = PolicyInputs.of({"late": {"durations": durations, "on_late": "hold"}}, site, LIMITS, learn=learn)
    read = PolicyInputs.from_json(json.loads(json.dumps(frozen.scaled(2).to_json())))

    assert frozen.lateness == Lateness(usual, {NodeName("n1"): "gen8"}, OnLate.HOLD)
    assert read.lateness.usual == {
        phase: {model: 2 * seconds for model, seconds in lengths.items()} for phase, lengths in usual.items()
    }
    assert asked == ([{"n1": "gen8"}] if len(durations) < 2 else [])
    assert not frozen.paces


def test_an_action_freezes_what_selectors_labels_and_limits_meant() -> None:
    written = {
        "waves": [{"name": "canary", "selectors": [{"rack_names": ["r2"]}], "gates": [{"soak": 100}]}],
        "budgets": [
            {"name": "racks", "by": "rack", "max_unavailable": 1},
            {"name": "pdus", "by": "pdu", "max_lost": 0},
        ],
        "windows": {"open": [NIGHT], "durations": {"deploy": 900}},
    }

    frozen = PolicyInputs.of(written, SITE, LIMITS).scaled(0.5)
    policy = PolicyInputs.from_json(json.loads(json.dumps(frozen.to_json()))).policy

    assert policy == frozen.policy
    assert policy.chosen == {"canary": {"n3"}}
    assert policy.topology == {"n1": {"rack": "r1", "pdu": "a"}, "n2": {"rack": "r1"}, "n3": {"rack": "r2"}}
    assert policy.seconds == {Phase.PREPARE: 900, Phase.DEPLOY: 450}
    assert policy.waves.waves[0].gates[0].seconds == 50
