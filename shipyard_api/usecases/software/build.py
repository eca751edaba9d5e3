"""The use cases of the software stage, built together."""

from collections.abc import Mapping

from msgspec import Struct

from shipyard_api.ports.assignment_plugin import AssignmentPlugin
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.parts import SiteParts
from shipyard_api.usecases.software.graphs import ManageGraphs
from shipyard_api.usecases.software.labels import ManageLabels
from shipyard_api.usecases.software.node_facts import ShowNodeFacts
from shipyard_api.usecases.software.nodes import SoftwareNodes
from shipyard_api.usecases.software.results import ReadTaskResults
from shipyard_api.usecases.software.runs import RunTasks


class SoftwareUseCases(Struct, frozen=True):
    """What callers do with task graphs, roles and tags, nodes of a cluster, and runs of tasks."""

    graphs: ManageGraphs
    labels: ManageLabels
    nodes: SoftwareNodes
    node_facts: ShowNodeFacts
    runs: RunTasks
    results: ReadTaskResults


def build(parts: SiteParts, create: CreateAction, assignments: Mapping[str, AssignmentPlugin]) -> SoftwareUseCases:
    """Return the use cases. ``assignments``: plug-ins, by name."""
    store = parts.store
    nodes = SoftwareNodes(store, parts.designs, parts.rendered, assignments)
    return SoftwareUseCases(
        graphs=ManageGraphs(store, parts.schemas),
        labels=ManageLabels(store),
        nodes=nodes,
        node_facts=ShowNodeFacts(store, nodes),
        runs=RunTasks(store, nodes, create),
        results=ReadTaskResults(store, parts.access.tasks if parts.access else None),
    )
