"""The rows of the table of errors about tasks on nodes."""

from collections.abc import Mapping

from shipyard_api.api.airship.text_rows import Row, conflict, not_found, said
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.domain.task_graph import result_errors

ROWS: Mapping[type[ShipyardError], Row] = {
    result_errors.TaskResultNotFound: not_found(
        "Task not found",
        lambda failed: f"Task {failed.task} has not begun on node {failed.node} in action {failed.action}",
    ),
    result_errors.OutputNotKept: not_found(
        "Output not kept",
        lambda failed: (
            f"Node {failed.node} no longer has the output of task {failed.task} of action {failed.action}. "
            "The end of it is in the list of the action's tasks."
        ),
    ),
    result_errors.NodesOutOfReach: conflict(
        said("Nodes out of reach", "Shipyard reads outputs over SSH, which is not configured: set [ssh] key_file.")
    ),
}
