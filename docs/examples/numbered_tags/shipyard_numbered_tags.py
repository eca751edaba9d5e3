"""Numbers the nodes of the tag mysql: the first gets mysql:1, the next mysql:2; a free number is given again."""

from collections.abc import Sequence
from itertools import count

from shipyard_api.domain.task_graph.roles import ClusterNode
from shipyard_api.ports.assignment_plugin import AssignmentPlugin

TAG = "mysql"


def numbered(node: ClusterNode, others: Sequence[ClusterNode]) -> list[str]:
    """Return the instance of the tag for a node that has the tag and no instance of it."""
    if TAG not in node.tags or any(tag.startswith(f"{TAG}:") for tag in node.tags):
        return []
    taken = {tag for other in others for tag in other.tags}
    return [next(tag for number in count(1) if (tag := f"{TAG}:{number}") not in taken)]


NUMBERED = AssignmentPlugin(numbered)
