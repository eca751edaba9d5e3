"""An action in process: a real Postgres, a provisioner in memory, a clock that only tests move.

A checkpoint is passed before and after every call of the provisioner, and before and after every commit, so that a test
can let something happen at any of them.
"""

from __future__ import annotations

import copy
import functools
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.deploy_site import DEPLOY_SITE
from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import ActionDesigns, RemoteAccess, Systems
from shipyard_api.actions.site_steps import RetryPolicy
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import ENDED, ActionId, ActionName, Control, RunState
from shipyard_api.domain.deploy_steps.supported import SupportedStep, SupportedSteps
from shipyard_api.domain.deploy_steps.templates import DeployStep, DeployTemplate, Interface
from shipyard_api.domain.deploy_steps.traits import TraitName
from shipyard_api.domain.documents import BufferMode, Rendering
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.task_graph.layers import Layer, ReleaseId
from shipyard_api.ports.provisioner import JobId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.ports.state.deploy_templates import TemplateId
from shipyard_api.storage import tables
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import Store, Transaction, connect
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.actions.check_software import CheckAcceptance, CheckSoftware
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode, Validator
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.workflow.attempts import ATTEMPTS
from shipyard_api.workflow.turn import Engine
from tests.conftest import ROOT
from tests.databases import Rows, restore, saved
from tests.factories import document, group_entry, layering_policy, node
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.etcd import FakeEtcd
from tests.fakes.provisioner import FakeProvisioner, Fate
from tests.fakes.remote_tasks import FakeRemoteTasks

SETTLE = 10.0
SCHEMAS = SchemaFiles(ROOT / "schemas")
RULES = DesignRules(SCHEMAS.check)
STEPS = SupportedSteps(
    (
        SupportedStep(Interface.DEPLOY, "deploy", 100, core=True),
        SupportedStep(Interface.DEPLOY, "boot", 20),
        SupportedStep(Interface.RAID, "apply", arguments={"level": True}),
    ),
    system="Fake",
)
MIRROR = DeployTemplate(
    TraitName("CUSTOM_MIRROR"),
    (DeployStep(Interface.RAID, "apply", {"level": "1"}, 110), DeployStep(Interface.DEPLOY, "boot", {}, 0)),
)
ODD = DeployTemplate(TraitName("CUSTOM_ODD"), (DeployStep(Interface.BIOS, "apply", {}, 110),))
TEMPLATES = (MIRROR, ODD)
_numbers = itertools.count(1)


class KilledError(BaseException):
    """The process is gone: nothing of ours may catch this."""


@dataclass
class Checkpoints:
    """Counts the points that are passed; at the chosen one something happens, once."""

    chosen: int = -1
    happens: Callable[[], None] = lambda: None
    names: list[str] = field(default_factory=list)

    def passed(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) - 1 == self.chosen:
            self.happens()


@dataclass
class WatchedStore:
    """The real store, with a checkpoint before and after each commit."""

    inner: Store
    points: Checkpoints

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        with self.inner.begin() as tx:
            yield tx
            self.points.passed("before commit")
        self.points.passed("after commit")

    def read(self, query: Callable[[Transaction], Any]) -> Any:
        return self.inner.read(query)


@dataclass
class Watched:
    """Something with a checkpoint before and after each call over the wire; ``local``: what needs no wire."""

    inner: Any
    points: Checkpoints
    local: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)
        if name in self.local or not callable(call):
            return call

        def watched(*arguments: Any, **named: Any) -> Any:
            self.points.passed(f"before {name}")
            answer = call(*arguments, **named)
            self.points.passed(f"after {name}")
            return answer

        return watched


@dataclass(frozen=True)
class Moment:
    """All that a worker leaves that is killed: what was committed, and what its peers are at."""

    rows: Rows
    peers: tuple[FakeClock, FakeProvisioner, FakeCluster | None, FakeRemoteTasks | None]


