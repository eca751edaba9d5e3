"""The deployment strategy: groups of nodes, their dependencies and success criteria (seed 000)."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from heapq import nsmallest
from typing import Any, NewType

from msgspec import Struct, field

from shipyard_api.domain.documents.paths import pointer
from shipyard_api.domain.findings import Finding, error, hidden_character, info, warning
from shipyard_api.domain.graphs import find_cycles
from shipyard_api.domain.json_types import member
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import Label, Selector

GroupName = NewType("GroupName", str)
"""Name of a deployment group, unique within its strategy."""

DEFAULT_STRATEGY_NAME = "deployment-strategy"
SCHEMA = "shipyard/DeploymentStrategy/v1"

# A suggestion costs a comparison with every group. Only the first few unknown names get one, so the check stays linear.
_SUGGESTIONS = 10
_SUGGESTED_FROM = 2_000
_NAME_LIMIT = 128

# How many shared nodes the finding names.
_SHARED_SHOWN = 10


class DeploymentGroup(Struct, frozen=True):
    """One entry of the strategy. ``accept``: ids of the tasks that a deployed node must pass before it counts."""

    name: GroupName
    critical: bool
    depends_on: tuple[GroupName, ...] = ()
    selectors: tuple[Selector, ...] = ()
    success_criteria: SuccessCriteria = field(default_factory=SuccessCriteria)
    accept: tuple[str, ...] = ()


class Strategy(Struct, frozen=True):
    """Groups in the order of the document; names are unique, every ``depends_on`` exists and there is no cycle."""

    groups: tuple[DeploymentGroup, ...]


ALL_AT_ONCE = Strategy(
    (DeploymentGroup(GroupName("default"), True, success_criteria=SuccessCriteria(percent_successful_nodes=100)),)
)
"""The strategy of a site without one: a single critical group of all nodes, in which every node must succeed."""


def parse_strategy(data: Mapping[str, Any]) -> Strategy:
    """Return the strategy in the data of a document that passed its schema and ``check_groups``."""
    return Strategy(tuple(_group(entry) for entry in data["groups"]))


def check_groups(data: object) -> tuple[Finding, ...]:
    """Return all findings that the JSON Schema of the strategy cannot express.

    Unknown ``depends_on``, groups that depend on themselves or on each other (with the path), duplicate names, and
    unknown keys. Malformed entries are skipped: the schema reports them.
    """
    entries = _well_formed(data)
    first: dict[str, int] = {}
    findings: list[Finding] = []
    for index, entry in entries:
        name = entry["name"]
        if name in first:
            findings.append(
                error(
                    "DuplicateDeploymentGroup",
                    f"Two deployment groups are named '{name}' (groups {first[name]} and {index}); names are unique.",
                    path=f"/groups/{index}/name",
                )
            )
        else:
            first[name] = index
        if code := hidden_character(name):
            message = f"The name {name!a} of a deployment group has the character {code}, which is not shown."
            findings.append(error("HiddenCharacter", f"{message} Write it without.", path=f"/groups/{index}/name"))
        findings.extend(_misspelt(entry, index))
    depends_on: dict[str, list[str]] = {name: [] for name in first}
    unknown = 0
    for index, entry in entries:
        for position, parent in _parents(entry):
            path = f"/groups/{index}/depends_on/{position}"
            if parent == entry["name"]:
                findings.append(_cycle_finding((parent, parent), path))
            elif parent not in first:
                candidates = first if unknown < _SUGGESTIONS and len(first) <= _SUGGESTED_FROM else ()
                findings.append(_unknown_parent(entry["name"], parent, candidates, path))
                unknown += 1
            else:
                depends_on[entry["name"]].append(parent)
    findings.extend(_cycle_finding(cycle, f"/groups/{first[cycle[0]]}/depends_on") for cycle in find_cycles(depends_on))
    return tuple(findings)


def check_members(strategy: Strategy, members: Mapping[GroupName, frozenset[NodeName]]) -> tuple[Finding, ...]:
    """Return findings about the nodes that the groups select. None of them is an error."""
    findings: list[Finding] = []
    if not strategy.groups:
        findings.append(
            warning(
                "DeploymentStrategyEmpty",
                "The deployment strategy has no groups: a site action succeeds without deploying anything.",
                path="/groups",
            )
        )
    seen: set[NodeName] = set()
    shared: set[NodeName] = set()
    for index, group in enumerate(strategy.groups):
        selected = members[group.name]
        minimum = group.success_criteria.minimum_successful_nodes
        if not selected:
            findings.append(
                warning(
                    "DeploymentGroupEmpty",
                    f"Deployment group '{group.name}' selects no node.",
                    path=f"/groups/{index}/selectors",
                )
            )
        if minimum is not None and minimum > len(selected):
            findings.append(
                warning(
                    "DeploymentGroupMinimumUnreachable",
                    f"Deployment group '{group.name}' needs {minimum} successful nodes but selects only "
                    f"{len(selected)}: it will fail.",
                    path=f"/groups/{index}/success_criteria/minimum_successful_nodes",
                )
            )
        shared |= selected & seen
        seen |= selected
    if shared:
        named = nsmallest(_SHARED_SHOWN, shared)
        holders = {node: [group.name for group in strategy.groups if node in members[group.name]] for node in named}
        findings.append(_shared_nodes(len(shared), holders))
    return tuple(findings)


def _group(entry: Mapping[str, Any]) -> DeploymentGroup:
    return DeploymentGroup(
        name=GroupName(entry["name"]),
        critical=entry["critical"],
        depends_on=tuple(dict.fromkeys(GroupName(parent) for parent in entry["depends_on"])),
        selectors=tuple(parse_selector(selector) for selector in entry["selectors"]),
        success_criteria=_criteria(entry.get("success_criteria") or {}),
        accept=tuple(entry.get("accept", ())),
    )


def _criteria(entry: Mapping[str, float]) -> SuccessCriteria:
    """Return the thresholds as integers. JSON Schema accepts 75.0 as an integer, too."""
    return SuccessCriteria(**{criterion: int(threshold) for criterion, threshold in entry.items()})


def parse_selector(entry: Mapping[str, Any]) -> Selector:
    """Return a selector of a document that passed its schema."""
    return Selector(
        node_names=frozenset(NodeName(name) for name in entry.get("node_names") or ()),
        node_tags=frozenset(entry.get("node_tags") or ()),
        node_labels=frozenset(_label(label) for label in entry.get("node_labels") or ()),
        rack_names=frozenset(entry.get("rack_names") or ()),
    )


def _label(written: str | Mapping[str, str]) -> Label:
    """Return a label from either form: the text ``key: value`` (split at the first colon) or a one-key mapping."""
    if isinstance(written, str):
        key, _, value = written.partition(":")
    else:
        ((key, value),) = written.items()
    return key.strip(), value.strip()


def _well_formed(data: object) -> list[tuple[int, Mapping[str, Any]]]:
    groups = member(data, "groups")
    if not isinstance(groups, list):
        return []
    return [
        (index, entry)
        for index, entry in enumerate(groups)
        if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
    ]


def _parents(entry: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return the names in ``depends_on``, each with its position in the list."""
    parents = entry.get("depends_on")
    if not isinstance(parents, list):
        return []
    return [(position, parent) for position, parent in enumerate(parents) if isinstance(parent, str)]


