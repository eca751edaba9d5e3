"""The nodes that an action was created for, whatever it has done yet."""

from collections.abc import Sequence

from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.errors import InvalidParameters, InvalidTargets
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import parse_parameters


def targets(name: ActionName, parameters: JsonObject) -> Sequence[NodeName]:
    """Return the targets in the stored parameters of an action; none for one on the whole site."""
    if name == ActionName("node_operation"):
        return [NodeName(str(parameters.get("node")))]
    try:
        return parse_parameters(name, parameters)[0].targets
    except (InvalidParameters, InvalidTargets):
        return ()  # of another release
