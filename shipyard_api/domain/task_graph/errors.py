"""Why a request about releases, clusters, their roles, tags and tasks is refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import Conflict, Invalid, NotFound
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.task_graph.layers import Owner
from shipyard_api.domain.task_graph.tasks import Domain


@dataclass(eq=False)
class InvalidTaskGraph(Invalid):
    """Tasks break a rule, or make a graph that does."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class InvalidTaskQuery(Invalid):
    """The request names tasks that the graph does not have, or an end that does not depend on the start."""

    findings: Sequence[Finding]


@dataclass(eq=False)
class InvalidDeclaration(Invalid):
    """A release, a role or a tag is not what it must be; ``detail`` says why."""

    detail: str


@dataclass(eq=False)
class UnknownLabels(Invalid):
    """Roles or tags that the cluster does not have are to be assigned to a node."""

    domain: Domain
    names: Sequence[str]


@dataclass(eq=False)
class OwnerNotFound(NotFound):
    """There is no such release or cluster."""

    owner: Owner


@dataclass(eq=False)
class LabelNotFound(NotFound):
    """The release or cluster itself declares no such role or tag."""

    domain: Domain
    name: str
    owner: Owner


@dataclass(eq=False)
class NodesNotInSite(NotFound):
    """The committed design has no such nodes."""

    nodes: Sequence[str]


@dataclass(eq=False)
class RunNotFound(NotFound):
    """There is no run of tasks with this number."""

    number: int


@dataclass(eq=False)
class LabelExists(Conflict):
    """The release or cluster already declares this role or tag."""

    domain: Domain
    name: str
    owner: Owner


@dataclass(eq=False)
class LabelReadOnly(Conflict):
    """The tag is declared in the metadata of a release, which alone changes it."""

    name: str


@dataclass(eq=False)
class LabelInUse(Conflict):
    """Nodes have a role or tag that would no longer exist."""

    domain: Domain
    name: str
    nodes: Sequence[str]


@dataclass(eq=False)
class ReleaseExists(Conflict):
    """Another release has this name and version."""

    name: str
    version: str
