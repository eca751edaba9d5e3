"""node_operation: one operation of a teardown on one node, for a caller who waits (seed 004; product, section 6)."""

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import Parameter
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    """Return the step of the operation; its id is the operation's word."""
    operation, node = inputs.of_operation
    phase = PhaseOfTeardown(operation.value, operation.operations)
    return (parts.teardown.step(StepId(operation.value), (node,), (phase,), inputs),)


_NODE = Parameter("targets", ("node",), lambda given, _: (NodeName(str(given.get("node"))),))
NODE_OPERATION = Action(
    name=ActionName("node_operation"),
    work={NodeWork.TEARDOWN},
    steps=_steps,
    parameters=(_NODE,),
    listed=False,
    exclusive=False,
    limited=True,
    rules={Rule.WINDOWS},
)
