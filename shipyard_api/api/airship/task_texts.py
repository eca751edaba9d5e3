"""The rows of the table of errors about tasks on nodes, and about runs of them."""

from collections.abc import Mapping

from shipyard_api.api.airship.text_rows import Row, Text, conflict, named, not_found, said
from shipyard_api.domain.errors import ShipyardError, SiteActionRunning
from shipyard_api.domain.task_graph import result_errors


def site_is_busy(failed: SiteActionRunning) -> Text:
    """Return why an action is refused beside another one; runs of tasks exclude each other on shared nodes only."""
    more = "; only one site action can run at a time. Wait until it has ended, then ask again."
    if failed.nodes:
        more = f" on {named(failed.nodes)}. Wait until it has ended, or leave these nodes out."
    return Text("Another site action is running", f"{failed.name} {failed.action} is running{more}")


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
