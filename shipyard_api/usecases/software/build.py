"""The use cases of the software stage, built together."""

from collections.abc import Mapping

from msgspec import Struct

from shipyard_api.ports.assignment_plugin import AssignmentPlugin
from shipyard_api.ports.documents import DesignStore
from shipyard_api.ports.remote_tasks import RemoteTasks
from shipyard_api.ports.schemas import Schemas
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
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


def build(
    *,
    store: Store,
    schemas: Schemas,
    designs: DesignStore,
    rendered: RenderedDesigns,
    create: CreateAction,
    remote: RemoteTasks | None,
    assignments: Mapping[str, AssignmentPlugin],
) -> SoftwareUseCases:
    """Return the use cases. ``remote``: None where no SSH is configured. ``assignments``: plug-ins, by name."""
    nodes = SoftwareNodes(store, designs, rendered, assignments)
    return SoftwareUseCases(
        graphs=ManageGraphs(store, schemas),
        labels=ManageLabels(store),
        nodes=nodes,
        node_facts=ShowNodeFacts(store, nodes),
        runs=RunTasks(store, nodes, create),
        results=ReadTaskResults(store, remote),
    )
