"""Show what each node would run: the records that seed 001 adds to the facts of nodes (contract, 3.3 and 5.2)."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.findings import errors
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.errors import InvalidTaskQuery
from shipyard_api.domain.task_graph.plan import PRIORITY_STEP
from shipyard_api.domain.task_graph.site_plan import SitePlan, SiteRun, plan_site
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.software.nodes import SoftwareNodes
from shipyard_api.usecases.software.owners import cluster_of


class RecordedTask(Struct, frozen=True):
    """A task of a record. ``priority``: 100, 200, ...; they run one after another."""

    priority: int
    document: JsonObject


class NodeFacts(Struct, frozen=True):
    """A node with the tasks of one group. Records of a lower priority run first, those of the same at the same time."""

    node: NodeName
    id: int
    role: TaskId
    priority: int
    tasks: tuple[RecordedTask, ...]


class ShowNodeFacts(Struct, frozen=True):
    """The use case; changes nothing but that listed nodes get ids."""

    store: Store
    nodes: SoftwareNodes

    def __call__(self, cluster: int, chosen: Sequence[str] | None) -> Sequence[NodeFacts]:
        """Return the records of these nodes, by id or name, or of all of them, in the order in which they run.

        Raises OwnerNotFound, NodesNotInSite and InvalidTaskQuery.
        """
        stored_nodes = self.nodes.all() if chosen is None else self.nodes.named(chosen)
        stored_cluster = self.store.read(lambda tx: cluster_of(tx.software, cluster))
        site = self.store.read(lambda tx: tx.software.site(stored_cluster.id, [node.name for node in self.nodes.all()]))
        names = [str(node.name) for node in stored_nodes]
        run = SiteRun(
            site.tasks, site.nodes, site.primaries, site.status, site.models, {"nodes": names}, keys=site.keys
        )
        site_plan = plan_site(run)
        if site_plan.plan is None:
            raise InvalidTaskQuery(errors(site_plan.findings))
        ids = {node.name: node.id for node in stored_nodes}
        return list(_records(site_plan, ids))


def _records(site_plan: SitePlan, ids: Mapping[NodeName, int]) -> Iterator[NodeFacts]:
    for batch in site_plan.plan.batches if site_plan.plan else ():
        for run in batch.runs:
            tasks = tuple(
                RecordedTask(number * PRIORITY_STEP, site_plan.documents[task])
                for number, task in enumerate(run.tasks, 1)
            )
            for node in run.nodes:
                yield NodeFacts(node, ids.get(node, 0), run.unit, batch.priority, tasks)
