"""The steps that the model runs: one that deploys nodes, and one that destroys each of them in a work item."""

from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.rollout_messages import Members, SelectMembers
from shipyard_api.actions.steps.teardown.destroy import Destroy
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown, TeardownNodes
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.workflow.step import AnyStep, Json
from tests.factories import group_entry
from tests.model.database import ACTION, STEP
from tests.model.states import START, Scope

POLL = 2
GROUP = GroupName("all")
_LIMITS = PhaseLimits(POLL, 1000)


def deploying(store: Any, provisioner: Any, scope: Scope) -> tuple[BaremetalNodes, Json]:
    """Return the step that prepares and deploys the nodes, and its state once it knows them."""
    step = BaremetalNodes(STEP, store, provisioner, None, give_up_after=60, pause=POLL)
    state, _ = begun(step, inputs_of(scope), frozenset(map(NodeName, scope.nodes)))
    return step, state


def begun(step: AnyStep, inputs: Json, nodes: frozenset[NodeName]) -> tuple[Json, tuple[Fact, ...]]:
    """Return the state of an action's step once it knows its nodes, and the facts about these."""
    began = step.begin(ActionInputs.from_json(inputs))
    known = step.fold(began, SelectMembers(began.inputs), Members({GROUP: nodes}), START)
    return known.state.to_json(), known.facts


def destroying(store: Any, provisioner: Any, scope: Scope) -> TeardownNodes:
    """Return the step that destroys each of the nodes in a work item."""

    def task(node: NodeName, operations: tuple[Operation, ...]) -> TeardownTask:
        return TeardownTask(node, ACTION, 1, operations, must_exist=True, destroy=_LIMITS, queue_limit=1000)

    kind = NodeTeardown(
        {Operation.DESTROY_NODE: Destroy(store, provisioner, None, provisioner.design_reference)},
        read_history=lambda _node: (False, True),
        read_limits=lambda _action: TeardownLimits(),
        design_faults=lambda _revision: (),
    )
    phase = PhaseOfTeardown("destroy", (Operation.DESTROY_NODE,))
    return TeardownNodes(STEP, tuple(map(NodeName, scope.nodes)), (phase,), task, kind)


def inputs_of(scope: Scope) -> Json:
    """Return the frozen inputs of an action."""
    mode = Mode(max_nodes_in_flight=1) if scope.window else SERIAL
    configuration = DeploymentConfiguration(
        strategy_name="", prepare_nodes=_LIMITS, deploy_nodes=_LIMITS, queue_limit=1000, join=False, mode=mode
    )
    window = {"zone": "UTC", "start": f"{START:%H:%M}", "minutes": scope.window / 60}
    policy = PolicyInputs({"windows": {"open": [window]}}, seconds={"prepare": 0.1, "deploy": 0.1})
    groups = {"groups": [group_entry(GROUP)]}
    site = SiteInputs(1, configuration, groups, policy=policy if scope.window else None)
    return site.to_json()