@dataclass
class World:
    """Everything that outlives a worker: database, provisioner, clock.

    ``configuration`` (``physical_provisioner``) and ``kubernetes`` are sections of the deployment configuration;
    without ``groups`` they are those of this module. ``promenade``, if given, is asked about revisions. ``early`` nodes
    are told as done while their jobs run. ``traits``: those of nodes, as a document has them; their templates are in
    ``TEMPLATES``, and the provisioner supports ``STEPS``. ``graph``: the task graph, whose tasks run by ``tasks``
    on ``hosts``, by default somewhere.
    """

    url: str
    configuration: dict[str, Any] = field(default_factory=dict)
    groups: list[dict[str, Any]] | None = None
    cluster: FakeCluster | None = None
    promenade: Callable[[int], Sequence[Finding]] | None = None
    early: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    kubernetes: dict[str, Any] = field(default_factory=dict)
    traits: dict[str, Any] | None = None
    name: ActionName = DEPLOY_SITE.name
    graph: Sequence[dict[str, Any]] = ()
    tasks: FakeRemoteTasks | None = None
    hosts: Mapping[NodeName, Host] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=FakeClock)
    provisioner: FakeProvisioner = field(init=False)
    action: ActionId = field(init=False)

    def __post_init__(self) -> None:
        nodes = [node(f"n{number}", rack="r1" if number < 4 else "r2") for number in range(6)]
        fates = {NodeName("n1"): Fate.FAILS_PREPARE, NodeName("n4"): Fate.HANGS_DEPLOY}
        self.provisioner = FakeProvisioner(nodes, fates, running_reports=1, now=self.clock.now)
        if self.early:
            self.provisioner.early = frozenset(map(NodeName, self.early))
            self.provisioner.running_reports = 2
        if self.traits:
            self.provisioner.supported = STEPS
            with self.store().begin() as tx:
                for number, template in enumerate(TEMPLATES):
                    tx.deploy_templates.create(TemplateId(str(uuid.UUID(int=number))), template, {})
        if self.graph:
            with self.store().begin() as tx:
                release = tx.software.release(ReleaseId(1))
                assert release
                tx.software.save_release(replace(release, layer=Layer(tuple(self.graph))))
        self._commit(_groups() if self.groups is None else self.groups)
        store = self.store()
        definitions = self.definitions(Checkpoints())
        create = CreateAction(
            store=store,
            check=self.check(),
            definitions=definitions,
            new_id=lambda: "0" * 26,
        )
        request = ActionRequest(self.name, self.parameters, None)
        self.action = create(request, Caller("tester", frozenset({"admin"}), str(uuid.uuid4()))).action.id
        with store.begin() as tx:
            # The database's clock runs, the world's stands still.
            tx.turns._connection.execute(tables.actions.update().values(wake_at=self.clock.now()))

    def check(self, rules: DesignRules | None = None) -> CheckAction:
        rendered = self.rendered()
        steps = PlanDeploySteps(self.store(), rendered, self.provisioner, SCHEMAS.check)
        acceptance, software = self.acceptance(rendered), CheckSoftware(self.store(), rendered)
        etcd = self.check_etcd(rendered)
        return CheckAction(rendered._designs, rendered, SCHEMAS, rules or self.rules, steps, acceptance, software, etcd)

    def check_etcd(self, rendered: RenderedDesigns) -> CheckEtcd:
        protection = ReadProtection(ActionDesigns(rendered._designs, rendered.of), self.rules)
        return CheckEtcd(protection, None, FakeEtcd())

    def acceptance(self, rendered: RenderedDesigns) -> CheckAcceptance:
        return CheckAcceptance(self.store(), rendered, self.rules, self.reach if self.tasks else None)

    def reach(self, _: Rendering, nodes: Sequence[NodeName]) -> tuple[Mapping[NodeName, Host], Sequence[Finding]]:
        return {name: self.hosts.get(name, Host(name, "10.0.0.1")) for name in nodes}, ()

    def commit_again(self, *, strategy_of: list[str]) -> None:
        """Commit another design, whose only group holds these nodes."""
        self._commit([group_entry("only", selectors=[{"node_names": strategy_of}])])

    def _commit(self, groups: list[dict[str, Any]]) -> None:
        designs, lock = self.designs(), SqlWriterLock(self.engine())
        LoadConfigdocs(designs, lock, DataSchemas())(
            "design", BufferMode.REPLACE, _design(groups, self.configuration, self.kubernetes, self.traits)
        )
        validator = Validator("Fake", lambda revision: self.check().plan_steps(revision).findings)
        rendered = RenderedDesigns(designs)
        accepts = Validator("Shipyard", self.acceptance(rendered))
        commit = CommitConfigdocs(designs, rendered, lock, self.rules, [validator, accepts])
        committed = commit(CommitMode.NORMAL)
        assert committed.committed, committed.findings

    @property
    def rules(self) -> DesignRules:
        return DesignRules(SCHEMAS.check, cluster=self.cluster is not None)

    def engine(self) -> sa.Engine:
        return _engine(self.url)

    def designs(self) -> SqlDesigns:
        return SqlDesigns(self.engine(), None, DataSchemas())

    def rendered(self) -> RenderedDesigns:
        return RenderedDesigns(self.designs())

    def store(self) -> Store:
        return Store(self.engine(), ProcrastinateWakeup())

    def definitions(self, points: Checkpoints, store: Any = None) -> Any:
        designs = Watched(self.designs(), points)
        return catalog(
            store or self.store(),
            ActionDesigns(designs, designs.rendered),  # type: ignore[arg-type]  # fills the port by delegation
            Systems(
                Watched(self.provisioner, points, frozenset({"design_reference"})),  # type: ignore[arg-type]  # fills the port by delegation
                Watched(self.cluster, points) if self.cluster else None,  # type: ignore[arg-type]  # fills the port by delegation
                self.promenade,
                access=RemoteAccess(Watched(self.tasks, points), self.reach) if self.tasks else None,  # type: ignore[arg-type]  # fills the port by delegation
            ),
            self.rules,
            RetryPolicy(give_up_after=300, pause=10),
        )

    def worker(self, points: Checkpoints | None = None, attempts: int = ATTEMPTS) -> Engine:
        """A worker whose turns make at most so many attempts; with one, a test can step through the action."""
        points = points or Checkpoints()
        store = WatchedStore(self.store(), points)
        return Engine(
            store,
            self.definitions(points, store),
            self.clock,
            settle=SETTLE,
            worker=f"worker-{next(_numbers)}",
            attempts=attempts,
        )

    def rows(self) -> Rows:
        """Return all rows as anybody else sees them: without those of a transaction that has not ended."""
        with self.engine().connect() as connection, connection.connection.cursor() as cursor:
            return saved(cursor)  # type: ignore[arg-type]  # the driver's own

    def moment(self, rows: Rows | None = None) -> Moment:
        """Return how things are, with rows that are known to be those of now."""
        return Moment(rows or self.rows(), copy.deepcopy((self.clock, self.provisioner, self.cluster, self.tasks)))

    def at(self, moment: Moment) -> World:
        """Return this world, in the same database, as it was then."""
        with self.engine().begin() as connection, connection.connection.cursor() as cursor:
            restore(cursor, moment.rows)  # type: ignore[arg-type]  # the driver's own
        world = copy.copy(self)
        world.clock, world.provisioner, world.cluster, world.tasks = copy.deepcopy(moment.peers)
        return world

    def control(self, control: Control) -> bool:
        """Pause, resume or stop the action; return whether its state allowed it."""
        with self.store().begin() as tx:
            before = tx.actions.control(self.action, control, "ann")
            assert before is not None
        if control is not Control.PAUSE:
            self.make_due()
        return before.refusal(control) is None

    def make_due(self) -> None:
        """Let the action be due now: the database's clock runs, and the world's stands still."""
        own = (tables.actions.c.id == self.action, tables.actions.c.wake_at.is_not(None))
        with self.engine().begin() as connection:
            connection.execute(tables.actions.update().where(*own).values(wake_at=self.clock.now()))

    def has_intent(self) -> bool:
        """Return whether an effect is intended whose outcome is not recorded."""
        query = sa.select(sa.func.count()).where(tables.steps.c.intent.is_not(None))
        with self.engine().connect() as connection:
            return bool(connection.execute(query).scalar_one())

    def stragglers(self) -> set[JobId]:
        """Return the jobs of the stragglers that have not ended."""
        with self.store().begin() as tx:
            return {one.job for one in tx.stragglers.open()}

    def straggling_nodes(self) -> list[set[str]]:
        """Return the nodes that each straggler holds."""
        with self.store().begin() as tx:
            return [set(one.work.nodes or ()) for one in tx.stragglers.open() if one.work.nodes]

    def stands(self) -> tuple[bool, float]:
        """Whether the action has ended, and in how many seconds it wants to be looked at."""
        query = sa.select(tables.actions.c.state, tables.actions.c.wake_at).where(tables.actions.c.id == self.action)
        with self.engine().connect() as connection:
            row = connection.execute(query).one()
        wait = (row.wake_at - self.clock.now()).total_seconds() if row.wake_at else 0.0
        return RunState(row.state) in ENDED, max(wait, 0.0)

    def run(self, worker: Engine, each_time: Callable[[], None] = lambda: None) -> None:
        """Deliver turns, each when it is due, until the action has ended."""
        for _ in range(400):
            each_time()
            worker.run(self.action)
            ended, wait = self.stands()
            if ended:
                return
            self.clock.advance(wait)
        raise AssertionError("the action does not end")

    def ending(self) -> Any:
        """How everything ended, without times and ids."""
        with self.store().begin() as tx:
            record = tx.actions.get(self.action)
            steps = [(step.id, step.state) for step in tx.actions.steps([self.action])[self.action]]
            groups = tx.actions.groups(self.action, status=(), group=(), after=-1, limit=99)
            nodes = tx.actions.nodes(self.action, status=(), group=(), after="", limit=99)
            markers = [entry.fact.marker for entry in tx.journal.entries(self.action) if entry.kind == "intended"]
        assert record is not None
        assert len({one.marker for one in self.provisioner.submissions}) == len(self.provisioner.submissions)
        assert {one.marker for one in self.provisioner.submissions} <= set(markers)
        assert not self.tasks or len(set(self.tasks.log)) == len(self.tasks.log)
        return (
            record.state,
            steps,
            [
                (one.name, one.status, one.reason, [(phase.phase, phase.batch, phase.status) for phase in one.phases])
                for one in groups
            ],
            [(one.name, one.status, one.reason, one.group) for one in nodes],
            [
                (one.work.operation, one.work.nodes, *([one.work.steps] if one.work.steps else []))
                for one in self.provisioner.submissions
            ],
            *([sorted(self.tasks.log)] if self.tasks else []),
        )

    def outcome(self) -> Any:
        """How everything ended, apart from who sent which node when; no node may have been sent twice."""
        state, steps, groups, nodes, submissions = self.ending()
        sent = [(operation, node) for operation, held in submissions for node in held or ()]
        assert len(sent) == len(set(sent)), f"sent twice: {sent}"
        return (
            state,
            steps,
            [(name, status, reason) for name, status, reason, _ in groups],
            [(name, status, reason) for name, status, reason, _ in nodes],
        )

    def close(self) -> None:
        self.engine().dispose()


