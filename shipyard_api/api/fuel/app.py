"""The route table of the dialect; what a resource may be asked, and by whom, it says itself."""

from dataclasses import dataclass

from shipyard_api.api.fuel import error_answers
from shipyard_api.api.fuel.discovery import Tokens, Version
from shipyard_api.api.fuel.graphs import DeploymentTasks, GraphInDot, PartOfTasks
from shipyard_api.api.fuel.labels import Labels, OneLabel
from shipyard_api.api.fuel.node_facts import DeploymentDefaults
from shipyard_api.api.fuel.nodes import Assignment, Nodes, NodeTags, OneNode, TagCheck
from shipyard_api.api.fuel.owners import Attributes, Clusters, OneCluster, OneRelease, Releases
from shipyard_api.api.fuel.runs import Deploy, History, Transaction, Transactions
from shipyard_api.api.fuel.unserved import Graphs
from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect
from shipyard_api.domain.task_graph.layers import OwnerKind
from shipyard_api.domain.task_graph.tasks import Domain
from shipyard_api.ports.identity import Identities
from shipyard_api.usecases.software.build import SoftwareUseCases

PREFIXES = ("/api/v1", "/keystone/v2.0")
"""Where the dialect is mounted. A path below ``/api/v1.0`` begins with neither."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The largest bodies in bytes: of a task graph, and of anything else."""

    graph: int
    other: int


def routes(own: SoftwareUseCases, tokens: Identities | None, sizes: Sizes) -> dict[str, Guarded]:
    """Return every address with its resource. ``tokens``: None if requests need no token."""
    graphs, labels, nodes, runs = own.graphs, own.labels, own.nodes, own.runs
    releases, clusters = "/api/v1/releases", "/api/v1/clusters"
    cluster = f"{clusters}/{{owner_id}}"
    found: dict[str, Guarded] = {
        "/api/v1/version": Version(auth_required=tokens is not None),
        "/keystone/v2.0/tokens": Tokens(tokens),
        releases: Releases(graphs, sizes.other),
        f"{releases}/{{owner_id}}": OneRelease(graphs, sizes.other),
        clusters: Clusters(graphs),
        cluster: OneCluster(graphs, sizes.other),
    }
    for kind in OwnerKind:
        base = f"/api/v1/{kind.value}/{{owner_id}}"
        found[f"{base}/deployment_tasks"] = DeploymentTasks(graphs, kind, sizes.graph)
        found[f"{base}/deployment_graphs"] = found[f"{base}/deployment_graphs/{{graph_type}}"] = Graphs()
        for domain in Domain:
            found[f"{base}/{domain.value}"] = Labels(labels, kind, domain, sizes.other)
            found[f"{base}/{domain.value}/{{name}}"] = OneLabel(labels, kind, domain, sizes.other)
    return found | {
        f"{cluster}/deployment_tasks/{{part}}": PartOfTasks(graphs),
        f"{cluster}/deploy_tasks": Deploy(runs, sizes.other, chosen=True),
        f"{cluster}/deploy": Deploy(runs, sizes.other, chosen=False),
        "/api/v1/transactions": Transactions(runs),
        "/api/v1/transactions/{number}": Transaction(runs),
        "/api/v1/transactions/{number}/deployment_history": History(runs),
        f"{cluster}/orchestrator/deployment/defaults": DeploymentDefaults(own.node_facts),
        f"{cluster}/deploy_tasks/graph.gv": GraphInDot(graphs),
        f"{cluster}/attributes": Attributes(graphs, sizes.other),
        f"{cluster}/assignment": Assignment(nodes, sizes.other, assigns=True),
        f"{cluster}/unassignment": Assignment(nodes, sizes.other, assigns=False),
        f"{cluster}/tag_check": TagCheck(nodes),
        "/api/v1/graphs": Graphs(),
        "/api/v1/graphs/execute": Graphs(),
        "/api/v1/nodes": Nodes(nodes),
        "/api/v1/nodes/{node}": OneNode(nodes),
        "/api/v1/nodes/{node}/tags": NodeTags(nodes, sizes.other),
    }


def dialect(own: SoftwareUseCases, tokens: Identities | None, sizes: Sizes) -> Dialect:
    """Return the dialect: its routes and its form of errors. Arguments as of ``routes``."""
    return Dialect(routes(own, tokens, sizes), error_answers.install, ignores_trailing_slash=True)
