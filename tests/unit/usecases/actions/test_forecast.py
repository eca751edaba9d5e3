"""When a forecast says that the past does not tell how long an action still waits."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.actions import RunState
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.assumptions import PhaseAssumption
from shipyard_api.domain.rollout.group_runs import Progress
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.waiting import WaitingFor
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.usecases.actions.forecast import _Known, _not_known
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