_GROUP_KEYS = ("name", "critical", "depends_on", "selectors", "success_criteria", "accept")


def _misspelt(entry: Mapping[str, Any], index: int) -> Iterable[Finding]:
    for key in entry:
        if key not in _GROUP_KEYS:
            close = get_close_matches(str(key), _GROUP_KEYS, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            yield warning(
                "UnknownDeploymentGroupKey",
                f"Deployment group '{entry['name']}' has the key '{key}', which means nothing here.{hint}",
                path=pointer(["groups", index, str(key)]),
            )


def _unknown_parent(name: str, parent: str, candidates: Iterable[str], path: str) -> Finding:
    close = get_close_matches(parent, candidates, n=1) if len(parent) <= _NAME_LIMIT else []
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return error(
        "UnknownDeploymentGroup",
        f"Deployment group '{name}' depends on '{parent}', which is not a group of this strategy.{hint}",
        path=path,
    )


def _cycle_finding(cycle: tuple[str, ...], path: str) -> Finding:
    return error(
        "DeploymentGroupCycleError",
        "The deployment groups specified in the Deployment Strategy have groups that form a cycle.",
        path=path,
        diagnostic="The following are involved in a circular dependency: " + " -> ".join(cycle),
    )


def _shared_nodes(count: int, holders: Mapping[NodeName, Sequence[GroupName]]) -> Finding:
    """Return one finding about all shared nodes. ``holders``: the first few of them with their groups."""
    examples = "; ".join(f"{node} ({', '.join(groups[:5])})" for node, groups in holders.items())
    omitted = f" and {count - len(holders)} more" if count > len(holders) else ""
    return info(
        "NodesInSeveralDeploymentGroups",
        f"{count} node(s) are in several deployment groups: {examples}{omitted}. Each is sent once, by the first of "
        "its groups that runs, and counts for all of them.",
        path="/groups",
    )