@functools.cache
def _engine(url: str) -> sa.Engine:
    """Databases are used again, and so is what SQLAlchemy has compiled for one of them."""
    return connect(url, pool_size=3)


def _groups() -> list[dict[str, Any]]:
    return [
        group_entry(
            "first",
            critical=True,
            selectors=[{"rack_names": ["r1"]}],
            success_criteria={"percent_successful_nodes": 50},
        ),
        group_entry("second", depends_on=["first"], selectors=[{"node_names": ["n3", "n4", "n5"]}]),
        group_entry("third", depends_on=["second"], selectors=[{"node_names": ["n5"]}]),
        group_entry("empty", selectors=[{"node_tags": ["nobody"]}]),
    ]


def _design(
    groups: list[dict[str, Any]],
    configured: dict[str, Any],
    kubernetes: dict[str, Any],
    traits: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    nodes = [document("drydock/BaremetalNode/v1", f"n{number}", {}) for number in range(6)]
    configuration = {
        "armada": {"manifest": "full-site"},
        "physical_provisioner": {"deploy_timeout": 40, **configured},
        "kubernetes": kubernetes,
    }
    return [
        layering_policy(),
        *nodes,
        *([document("shipyard/NodeTraits/v1", "pool", traits)] if traits else []),
        document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": groups}),
        document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", configuration),
    ]
