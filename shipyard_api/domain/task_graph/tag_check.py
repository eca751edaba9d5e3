"""The tag check before a deployment (seed 002, Orchestration and End user impact; contract, 6). It never blocks."""

from collections.abc import Iterable

from shipyard_api.domain.findings import Finding, info, warning
from shipyard_api.domain.task_graph.layers import Layer
from shipyard_api.domain.task_graph.roles import ClusterNode


def check_tags(layer: Layer, nodes: Iterable[ClusterNode]) -> tuple[Finding, ...]:
    """Return which predefined tags no node has: a warning about tags of roles in use, information about the others.

    ``layer``: the merged declarations of the cluster. Leaving nodes do not count.
    """
    staying = [node for node in nodes if not node.leaving]
    assigned = {tag for node in staying for tag in node.tags}
    in_use = {role for node in staying for role in node.roles}
    given = {tag for role, label in layer.roles.items() if role in in_use for tag in label.tags}
    missing = [name for name, tag in layer.tags.items() if tag.predefined and name not in assigned]
    wanted, others = [tag for tag in missing if tag in given], [tag for tag in missing if tag not in given]
    findings = []
    if wanted:
        message = f"No node has these predefined tags of roles in use: {', '.join(wanted)}. Their tasks run nowhere."
        findings.append(warning("TagsWithoutNodes", message))
    if others:
        message = f"No node has these predefined tags of roles that no node has: {', '.join(others)}."
        findings.append(info("TagsWithoutNodes", message))
    return tuple(findings)
