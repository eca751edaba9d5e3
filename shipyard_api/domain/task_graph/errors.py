"""The errors of requests about releases, clusters, their roles, tags and tasks, in the sentences of Fuel's API."""

from collections.abc import Sequence

from shipyard_api.domain.error_kinds import Conflict, ErrorKind, Invalid, NotFound, in_a_row
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.task_graph.tasks import Domain

SHOWN = 60
"""As many characters of a name are shown, and as many names of a list."""


def in_lines(findings: Sequence[Finding]) -> str:
    """Return all findings with their places, one a line."""
    # Findings of a schema begin with their place.
    return "\n".join(
        f"{finding.path}: {finding.message}"
        if finding.path and not finding.message.startswith(f"{finding.path}:")
        else finding.message
        for finding in findings
    )


def listed(names: Sequence[str]) -> str:
    """Return the first of the names."""
    return ", ".join(name[:SHOWN] for name in names[:SHOWN])


def _word(domain: Domain) -> str:
    return {Domain.ROLES: "Role", Domain.TAGS: "Tag"}[domain]


InvalidTaskGraph = ErrorKind(Invalid, "InvalidTaskGraph", "Invalid task graph", in_lines)
NothingToRun = ErrorKind(Conflict, "NothingToRun", "There is nothing to run", lambda why: why)
InvalidTaskQuery = ErrorKind(
    Invalid,
    "InvalidTaskQuery",
    "Invalid query of tasks",
    in_a_row,
)
InvalidDeclaration = ErrorKind(Invalid, "InvalidDeclaration", "Invalid declaration", lambda detail: detail)
UnknownLabels = ErrorKind(
    Invalid,
    "UnknownLabels",
    "Unknown roles or tags",
    lambda domain, names: f"{_word(domain)}s {listed(names)} do not exist in the cluster.",
)
OwnerNotFound = ErrorKind(
    NotFound,
    "OwnerNotFound",
    "Release or cluster not found",
    lambda owner: f"{owner.kind.word.capitalize()} not found",
)
LabelNotFound = ErrorKind(
    NotFound,
    "LabelNotFound",
    "Role or tag not found",
    lambda domain, name, owner: f"{_word(domain)} '{name[:SHOWN]}' is not found for the {owner}",
)
NodesNotInSite = ErrorKind(
    NotFound, "NodesNotInSite", "Nodes not found", lambda nodes: f"NodeCollection not found: {listed(nodes)}"
)
RunNotFound = ErrorKind(NotFound, "RunNotFound", "Run of tasks not found", lambda: "Transaction not found")
LabelExists = ErrorKind(
    Conflict,
    "LabelExists",
    "Role or tag exists",
    lambda domain, name, owner: f"{_word(domain)} with name '{name}' already exists for {owner}",
)
LabelReadOnly = ErrorKind(
    Conflict,
    "LabelReadOnly",
    "Read-only tag",
    lambda name: f"Read-only tag '{name}' cannot be changed or deleted: the metadata of its release declares it.",
)
LabelInUse = ErrorKind(
    Conflict,
    "LabelInUse",
    "Role or tag in use",
    lambda domain, name, nodes: f"{_word(domain)} '{name}' is assigned to nodes {listed(nodes)}",
)
AssignmentRefused = ErrorKind(
    Conflict,
    "AssignmentRefused",
    "Roles not assigned",
    lambda plugin, node, why: f"The plug-in {plugin} does not let node {node} have these roles: {why}",
)
ReleaseExists = ErrorKind(
    Conflict,
    "ReleaseExists",
    "Release exists",
    lambda name, version: f"Release with name '{name}' and version '{version}' already exists",
)
