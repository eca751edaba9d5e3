"""A rollout policy as a design writes it: what is refused, what is reported, and what an action freezes."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.history import TeardownHistory
from shipyard_api.domain.rollout.policy.lateness import Lateness, OnLate, Usual
from shipyard_api.domain.rollout.policy.policy import EVERY_RULE, ON_SERVERS, Rule
from shipyard_api.domain.rollout.policy.reading import PolicyInputs, check_dates, check_policy, on_servers
from shipyard_api.domain.rollout.policy.windows import ServerWindows, Unit
from tests.conftest import ROOT
from tests.unit.tables import every_row

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
PREFIX = "/physical_provisioner/policy/"


def schema_faults(policy: dict[str, Any]) -> list[str]:
    data = {"armada": {"manifest": "full-site"}, "physical_provisioner": {"policy": policy}}
    return [finding.path for finding in SCHEMAS.check("deployment_configuration_v1", data)]


@every_row(
    {
        "nothing": ({}, []),
        "rest is taken": ({"waves": [{"name": "rest", "nodes": 1}]}, ["PolicyDuplicateName waves/0/name"]),
        "selectors that match nothing": (
            {"waves": [{"name": "c", "selectors": [{"rack_names": ["r9"]}]}]},
            ["PolicyWaveEmpty waves/0/selectors"],
        ),
        "a budget a rack": ({"budgets": [{"name": "r", "by": "rack", "max_unavailable": "50%"}]}, []),
        "nodes without the label": (
            {"budgets": [{"name": "p", "by": "pdu", "max_lost": 1}]},
            ["PolicyLabelMissing budgets/0/by"],
        ),
        "a budget of nothing": (
            {"budgets": [{"name": "p", "max_unavailable": 0}]},
            ["PolicyBudgetAllowsNothing budgets/0/max_unavailable"],
        ),
        "two holds of a name": ({"holds": [QUIET, QUIET]}, ["PolicyDuplicateName holds/1/name"]),
        "a hold of nothing": (
            {"holds": [{**QUIET, "selectors": [{"rack_names": ["r9"]}]}]},
            ["PolicyHoldEmpty holds/0/selectors"],
        ),
        "a hold in no zone": (
            {"holds": [{**QUIET, "windows": [NIGHT, {**NIGHT, "zone": "Mars/Olympus"}]}]},
            ["PolicyUnknownTimeZone holds/0/windows/1/zone"],
        ),
        "late, and nothing measured": ({"late": {}}, ["PolicyLateNotMeasured late"]),
        "a provisioner that cannot": (
            {"late": {"durations": {"prepare": 60, "deploy": 90}, "on_late": "power_cycle"}},
            ["PolicyPowerCycleImpossible late/on_late"],
        ),
        "no such zone, no such date": (
            {"windows": {"open": [{**NIGHT, "zone": "Mars/Olympus"}, {**NIGHT, "dates": ["2026-02-30"]}]}},
            ["PolicyUnknownTimeZone windows/open/0/zone", "PolicyDateInvalid windows/open/1/dates/0"],
        ),
    },
)
def test_findings(policy: dict[str, Any], findings: list[str]) -> None:
    assert schema_faults(policy) == []

    found = check_policy(PolicyInputs.of(policy, SITE, LIMITS), SITE)

    assert [f"{finding.name} {finding.path.removeprefix(PREFIX)}" for finding in found] == findings


@every_row(
    {
        "a hold in the past": (
            {"holds": [{**QUIET, "windows": [{**NIGHT, "dates": ["2026-01-01"]}]}]},
            ["warning PolicyWindowNeverComes holds/0/windows"],
        ),
        "a window in the past": (
            {"windows": {"open": [{**NIGHT, "dates": ["2026-01-01"]}]}},
            ["error PolicyWindowNeverComes windows/open"],
        ),
        "too short": ({"windows": {"open": [{**NIGHT, "minutes": 60}]}}, ["error PolicyWindowTooShort windows/open"]),
        "long enough for the configured durations": (
            {"windows": {"open": [{**NIGHT, "minutes": 60}], "durations": {"prepare": 600, "deploy": 1200}}},
            [],
        ),
    },
)
def test_dates_are_a_matter_of_the_commit(policy: dict[str, Any], findings: list[str]) -> None:
    inputs = PolicyInputs.of(policy, SITE, LIMITS)

    found = check_dates(inputs, NOW)

    assert [f"{one.level.value.lower()} {one.name} {one.path.removeprefix(PREFIX)}" for one in found] == findings
    assert list(check_policy(inputs, SITE)) == []


@every_row(
    {
        "nothing measured: the time limit": ({}, (), 1800),
        "another certainty": ({"certainty": 50}, range(1, 101), 50),
        "the longest": ({"certainty": 100}, (1, 2, 3), 3),
        "the shortest": ({"certainty": 1}, (1, 2, 3), 1),
        "the configured duration wins": ({"durations": {"prepare": 600}}, (70,), 600),
    },
)
def test_how_long_a_phase_may_take(windows: dict[str, Any], measured: Sequence[float], seconds: float) -> None:
    written = {"windows": {"open": [NIGHT], **windows}}

    frozen = PolicyInputs.of(written, SITE, LIMITS, {Phase.PREPARE: measured})

    assert frozen.policy.seconds == {Phase.PREPARE: seconds, Phase.DEPLOY: 3600}


@every_row(
    {
        "nothing measured: the time limits": ({}, TeardownHistory(), 4000, 0),
        "measured": ({}, TeardownHistory(range(1, 101), range(1, 21)), 95, 19),
        "another certainty": ({"certainty": 50}, TeardownHistory((1, 2, 3, 4), (5, 6)), 2, 5),
        "none left beside another": ({}, TeardownHistory((7,)), 7, 0),
        "the configured duration wins": ({"durations": {"teardown": 600}}, TeardownHistory((70,), (60,)), 600, 0),
    },
)
def test_how_long_a_teardown_may_take(
    windows: dict[str, Any], measured: TeardownHistory, whole: float, alone: float
) -> None:
    frozen = PolicyInputs.of({"windows": {"open": [NIGHT], **windows}}, SITE, LIMITS).taking_down(measured, 4000)

    assert (frozen.policy.teardown, frozen.policy.leave) == (whole, alone)
    assert frozen.policy.seconds == {Phase.PREPARE: 1800, Phase.DEPLOY: 3600}
    assert (frozen.scaled(0.5).policy.teardown, frozen.length) == (whole / 2, 5400)
    assert PolicyInputs.from_json(frozen.to_json()) == frozen


@every_row(
    {
        "a misspelt key": {"wavs": []},
        "lateness is no verdict": {"late": {"on_late": "fail"}},
        "an unknown class of hold": {"holds": [{**QUIET, "class": "none"}]},
        "a wave without a size": {"waves": [{"name": "c"}]},
        "two gates in one": {"waves": [{"name": "c", "nodes": 1, "gates": [{"soak": 1, "approval": True}]}]},
        "a budget without a number": {"budgets": [{"name": "b"}]},
        "no such time": {"windows": {"open": [{**NIGHT, "start": "24:00"}]}},
    },
)
def test_the_schema_refuses(policy: dict[str, Any]) -> None:
    assert schema_faults(policy)


@every_row(
    {
        "both": ({"prepare": 50, "deploy": 70}, {Phase.PREPARE: {"": 50}, Phase.DEPLOY: {"": 70}}),
    },
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


BOTH = {
    "waves": [{"name": "c", "nodes": 1}],
    "budgets": [{"name": "r", "max_unavailable": 1}],
    "windows": {"open": [NIGHT]},
}


@every_row(
    {
        "not named, and usual": ({}, "redeploy_server", True, True),
        "not named, and not usual": ({}, "update_software", False, False),
        "named": ({"actions": ["update_software"]}, "update_software", False, True),
        "another is named": ({"actions": ["update_software"]}, "redeploy_server", True, False),
        "none is named": ({"actions": []}, "deploy_site", True, False),
    },
)
def test_a_policy_binds_the_actions_that_it_names(
    data: dict[str, Any], action: str, usually: bool, bound: bool
) -> None:
    assert schema_faults(data) == []
    assert PolicyInputs(data).binds(action, usually=usually) is bound


def test_an_action_that_a_policy_cannot_bind_is_a_fault() -> None:
    assert schema_faults({"actions": ["relabel_nodes"]}) == [f"{PREFIX}actions/0"]


def test_force_passes_budgets_and_windows_and_no_wave() -> None:
    whole = PolicyInputs(BOTH, seconds={"prepare": 60, "deploy": 90})
    forced = PolicyInputs.from_json(replace(whole, passed=True).to_json())

    assert (bool(whole.policy.budgets), bool(whole.policy.windows), whole.can_be_passed) == (True, True, True)
    assert (forced.policy.budgets, forced.policy.windows, forced.of_servers) == ((), None, None)
    assert forced.policy.waves == whole.policy.waves
    assert (forced.paces, forced.can_be_passed) == (True, False)
    assert "passed" not in whole.to_json()


def test_of_a_policy_servers_have_budgets_and_windows_into_which_each_must_fit() -> None:
    servers = PolicyInputs(on_servers({**BOTH, "late": {}}, ON_SERVERS), seconds={"prepare": 60, "deploy": 90})

    assert sorted(servers.data) == ["budgets", "windows"]
    assert servers.policy.windows is not None
    assert servers.policy.windows.unit is Unit.SERVER
    assert servers.of_servers == ServerWindows([NIGHT], 150.0)
    assert "windows" not in whole_without(Rule.WINDOWS)


def whole_without(rule: Rule) -> Mapping[str, Any]:
    return PolicyInputs(BOTH).only(EVERY_RULE - {rule}).data
