"""What the API makes of a rollout policy before and while an action runs: commits, plans and forecasts."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import falcon
import sqlalchemy as sa

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.storage import tables
from tests.factories import group, group_entry, layering_policy, node_document, strategy, strategy_document
from tests.integration.api.test_plans import ended
from tests.integration.api.wire import JSON, Site, configuration, everything_said

DEPLOY = '{"name": "deploy_site"}'
DEFAULT = GroupName("default")
NODES = tuple(NodeName(name) for name in ("n1", "n2", "n3"))
ON_SERVERS = {
    "relabel_nodes": {"target_nodes": ["n1"]},
    "remove_server": {"target_nodes": ["n1"], "force": "true"},
    "redeploy_server": {"target_nodes": ["n1"], "target-revision": "committed", "force": "true"},
}
CANARY = {"name": "canary", "nodes": 1, "gates": [{"approval": True}]}


def design(**policy: Any) -> list[dict[str, Any]]:
    provisioner = configuration(physical_provisioner={"policy": policy})
    return [provisioner, *(node_document(name) for name in NODES), layering_policy()]


def window(day: date) -> dict[str, Any]:
    opened = {"zone": "UTC", "start": "00:00", "minutes": 1440, "dates": [day.isoformat()]}
    return {"open": [opened], "durations": {"prepare": 60, "deploy": 60}}


def test_plans_and_forecasts_say_what_the_policy_makes_of_a_group(site: Site) -> None:
    now = datetime.now(UTC)
    opens = datetime.combine(now.date() + timedelta(days=2), datetime.min.time(), UTC)
    site.commit(*design(waves=[CANARY], windows=window(opens.date())))

    plan = site.viewer.post("/plans", DEPLOY, JSON).json
    found = site.viewer.post("/forecasts", '{"name": "deploy_site", "runs": 100}', JSON).json

    canary, rest = plan["groups"][0]["waves"]
    assert canary == {"name": "canary", "nodes": ["n1"], "starts": f"{opens:%Y-%m-%d %H:%M:%S.%f}+00:00"}
    assert (rest["name"], rest["nodes"], rest["starts"] > canary["starts"]) == ("rest", ["n2", "n3"], True)
    assert (plan["totals"]["sent"], plan["left_alone"]) == (2, ["n1"])  # Drydock shows it as deployed
    assert found["seconds"]["p10"] > timedelta(days=1).total_seconds()


def test_a_plan_begins_a_group_beside_a_node_that_no_budget_counts(site: Site) -> None:
    policy = {"budgets": [{"name": "site", "max_unavailable": 1}]}
    mode = {"max_parallel_groups": 2, "policy": policy, "deployment_strategy": "deployment-strategy"}
    entries = [group_entry(name, selectors=[{"node_names": [name]}]) for name in NODES[:2]]
    site.commit(
        configuration(physical_provisioner=mode),
        *(node_document(name) for name in NODES[:2]),
        layering_policy(),
        strategy_document(*entries),
    )

    def begin_together() -> bool:
        first, second = site.viewer.post("/plans", DEPLOY, JSON).json["groups"]
        return bool(first["waves"][0]["starts"] == second["waves"][0]["starts"])

    counted = begin_together()
    held = site.admin.post("/nodes/n1/holds", '{"reason": "new disk", "class": "no_criteria"}', JSON)
    assert held.status == falcon.HTTP_201
    assert (counted, begin_together()) == (False, True)


def test_a_window_in_the_past_is_refused_at_commit_and_told_by_plans(site: Site) -> None:
    documents = design(windows=window(date(2020, 1, 1)))
    assert site.admin.load("design", *documents).status == falcon.HTTP_201

    refused = site.admin.commit()
    plan = site.viewer.post("/plans", '{"name": "deploy_site", "version": "buffer"}', JSON).json

    assert refused.status == falcon.HTTP_400
    assert "No maintenance window begins within a year" in everything_said(refused)
    assert [one["name"] for one in plan["findings"] if one["error"]] == ["PolicyWindowNeverComes"]


def test_windows_that_are_over_refuse_only_the_actions_that_ask_them(site: Site) -> None:
    site.admin.load("design", *design(windows=window(date(2020, 1, 1))))
    assert site.admin.commit(force="true").status == falcon.HTTP_200

    asked = {name: json.dumps({"name": name, "parameters": parameters}) for name, parameters in ON_SERVERS.items()}
    # Without the right to pass windows, force changes nothing.
    assert {site.admin.post("/plans", body, JSON).json["refused"] for body in asked.values()} == {None}
    assert site.viewer.post("/plans", asked.pop("relabel_nodes"), JSON).json["refused"] is None
    for name, parameters in (("deploy_site", {}), ("update_site", {}), ("service_server", {"template": "t"})):
        asked[name] = json.dumps({"name": name, "parameters": parameters})
    for name, body in asked.items():
        forced = name in ON_SERVERS
        answers = [
            site.viewer.post("/plans", body, JSON).json["refused"],
            *([] if forced else [site.admin.act(body).json]),
        ]
        assert {answer["reason"][:46] for answer in answers} == {"No maintenance window begins within a year: no"}


def test_windows_that_are_over_refuse_a_retry_as_a_new_action(site: Site, engine: sa.Engine) -> None:
    """A retry keeps the windows of its action, whatever was committed since."""
    day = datetime.now(UTC).date() + timedelta(days=2)
    site.commit(*design(windows=window(day)))
    action = site.create_action()
    ended(site, action, GroupChanged(DEFAULT, GroupStatus.PREPARING))
    with engine.begin() as connection:
        over = sa.func.replace(sa.cast(tables.actions.c.inputs, sa.Text), day.isoformat(), "2020-01-01")
        connection.execute(tables.actions.update().values(inputs=sa.cast(over, tables.actions.c.inputs.type)))

    plan = site.viewer.post("/plans", json.dumps({"retry": action}), JSON).json["refused"]
    refused = site.admin.post(f"/actions/{action}/control/retry")

    assert (refused.status, refused.json["reason"]) == (falcon.HTTP_409, plan["reason"])
    assert refused.json["reason"][:46] == "No maintenance window begins within a year: no"
    assert "create an action anew" in refused.json["reason"]


def test_a_hold_whose_windows_are_over_is_a_warning_of_the_commit_and_stops_nothing(site: Site) -> None:
    over = {"name": "power", "class": "no_deployment", "windows": window(date(2020, 1, 1))["open"]}
    site.admin.load("design", *design(holds=[over]))

    committed = site.admin.commit()

    assert committed.status == falcon.HTTP_200
    assert "No window of hold 'power' begins within a year" in everything_said(committed)
    assert site.admin.act(DEPLOY).status == falcon.HTTP_201


def memory(stored: JsonObject, policy: JsonObject) -> JsonObject:
    """Return the state of the step that has deployed the first node, and what the policy has made of it so far."""
    inputs = ActionInputs.from_json(stored).of_site
    members = {DEFAULT: frozenset(NODES)}
    rollout = Rollout(inputs.strategy, members, inputs.configuration.mode, pacing.of(inputs, members, policy))
    rollout.restore(nodes={NODES[0]: NodeStatus.SUCCESS}, groups={DEFAULT: GroupStatus.DEPLOYING})
    return RolloutState(inputs, rollout).to_json()


def test_a_running_action_is_foreseen_from_the_stored_state_of_its_policy(site: Site) -> None:
    site.commit(*design(waves=[CANARY]))
    action = ActionId(site.create_action())
    (default,) = strategy(group("default", critical=True)).groups
    facts = (
        MembersKnown(1, 3, ((default, frozenset(NODES)),)),
        GroupChanged(DEFAULT, GroupStatus.PREPARING),
        GroupChanged(DEFAULT, GroupStatus.DEPLOYING),
        NodesChanged(DEFAULT, Phase.PREPARE, NodeStatus.PREPARED, NODES[:1]),
        NodesChanged(DEFAULT, Phase.DEPLOY, NodeStatus.SUCCESS, NODES[:1]),
    )
    now = datetime.now(UTC)
    waited = {"ended": [["default", 0, now.isoformat()]]}
    refused = {**waited, "answers": [["default", 0, 0, False, now.isoformat(), "ann", "noisy"]]}
    found = []
    for policy, news in ((waited, facts), (refused, ())):
        with site.store.begin() as tx:
            claim = tx.turns.claim(action, now=now + timedelta(seconds=1), worker="w")
            assert claim is not None
            tx.turns.record(claim, memory(tx.actions.inputs(action), policy), news, now=now, wake_at=None)
        found.append(site.viewer.get(f"/actions/{action}/forecast").json)

    assert (found[0]["success"], found[1]["success"]["probability"] > 0.5) == (None, False)
    assert found[0]["not_known"].endswith("approval has no time limit")
    assert found[1]["nodes_lost"] == {"mean": 2.0}


def test_an_action_freezes_how_long_phases_took_on_this_site(site: Site, engine: sa.Engine) -> None:
    opened = {"zone": "UTC", "start": "00:00", "minutes": 1440}
    site.commit(*design(windows={"open": [opened]}))
    (default,) = strategy(group("default", critical=True)).groups
    known = MembersKnown(1, 3, ((default, frozenset(NODES)),))
    over = PhaseEnded(DEFAULT, Phase.DEPLOY, PhaseStatus.SUCCESS)
    ended(site, site.create_action(), known, PhaseStarted(DEFAULT, Phase.DEPLOY, NODES, "j"), over)
    with engine.begin() as connection:
        own = tables.group_phases
        connection.execute(own.update().values(submitted_at=own.c.ended_at - timedelta(seconds=90)))

    action = ActionId(site.create_action())

    frozen = site.store.read(lambda tx: tx.actions.inputs(action))["policy"]["seconds"]
    assert (frozen["prepare"] > 90, frozen["deploy"]) == (True, 90.0)
