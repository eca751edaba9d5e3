"""From roles and tags to nodes, and the tag check (seed 002; contract: fuel-task-graph, 2)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shipyard_api.domain.findings import Finding, info, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.conditions import Facts
from shipyard_api.domain.task_graph.graph import MOST_MATCHING, TooMuchMatching
from shipyard_api.domain.task_graph.layers import Layer
from shipyard_api.domain.task_graph.patterns import compile_pattern, is_pattern
from shipyard_api.domain.task_graph.tasks import Domain, Kind, Selector

MASTER = NodeName("master")
"""The pseudo node of tasks with the role ``master``: where Shipyard itself runs. No node has this name."""


class ClusterNode(Struct, frozen=True):
    """A node of a cluster with the roles and tags that are assigned to it.

    ``ready``: it was deployed before. ``leaving``: its removal is requested.
    """

    name: NodeName
    roles: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    ready: bool = False
    leaving: bool = False

    def names(self, domain: Domain) -> tuple[str, ...]:
        """Return the roles or the tags."""
        return self.roles if domain is Domain.ROLES else self.tags


class Primaries(Struct, frozen=True):
    """The primary node of each role and tag that has one."""

    roles: Mapping[str, NodeName] = field(default_factory=dict)
    tags: Mapping[str, NodeName] = field(default_factory=dict)

    def of(self, domain: Domain) -> Mapping[str, NodeName]:
        """Return the primaries of the roles or of the tags."""
        return self.roles if domain is Domain.ROLES else self.tags


def choose_primaries(
    nodes: Sequence[ClusterNode], domain: Domain, names: Iterable[str], current: Mapping[str, NodeName]
) -> dict[str, NodeName]:
    """Return one primary for each of the names that some node carries.

    ``nodes``: all nodes of the cluster. ``names``: roles or tags with ``has_primary``. ``current``: the primaries so
    far. A primary stays while it carries the name and is not to be removed. Otherwise the first ready node follows,
    else the first node; a leaving node is never chosen.
    """
    chosen = {}
    for name in names:
        carriers = [node for node in nodes if name in node.names(domain) and not node.leaving]
        if carriers:
            staying = [node for node in carriers if node.name == current.get(name)]
            chosen[name] = next(iter(staying or [node for node in carriers if node.ready] or carriers)).name
    return chosen


def effective_names(node: ClusterNode, domain: Domain, primaries: Primaries) -> tuple[str, ...]:
    """Return the roles or tags under which a node is selected: ``primary-x`` replaces ``x`` on the primary of x."""
    marks = primaries.of(domain)
    return tuple(f"primary-{name}" if marks.get(name) == node.name else name for name in node.names(domain))


def tags_after_role_change(
    node: ClusterNode, roles: Sequence[str], tags_of: Mapping[str, Collection[str]], assigned: Collection[str]
) -> tuple[str, ...]:
    """Return the tags of a node once it has other roles (seed 002, Nailgun).

    ``tags_of``: the tags of each role. ``assigned``: tags that the user assigned to the node. Tags of new roles are
    added. Tags that only the removed roles give are removed with their instances, unless the user assigned them. A tag
    that the user removed does not come back while its role stays.
    """
    before = {tag for role in node.roles for tag in tags_of.get(role, ())}
    after = [tag for role in roles for tag in tags_of.get(role, ())]
    lost = before.difference(after)
    kept = [tag for tag in node.tags if tag in assigned or not lost & {tag, tag.partition(":")[0]}]
    return tuple(dict.fromkeys([*kept, *(tag for tag in after if tag not in before)]))


def facts_of(
    cluster: Iterable[ClusterNode],
    run: Collection[ClusterNode],
    *,
    status: str,
    models: Mapping[str, Mapping[str, Any]],
) -> Facts:
    """Return what conditions may ask for: about all nodes of the cluster, and about the nodes of this run."""
    return Facts(
        models,
        status,
        run_roles=frozenset(role for node in run for role in node.roles),
        cluster_roles=frozenset(role for node in cluster for role in node.roles),
        nodes_count=len(run),
    )


class NodeClass(Struct, frozen=True):
    """Nodes that every selector of a graph treats alike, in the order given; ``selected``: bits of the selectors."""

    nodes: tuple[NodeName, ...]
    selected: int


class Classes:
    """The nodes of a run by class, for a fixed set of selectors.

    Costs one look-up per role and tag of a node, and one match of each distinct name with each regular expression. A
    graph of 200 tasks has some ten classes, however many nodes there are: everything after this is independent of them.
    """

    def __init__(self, selectors: Iterable[Selector], nodes: Iterable[ClusterNode], primaries: Primaries) -> None:
        self._bits = {selector: number for number, selector in enumerate(dict.fromkeys(selectors))}
        self._masks: dict[tuple[Domain, str], int] = {}
        self._work = 0
        self._every = sum(1 << bit for selector, bit in self._bits.items() if selector.every)
        written: dict[tuple[Domain, str], int] = {}
        for selector, bit in self._bits.items():
            for name in selector.names:
                written[selector.domain, name] = written.get((selector.domain, name), 0) | 1 << bit
        self._patterns = [(*key, mask) for key, mask in written.items() if is_pattern(key[1])]
        # No node has the role of the pseudo node, whatever its roles are called.
        master = written.pop((Domain.ROLES, MASTER), 0)
        self._literal = {key: mask for key, mask in written.items() if not is_pattern(key[1])}
        by_mask: dict[int, list[NodeName]] = {}
        for node in nodes:
            mask = 0
            for domain in Domain:
                for name in effective_names(node, domain, primaries):
                    mask |= self._mask(domain, name)
            by_mask.setdefault(mask, []).append(node.name)
        self.classes = [NodeClass(tuple(names), mask) for mask, names in by_mask.items() if mask]
        if master:
            self.classes.append(NodeClass((MASTER,), master))

    def selects(self, selector: Selector, number: int) -> bool:
        """Return whether a selector takes the nodes of a class."""
        return bool(self.classes[number].selected >> self._bits[selector] & 1)

    def split(self, number: int, node: NodeName) -> int:
        """Give a node a class of its own, and return the number of that class."""
        known = self.classes[number]
        if len(known.nodes) == 1:
            return number
        rest = tuple(other for other in known.nodes if other != node)
        self.classes[number] = NodeClass(rest, known.selected)
        self.classes.append(NodeClass((node,), known.selected))
        return len(self.classes) - 1

    def _mask(self, domain: Domain, name: str) -> int:
        """Return the bits of the selectors that take a node with this role or tag."""
        known = self._masks.get((domain, name))
        if known is None:
            known = self._every | self._literal.get((domain, name), 0)
            for other, written, mask in self._patterns:
                if other is not domain:
                    continue
                matches, work = compile_pattern(written).match(name)
                self._work += work
                if self._work > MOST_MATCHING:
                    raise TooMuchMatching
                if matches:
                    known |= mask
            self._masks[domain, name] = known
        return known


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
