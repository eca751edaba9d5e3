"""node_operation: one operation of a teardown on one node, for a caller who waits (seed 004; product, section 6)."""

from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown
from shipyard_api.actions.teardown_parts import TeardownParts
from shipyard_api.domain.actions import ActionName, StepId
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import NodeName
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json


def definition(teardown: TeardownParts) -> Definition:
    """Return the step of the operation; its id is the operation's word."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        operation = NodeOperation(inputs["operation"])
        phase = PhaseOfTeardown(operation.value, operation.operations)
        return (teardown.step(StepId(operation.value), (NodeName(inputs["node"]),), (phase,), inputs),)

    return Definition(ActionName.NODE_OPERATION, steps)
