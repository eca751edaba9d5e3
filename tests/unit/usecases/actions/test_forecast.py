"""When a forecast says that the past does not tell how long an action still waits."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import PhaseAssumption
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.strategy.strategy import DeploymentGroup, GroupName, Strategy
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.usecases.actions import forecast as forecasts
from shipyard_api.usecases.actions.forecast import (
    ForecastAction,
    Question,
    _held,
    _Known,
    _not_known,
    _progress,
    _progressed,
    _Start,
)
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
G, N1 = GroupName("g"), NodeName("n1")
# Two polls of a preparation take 60 s, two of a deployment 20 s. The longest of either took 100 s.
CONFIGURATION = DeploymentConfiguration(prepare_nodes=PhaseLimits(30, 1800), deploy_nodes=PhaseLimits(10, 3600))
USUAL = PhaseAssumption(0.0, (50.0, 100.0))
GATE: Any = SimpleNamespace(outlook="It passes when a person approves it")


def phase(name: str, seconds: float, *, began: bool = False, ended: bool = False) -> PhaseRecord:
    """A phase that was submitted some seconds ago."""
    at = NOW - timedelta(seconds=seconds)
    return PhaseRecord("g", name, 0, "running", "job", ["n1"], "", at, at if began else None, NOW if ended else None)


def group(status: str, *phases: PhaseRecord) -> GroupRecord:
    return GroupRecord(0, "g", False, [], status, None, "", {}, phases)


DEPLOYING = group("deploying", phase("deploy", 50, began=True))
PEER = "waits for Drydock: job 7"
LONG = WaitingFor("Drydock", "job 7", NOW)


@every_row(
    {
        "nothing has begun": ([], {}, ""),
        "a phase at work": ([DEPLOYING], {}, ""),
        "queued for two polls of a preparation": ([group("preparing", phase("prepare", 60))], {}, ""),
        "for longer": ([group("preparing", phase("prepare", 61))], {}, PEER),
        "queued for two polls of a deployment": ([group("deploying", phase("deploy", 20))], {}, ""),
        "deployment for longer": ([group("deploying", phase("deploy", 21))], {}, PEER),
        "one that has ended": ([group("deployed", phase("prepare", 900, ended=True))], {}, ""),
        "one of two": ([DEPLOYING, group("preparing", phase("prepare", 61))], {}, PEER),
        "longer than ever": ([DEPLOYING], {"passed": 1e4}, PEER),
        "all groups are over": ([group("success"), group("failed")], {}, PEER),
        "one of two groups is over": ([group("success"), DEPLOYING], {}, ""),
        "paused": ([DEPLOYING], {"state": RunState.PAUSED}, PEER),
        "a gate": ([DEPLOYING], {"gates": [GATE]}, f"{PEER}. It passes when a person approves it"),
        "no worker": ([group("success")], {"waiting": None}, "waits for a worker"),
    }
)
def test_what_is_not_known(groups: list[GroupRecord], more: dict[str, Any], expected: str) -> None:
    state, waiting = more.get("state", RunState.RUNNING), more.get("waiting", LONG)
    record: Any = SimpleNamespace(state=state, waiting_for=waiting)
    inputs: Any = SimpleNamespace(configuration=CONFIGURATION)
    running = {Move(G, Phase.DEPLOY, (N1,), 0): more.get("passed", 50.0)}
    known = _Known(record, inputs, 0.0, Progress(), groups, [], {})
    assumed = dict.fromkeys(Phase, USUAL)
    assert _not_known(known, Progress(running=running), assumed, NOW, more.get("gates", ())) == expected


def a_node(name: str, *groups: str, done: bool = False, reason: Reason | None = None) -> NodeRecord:
    status = NodeStatus.SUCCESS if done else NodeStatus.NOT_STARTED
    return NodeRecord(name, status, reason and reason.value, "", None, groups, NOW)


def test_each_group_holds_the_nodes_that_name_it() -> None:
    strategy = Strategy(tuple(DeploymentGroup(GroupName(name), True) for name in "abc"))
    held = _held(strategy, [a_node("n1", "a"), a_node("n2", "a", "b")])
    assert held == {"a": {"n1", "n2"}, "b": {"n2"}, "c": frozenset()}


def test_progress_takes_nodes_that_were_never_begun_as_lost_and_counts_how_long_open_phases_run() -> None:
    early = PhaseRecord("g", "deploy", 2, "running", "j", ["n1", "n2"], "", NOW + timedelta(seconds=5), None, None)
    groups = [
        group("preparing", phase("prepare", 61, ended=True), phase("deploy", 50), early),
        GroupRecord(1, "h", True, [], "failed", "prepare", "", {}, ()),
    ]
    nodes = [a_node("n1", reason=Reason.QUEUE_TIMEOUT), a_node("n2", reason=Reason.TIMEOUT), a_node("n3", done=True)]
    statuses = NodeStatus.FAILURE, NodeStatus.NOT_STARTED, NodeStatus.SUCCESS
    assert _progress(groups, nodes, NOW) == Progress(
        nodes=dict(zip(map(NodeName, ("n1", "n2", "n3")), statuses, strict=True)),
        groups={G: GroupStatus.PREPARING, GroupName("h"): GroupStatus.FAILED},
        reasons={GroupName("h"): Reason.PREPARE},
        running={Move(G, Phase.DEPLOY, (N1,), 0): 50.0, Move(G, Phase.DEPLOY, (N1, NodeName("n2")), 2): 0.0},
    )


def test_progress_has_what_the_policy_has_made_of_the_rollout() -> None:
    inputs: Any = None
    rollout: Any = SimpleNamespace(spared={"n3", "n2"}, withheld={N1: "a budget"})
    start = _Start(inputs, {}, NOW, 0.0, Progress(nodes={N1: NodeStatus.SUCCESS}))
    known = replace(start.progress, uncounted=frozenset({N1}), at=NOW)
    paced = replace(known, spared=[NodeName("n2"), NodeName("n3")], withheld=rollout.withheld)
    assert _progressed(start, known.uncounted) == known
    assert _progressed(replace(start, rollout=rollout), known.uncounted) == paced


@every_row({"at the limit": (3, None), "just above it": (2, {"members": 3, "most": 2})})
def test_a_forecast_of_too_many_memberships_is_refused(limit: int, expected: dict[str, int] | None) -> None:
    """One that is not refused asks the store."""
    store: Any = SimpleNamespace(read=Mock(side_effect=LookupError))
    members = {G: frozenset({N1, NodeName("n2")}), GroupName("h"): frozenset({N1})}
    strategy = Strategy(tuple(DeploymentGroup(name, True) for name in members))
    forecast: Any = ForecastAction(store, *[None] * 5)  # type: ignore[arg-type]
    start: Any = _Start(None, members, NOW, 0.0)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecasts, "_MEMBERSHIPS", limit)
        with pytest.raises((LookupError, ShipyardError)) as raised:
            forecast._predict(start, strategy, Question())
    assert getattr(raised.value, "data", None) == expected
