"""The route table of the dialect; each resource declares its methods and rights."""

from shipyard_api.api.fuel import error_answers
from shipyard_api.api.fuel.discovery import Tokens, Version
from shipyard_api.api.fuel.graphs import DeploymentTasks, GraphInDot, PartOfTasks
from shipyard_api.api.fuel.labels import Labels, OneLabel
from shipyard_api.api.fuel.nodes import Assignment, DeploymentDefaults, Nodes, NodeTags, OneNode, TagCheck
from shipyard_api.api.fuel.owners import Attributes, Clusters, OneCluster, OneRelease, Releases
from shipyard_api.api.fuel.runs import Deploy, History, Transaction, Transactions
from shipyard_api.api.fuel.unserved import Graphs
from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect, UseCases
from shipyard_api.api.http.problems import Problems
from shipyard_api.domain.task_graph.layers import OwnerKind
from shipyard_api.domain.task_graph.tasks import Domain


def routes(use_cases: UseCases) -> dict[str, Guarded]:
    """Return every address with its resource."""
    software, tokens, largest = use_cases.software, use_cases.tokens, use_cases.json_bytes
    graphs, labels, nodes, runs = software.graphs, software.labels, software.nodes, software.runs
    releases, clusters = "/api/v1/releases", "/api/v1/clusters"
    cluster = f"{clusters}/{{owner_id}}"
    resources: dict[str, Guarded] = {
        "/api/v1/version": Version(auth_required=tokens is not None),
        "/keystone/v2.0/tokens": Tokens(tokens),
        releases: Releases(graphs, largest),
        f"{releases}/{{owner_id}}": OneRelease(graphs, largest),
        clusters: Clusters(graphs),
        cluster: OneCluster(graphs, largest),
    }
    for kind in OwnerKind:
        base = f"/api/v1/{kind.value}/{{owner_id}}"
        resources[f"{base}/deployment_tasks"] = DeploymentTasks(graphs, kind, use_cases.design_bytes)
        resources[f"{base}/deployment_graphs"] = resources[f"{base}/deployment_graphs/{{graph_type}}"] = Graphs()
        for domain in Domain:
            resources[f"{base}/{domain.value}"] = Labels(labels, kind, domain, largest)
            resources[f"{base}/{domain.value}/{{name}}"] = OneLabel(labels, kind, domain, largest)
    return resources | {
        f"{cluster}/deployment_tasks/{{part}}": PartOfTasks(graphs),
        f"{cluster}/deploy_tasks": Deploy(runs, largest, chosen=True),
        f"{cluster}/deploy": Deploy(runs, largest, chosen=False),
        "/api/v1/transactions": Transactions(runs),
        "/api/v1/transactions/{number}": Transaction(runs),
        "/api/v1/transactions/{number}/deployment_history": History(runs),
        f"{cluster}/orchestrator/deployment/defaults": DeploymentDefaults(software.node_facts),
        f"{cluster}/deploy_tasks/graph.gv": GraphInDot(graphs),
        f"{cluster}/attributes": Attributes(graphs, largest),
        f"{cluster}/assignment": Assignment(nodes, largest, assigns=True),
        f"{cluster}/unassignment": Assignment(nodes, largest, assigns=False),
        f"{cluster}/tag_check": TagCheck(nodes),
        "/api/v1/graphs": Graphs(),
        "/api/v1/graphs/execute": Graphs(),
        "/api/v1/nodes": Nodes(nodes),
        "/api/v1/nodes/{node}": OneNode(nodes),
        "/api/v1/nodes/{node}/tags": NodeTags(nodes, largest),
    }


# A path below /api/v1.0 begins with neither prefix.
DIALECT = Dialect(
    routes,
    error_answers.install,
    middleware=[Problems(error_answers.problem)],
    prefixes=("/api/v1", "/keystone/v2.0"),
    ignores_trailing_slash=True,
)
