"""update_software in process: a real Postgres, nodes in memory, a clock that tests move."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import ActionDesigns, RemoteAccess, SiteChecks, Systems
from shipyard_api.actions.software_steps import SoftwareSteps
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import BAREMETAL_NODE, Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.layers import SITE, Layer, ReleaseId
from shipyard_api.domain.task_graph.site_plan import SitePlan
from shipyard_api.ports.remote_tasks import Host, RemoteTasks
from shipyard_api.ports.state.software import TaskRecord
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.workflow.definition import Definition
from tests.factories import document
from tests.fakes.clock import FakeClock
from tests.fakes.remote_tasks import FakeRemoteTasks
from tests.one_action import FIRST, OneAction
from tests.task_graphs import SEED_GRAPH
from tests.world import RULES, Checkpoints, Watched

ROLES = {
    "node-1": "primary-controller",
    **{f"node-{number}": "controller" for number in (4, 2, 3, 5)},
    "node-6": "cinder",
    "node-7": "network",
    "node-8": "compute",
}


@dataclass
class SoftwareWorld(OneAction):
    """The worked example of seed 001 by default. ``roles``: the nodes of the site with the role of each.

    ``secret``: the data of an encrypted document of the design, if there is one.
    """

    name: ClassVar = ActionName("update_software")
    url: str
    graph: Sequence[Mapping[str, Any]] = field(default_factory=lambda: SEED_GRAPH)
    roles: Mapping[str, str] = field(default_factory=lambda: ROLES)
    limited: Mapping[str, Any] = field(default_factory=dict)
    tasks: Any = field(default_factory=lambda: FakeRemoteTasks(polls=1))
    hosts: Mapping[NodeName, Host] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=FakeClock)
    action: ActionId = FIRST
    secret: Any = None

    def __post_init__(self) -> None:
        self.engine = connect(self.url, pool_size=3)
        with self.store().begin() as tx:
            release = tx.software.release(ReleaseId(1))
            assert release
            tx.software.save_release(replace(release, layer=Layer(tuple(self.graph))))
            tx.software.add_nodes(SITE, map(NodeName, self.roles))
            for one in tx.software.nodes(SITE):
                tx.software.save_node(replace(one, roles=(self.roles[one.name],)))
        self.create(self.action)

    def create(self, action: ActionId, retried: ActionId | None = None) -> None:
        """Queue a run; with ``retried``, one that goes on with another."""
        # None of these nodes was deployed by Shipyard, so they are named.
        software = {"nodes": list(self.roles), **self.limited}
        inputs = {"v": 1, "revision": 1, "action": action, "software": software}
        inputs |= {"retried": retried} if retried else {}
        definition = self.definition(Checkpoints(), self.store())
        steps = definition.step_ids(definition.read(inputs))
        self.queue(action, inputs, steps, nodes=list(self.roles))

    def definition(self, points: Checkpoints, store: Any) -> Definition:
        hosts = self.hosts or {NodeName(name): Host(NodeName(name), "10.0.0.1") for name in self.roles}
        return software(store, Watched(self.tasks, points), hosts, self.secret)  # type: ignore[arg-type]  # fills the port

    def started(self) -> list[tuple[str, str]]:
        """The task and node of every start that happened, in order; none may have happened twice."""
        twice = [one for one, times in Counter(self.tasks.log).items() if times > 1]
        assert not twice, f"started twice: {twice}"
        tasks = {row.marker: row.task for row in self.results()}
        return [(tasks[marker], node) for marker, node in self.tasks.log]

    def results(self) -> Sequence[TaskRecord]:
        """The rows of results, by node and task."""
        with self.store().begin() as tx:
            return tx.task_results.of(self.action)

    def ending(self) -> Any:
        """How everything ended, apart from times."""
        rows = [(one.node, one.task, one.status.value, one.detail) for one in self.results()]
        return self.state(), dict(self.steps()), rows, sorted(self.started())


def rendered(nodes: Iterable[str], secret: Any = None) -> Rendering:
    """Return a design of these nodes, with an encrypted document if there is one."""
    metadata = document("x", "y", {})["metadata"]
    written: list[tuple[str, str, Any]] = [
        (BAREMETAL_NODE, name, {"addressing": [{"network": "oam", "address": f"10.0.0.{number}"}]})
        for number, name in enumerate(nodes, 1)
    ] + ([("site/Passphrase/v1", "own", secret)] if secret else [])
    return Rendering(
        tuple(
            RenderedDocument(
                Document(schema, name, "site", metadata, data),
                Collection("design"),
                Revision(1),
                secret=schema != BAREMETAL_NODE,
            )
            for schema, name, data in written
        )
    )


def software(store: Any, tasks: RemoteTasks, hosts: Mapping[NodeName, Host], secret: Any = None) -> Definition:
    """Return update_software without its checks, on a site of these hosts."""
    rendering = rendered(hosts, secret)

    def reach(*_: object) -> tuple[Mapping[NodeName, Host], Sequence[Finding]]:
        return hosts, ()

    def sources(made: SitePlan) -> Sequence[Finding]:
        entries = made.documents.values()
        files = [(one["id"], file["src"]) for one in entries for file in one["parameters"].get("files", ())]
        return [error("FileMissing", f"Task '{name}': {file} is missing.") for name, file in files if file == "a"]

    systems = Systems(None, access=RemoteAccess(tasks, reach, sources))  # type: ignore[arg-type]  # no step here asks a provisioner
    prints = SimpleNamespace(fingerprint=lambda text: hashlib.sha256(text).hexdigest())
    designs = ActionDesigns(prints, lambda _revision: rendering)  # type: ignore[arg-type]  # no step here stores one
    steps = SoftwareSteps(SiteChecks(store, designs, systems, RULES)).steps
    return Definition(ActionName("update_software"), steps, read=ActionInputs.from_json)
