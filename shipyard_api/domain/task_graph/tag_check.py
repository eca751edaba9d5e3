"""The tag check before a deployment (seed 002, Orchestration and End user impact; contract, 6). It never blocks.

It also names what roles want and the task graph lacks (seed 001).
"""

from collections.abc import Iterable

from shipyard_api.domain.findings import Finding, info, warning
from shipyard_api.domain.task_graph.layers import Layer
from shipyard_api.domain.task_graph.roles import ClusterNode
from shipyard_api.domain.task_graph.tasks import Kind


def check_tags(layer: Layer, nodes: Iterable[ClusterNode]) -> tuple[Finding, ...]:
    """Return which predefined tags no node has: a warning about tags of roles in use, information about the others.

    A role in use that wants tasks which the graph lacks is a warning as well.

    ``layer``: the merged declarations of the cluster. Leaving nodes do not count.
    """
    staying = [node for node in nodes if not node.leaving]
    assigned = {tag for node in staying for tag in node.tags}
    in_use = {role for node in staying for role in node.roles}
    given = {tag for role, label in layer.roles.items() if role in in_use for tag in label.tags}
    missing = [name for name, tag in layer.tags.items() if tag.predefined and name not in assigned]
    wanted, others = [tag for tag in missing if tag in given], [tag for tag in missing if tag not in given]
    tasks = {task["id"] for task in layer.tasks if task.get("type") not in (Kind.GROUP.value, Kind.STAGE.value)}
    findings = []
    for role in layer.roles:
        lacking = [task for task in layer.roles[role].tasks if task not in tasks]
        if role in in_use and lacking:
            message = f"The role {role} wants tasks that the task graph does not have: {', '.join(lacking)}."
            findings.append(warning("UnknownTasksOfRole", message))
    if wanted:
        message = f"No node has these predefined tags of roles in use: {', '.join(wanted)}. Their tasks run nowhere."
        findings.append(warning("TagsWithoutNodes", message))
    if others:
        message = f"No node has these predefined tags of roles that no node has: {', '.join(others)}."
        findings.append(info("TagsWithoutNodes", message))
    return tuple(findings)
