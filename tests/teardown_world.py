"""redeploy_server in process: a real Postgres, a provisioner, a cluster and etcd in memory, a clock that tests move."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shipyard_api.actions.action import Parts
from shipyard_api.actions.redeploy_server import REDEPLOY_SERVER
from shipyard_api.actions.site_checks import ActionDesigns, SiteChecks, Systems
from shipyard_api.actions.site_steps import RetryPolicy, SiteSteps
from shipyard_api.actions.software_steps import SoftwareSteps
from shipyard_api.actions.teardown_steps import TeardownSteps
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import Collection, Document, RenderedDocument, Rendering, Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, GENESIS
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.pods import Controller, Pod, PodUid
from shipyard_api.ports.provisioner import Operation
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.turn import Engine
from tests.databases import Rows, restore, saved
from tests.factories import committed, document, node
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.fakes.provisioner import FakeProvisioner
from tests.one_action import FIRST, OneAction
from tests.world import RULES, Checkpoints, Watched

ETCD = "kubernetes-etcd"


def pod(name: str, **values: Any) -> Pod:
    """Return a pod of a ReplicaSet."""
    owner = values.pop("controller", Controller("ReplicaSet", "web"))
    return Pod("default", name, PodUid(f"uid-{name}"), controller=owner, **values)


@dataclass
class TeardownWorld(OneAction):
    """Three servers, each with two pods and an etcd member; ``targets`` are redeployed. Tests change what they want."""

    name: ClassVar = ActionName("redeploy_server")
    url: str
    targets: tuple[str, ...] = ("n1",)
    inputs: dict[str, Any] = field(default_factory=dict)
    minimum: dict[str, int] = field(default_factory=dict)
    genesis: str = "n0"
    action: ActionId = FIRST
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.engine = connect(self.url, pool_size=3)
        names = ("n1", "n2", "n3")
        self.provisioner = FakeProvisioner([node(name) for name in names], running_reports=1, now=self.clock.now)
        self.cluster = FakeClusterNodes(self.clock.now)
        self.etcd = FakeEtcd()
        self.etcd.form(ETCD, *names)
        for name in names:
            held = pod(f"{name}-static", controller=None, mirror=True)
            self.cluster.add(name, pod(f"{name}-a"), pod(f"{name}-b"), held, labels={"openstack": "enabled"})
        self.create(self.action, **self.inputs)

    def create(self, action: ActionId, **inputs: Any) -> None:
        site = SiteInputs(3, DeploymentConfiguration(join=False), None, tuple(map(NodeName, self.targets)))
        stored = {**site.to_json(), "action": action, "limits": TeardownLimits().to_json(), **inputs}
        definition = self.definition(Checkpoints(), self.store())
        self.queue(action, stored, definition.step_ids(definition.read(stored)))

    def definition(self, points: Checkpoints, store: Any) -> Definition:
        documents = (
            RenderedDocument(one, Collection("design"), Revision(3), secret=False) for one in self._documents()
        )
        rendering = Rendering(tuple(documents))
        systems = Systems(
            Watched(self.provisioner, points, frozenset({"design_reference"})),  # type: ignore[arg-type]  # fills the port
            nodes=Watched(self.cluster, points),  # type: ignore[arg-type]  # fills the port by delegation
            etcd=Watched(self.etcd, points),  # type: ignore[arg-type]  # fills the port by delegation
        )
        designs = ActionDesigns(committed(3), lambda _revision: rendering)
        retry = RetryPolicy(give_up_after=300, pause=10)
        checks = SiteChecks(store, designs, systems, RULES)
        parts = Parts(SiteSteps(checks, retry), SoftwareSteps(checks), TeardownSteps(checks, retry))
        whole = REDEPLOY_SERVER.definition(parts)
        # The checks of the design come before every site action, and are tested there.
        own = ("check_teardown", "destroy_nodes", "drydock_build.prepare_and_deploy_nodes")
        return Definition(
            whole.name,
            lambda inputs: tuple(one for one in whole.steps_for(inputs) if one.id.rstrip(".23") in own),
            read=whole.read,
        )

    def _documents(self) -> list[Document]:
        cluster = {"name": ETCD, "endpoints": ["http://10.0.0.2:2379"], "minimum": self.minimum}
        return [
            _document(ETCD_CLUSTERS, "etcd-clusters", {"clusters": [cluster]}),
            _document(GENESIS, "genesis", {"hostname": self.genesis}),
        ]

    def deliver(self, worker: Engine, holder: str = "run-1") -> None:
        """Hosts that were destroyed are gone afterwards."""
        super().deliver(worker, holder)
        for gone in self.provisioner.sent(Operation.DESTROY_NODES):
            self.cluster.kill(gone)
            self.etcd.die(gone)

    def facts(self, kind: str) -> list[Any]:
        """The facts of a kind, in order."""
        with self.store().begin() as tx:
            return [entry.fact for entry in tx.journal.entries(self.action) if entry.kind == kind]

    def ending(self) -> Any:
        """How everything ended. Nothing that must happen once may have happened twice."""
        for what in ("evict", "delete", "clear", "remove"):
            changes = self.cluster.changes(what)
            assert len(changes) == len(set(changes)), f"{what} twice: {changes}"
        assert len(self.etcd.log) == len(set(self.etcd.log)), f"removed twice: {self.etcd.log}"
        sent = [(one.work.operation, one.work.nodes) for one in self.provisioner.submissions]
        assert len(sent) == len(set(sent)), f"submitted twice: {sent}"
        return (
            self.state(),
            {step: state for step, (state, _) in self.steps().items()},
            sorted(self.cluster.log),
            self.etcd.log,
            self.etcd.least,
            sorted(sent, key=str),  # several nodes are destroyed side by side
        )

    # Snapshots, for the crash suite.

    def rows(self) -> Rows:
        with self.engine.connect() as connection, connection.connection.cursor() as cursor:
            return saved(cursor)  # type: ignore[arg-type]  # the driver's own

    def moment(self) -> tuple[Rows, Any]:
        """Return all that a worker leaves that is killed now."""
        return self.rows(), copy.deepcopy((self.clock, self.provisioner, self.cluster, self.etcd))

    def at(self, moment: tuple[Rows, Any]) -> TeardownWorld:
        """Return this world, in the same database, as it was then."""
        with self.engine.begin() as connection, connection.connection.cursor() as cursor:
            restore(cursor, moment[0])  # type: ignore[arg-type]  # the driver's own
        world = copy.copy(self)
        world.clock, world.provisioner, world.cluster, world.etcd = copy.deepcopy(moment[1])
        return world


def _document(schema: str, name: str, data: dict[str, Any]) -> Document:
    return Document(schema, name, "site", document(schema, name, data)["metadata"], data)
