"""The overhead and the makespan of a rollout: ``python benchmarks/loop.py``.

Engine, storage and a durable embedded Postgres are real; the provisioner is a table of durations.

1. **Overhead.** With a provisioner that takes no time, the duration of a rollout is our overhead. Reported are
   milliseconds per phase of a group: intent, submission, poll and verdict, each committed. Median of five rollouts.
2. **Makespan**, in virtual time with default intervals. Three shapes of a site are deployed one group after another,
   and pipelined (groups in parallel, nodes deployed as they are prepared). The bound is the critical path, computed
   here from the durations alone: no group starts before its parents have ended, and no node is deployed before it is
   prepared and its group can no longer miss its criteria.
3. **A writing turn.** 200 groups of 50 nodes, four at a time, in virtual time; most polls find nodes done. Reported is
   the CPU time of a turn: claim, state, reports, verdicts, rows.

Phases and turns are compared with what the machine does in the same minute (``reference``): a phase with eight bare
transactions on the same Postgres and a fixed loop of Python, a turn with that loop. Exits 1 if a phase of a group of up
to 50 nodes costs more than ``MOST_OF_PHASE`` times as much, a writing turn more than ``MOST_LOOPS``, or a pipelined
rollout takes more than 1.05 times its bound. A group of a thousand nodes writes a thousand rows per phase; that cost is
reported without a bound.
"""

from __future__ import annotations

import itertools
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time
from typing import Any
from uuid import uuid4

import installation
import reference
import sites
import sqlalchemy as sa
from sites import Document
from timed_sites import Group, Site, flat, shapes, timed

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.protection import ReadProtection
from shipyard_api.actions.site_checks import ActionDesigns, Systems
from shipyard_api.actions.site_steps import PREPARE_AND_DEPLOY_NODES, RetryPolicy
from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.actions import ENDED, ActionId, ActionName
from shipyard_api.domain.deploy_steps.supported import SupportedSteps
from shipyard_api.domain.documents import BufferMode
from shipyard_api.domain.drift.observations import ObservedMachine
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.provisioner import (
    Capabilities,
    EarlierWork,
    JobId,
    JobReport,
    JobState,
    Marker,
    Operation,
    Work,
)
from shipyard_api.storage import tables
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.actions.check_software import CheckAcceptance, CheckSoftware
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs, CommitMode
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from shipyard_api.workflow.turn import Engine

ROOT = Path(__file__).resolve().parents[1]
MOST_OF_PHASE = 2.5
MOST_LOOPS = 2.0
MOST_OF_BOUND = 1.05
ORDINARY = 50  # nodes of a group
ROLLOUTS = 5
PIPELINED = {"max_parallel_groups": 1000, "deploy_as_prepared": True}


@dataclass
class VirtualClock:
    """A virtual clock that the benchmark advances."""

    at: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    seconds: float = 0.0

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)
        self.seconds += seconds


@dataclass
class Table:
    """A provisioner with the durations of the site's table, whatever its load."""

    site: Site
    clock: Clock
    instant: bool = False
    name: str = "Table"
    capabilities: Capabilities = Capabilities(selects=True)  # noqa: RUF009  # immutable
    began: dict[JobId, datetime] = field(default_factory=dict)
    looks: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def check_health(self) -> None:
        pass

    def design_reference(self, revision: int) -> str:
        return f"table:{revision}"

    def validate_design(self, design: str) -> tuple[Finding, ...]:
        return ()

    def conditions(self) -> Sequence[ObservedMachine]:
        return ()

    def select_nodes(self, design: str, groups: Sequence[tuple[Selector, ...]]) -> tuple[frozenset[NodeName], ...]:
        return tuple(frozenset().union(*(selector.node_names for selector in selectors)) for selectors in groups)

    def supported_steps(self, nodes: Collection[NodeName]) -> Mapping[NodeName, SupportedSteps]:
        return {}

    def submit(self, marker: Marker, work: Work) -> JobId:
        job = JobId(marker)
        self.began[job] = self.clock.now()
        if work.nodes:
            self.first = self.first or self.clock.now()
        return job

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        job = JobId(marker)
        return job if job in self.began else None

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> Sequence[EarlierWork]:
        self.looks += 1
        return ()

    def report(self, job: JobId, work: Work) -> JobReport:
        return self.reports({job: work})[job]

    def reports(self, jobs: Mapping[JobId, Work]) -> Mapping[JobId, JobReport]:
        return {job: self._report(job, work) for job, work in jobs.items()}

    def abort(self, job: JobId, work: Work) -> None:
        pass

    def power_cycle(self, job: JobId, work: Work) -> Mapping[NodeName, str]:
        return {}

    def _report(self, job: JobId, work: Work) -> JobReport:
        if work.nodes is None:
            return JobReport(job, JobState.ENDED, ok=True)
        took = self.site.prepare if work.operation is Operation.PREPARE_NODES else self.site.deploy
        since = (self.clock.now() - self.began[job]).total_seconds()
        done = frozenset(node for node in work.nodes if self.instant or took[node] <= since)
        if len(done) < len(work.nodes):
            return JobReport(job, JobState.RUNNING, ok=False, succeeded=done)
        self.last = self.clock.now()
        return JobReport(job, JobState.ENDED, ok=True, succeeded=done)


def documents(site: Site, mode: Mapping[str, Any]) -> list[Document]:
    groups = [
        {
            "name": group.name,
            "critical": True,
            "depends_on": list(group.parents),
            "selectors": [{"node_names": list(group.nodes)}],
            **({} if group.tolerates is None else {"success_criteria": {"maximum_failed_nodes": group.tolerates}}),
        }
        for group in site.groups
    ]
    machines: list[tuple[str, Document]] = [(node, {}) for group in site.groups for node in group.nodes]
    return sites.documents(machines, groups, mode)


@dataclass
class Run:
    """One action on a site, from the load of its design to its end."""

    database: sa.Engine
    provisioner: Table
    clock: Clock
    action: ActionId
    engine: Engine

    @classmethod
    def of(cls, database: sa.Engine, site: Site, mode: Mapping[str, Any], clock: Clock, *, instant: bool) -> Run:
        store = Store(database, ProcrastinateWakeup())
        designs, lock = SqlDesigns(database, None, DataSchemas()), SqlWriterLock(database)
        schemas = SchemaFiles(ROOT / "schemas")
        rules = DesignRules(schemas.check)
        provisioner = Table(site, clock, instant)
        rendered = RenderedDesigns(designs)
        LoadConfigdocs(designs, lock, DataSchemas())("site", BufferMode.REPLACE, documents(site, mode))
        assert CommitConfigdocs(designs, rendered, lock, rules)(CommitMode.NORMAL).committed
        steps = catalog(store, ActionDesigns(designs, rendered.of), Systems(provisioner), rules, RetryPolicy())
        action = ActionId(uuid4().hex[:26].upper())
        create = CreateAction(
            store=store,
            check=CheckAction(
                designs,
                rendered,
                schemas,
                rules,
                PlanDeploySteps(store, rendered, provisioner, schemas.check),
                CheckAcceptance(store, rendered, rules, None),
                CheckSoftware(store, rendered),
                CheckEtcd(ReadProtection(ActionDesigns(designs, rendered.of), rules), None, EtcdGateway()),
            ),
            definitions=steps,
            new_id=lambda: action,
        )
        create(ActionRequest(ActionName("deploy_site"), {}, True), Caller("benchmark", frozenset({"admin"}), "-"))
        engine = Engine(store, steps, clock, settle=20.0, worker="benchmark")
        return cls(database, provisioner, clock, action, engine)

    def to_the_end(self) -> None:
        """Run turns when they are due, advancing the virtual clock."""
        for _ in self.turns():
            pass

    def turns(self) -> Iterator[float]:
        """Run turns when they are due, advancing the virtual clock; yield the CPU seconds of each."""
        store = Store(self.database, ProcrastinateWakeup())
        if isinstance(self.clock, VirtualClock):
            self._wake_at(self.clock.now())
        while True:
            began = process_time()
            self.engine.run(self.action)
            yield process_time() - began
            with store.begin() as tx:
                record = tx.actions.get(self.action)
            assert record is not None
            if record.state in ENDED:
                assert record.state.value == "success", record
                return
            assert isinstance(self.clock, VirtualClock)
            self.clock.advance(max((self._wakes_at() - self.clock.now()).total_seconds(), 0.0))

    def steps(self) -> int:
        """Return how many steps the action had, which has ended well."""
        with Store(self.database, ProcrastinateWakeup()).begin() as tx:
            record, steps = tx.actions.get(self.action), tx.actions.steps([self.action])[self.action]
        assert record is not None
        assert record.state.value == "success", record
        return len(steps)

    def rollout_seconds(self) -> float:
        """Return the duration of the rollout step, by the database's clock."""
        with Store(self.database, ProcrastinateWakeup()).begin() as tx:
            steps = tx.actions.steps([self.action])[self.action]
        (step,) = [step for step in steps if step.id == PREPARE_AND_DEPLOY_NODES]
        assert step.ended_at is not None
        assert step.started_at is not None
        return (step.ended_at - step.started_at).total_seconds()

    def _wake_at(self, moment: datetime) -> None:
        with self.database.begin() as connection:
            connection.execute(tables.actions.update().where(tables.actions.c.id == self.action).values(wake_at=moment))

    def _wakes_at(self) -> datetime:
        with self.database.begin() as connection:
            query = sa.select(tables.actions.c.wake_at).where(tables.actions.c.id == self.action)
            moment: datetime = connection.execute(query).scalar_one()
        return moment


def overhead(database: sa.Engine) -> Iterator[str]:
    """Print the cost of a phase; yield exceeded bounds."""
    titles = f"{'phases':>8}{'seconds':>10}{'ms a phase':>12}{'of the reference':>18}"
    print(f"{'overhead, zero-latency provisioner':<44}{titles}")
    beside = reference.Phase(database)
    clock = DatabaseClock(database, ProcrastinateWakeup())
    for groups, nodes, mode, marks in (
        *((40, 50, {}, marks) for marks in (False, True)),
        *((40, 50, PIPELINED, False), (200, 10, {}, False), (10, 1000, {}, False)),
    ):
        phases, took, ratios = 2 * groups, [], []
        for number in range(ROLLOUTS):
            run = Run.of(database, flat(groups, nodes, number), mode, clock, instant=True)
            run.provisioner.capabilities = Capabilities(selects=True, marks=marks)
            before = beside()
            run.to_the_end()
            took.append(run.rollout_seconds())
            ratios.append(took[-1] / phases / ((before + beside()) / 2))
            # What a provisioner without marks has is looked for before anything is sent, with one list each.
            assert run.provisioner.looks == (0 if marks else phases), run.provisioner.looks
        seconds = statistics.median(took)
        each = 1000 * seconds / phases
        title = f"{groups} groups of {nodes}{', pipelined' if mode else ''}{', with marks' if marks else ''}"
        ratio = statistics.median(ratios)
        print(f"  {title:<42}{phases:>8}{seconds:>10.2f}{each:>12.1f}{ratio:>18.2f}   (highest {max(ratios):.2f})")
        if ratio > MOST_OF_PHASE and nodes <= ORDINARY:
            yield f"{title}: a phase takes {ratio:.2f} times the reference, at most {MOST_OF_PHASE:g}"


def makespan(database: sa.Engine) -> Iterator[str]:
    """Print the makespan of each shape; yield exceeded bounds."""
    print(f"\n{'makespan, virtual time':<46}{'bound':>9}{'serial':>10}{'pipelined':>11}{'/ bound':>9}{'serial /':>10}")
    for site in shapes():
        took = []
        for mode in ({}, PIPELINED):
            run = Run.of(database, site, mode, VirtualClock(), instant=False)
            run.to_the_end()
            first, last = run.provisioner.first, run.provisioner.last
            assert first is not None
            assert last is not None
            took.append((last - first).total_seconds())
        serial, pipelined = took
        bound = site.bound()
        ratio = pipelined / bound
        print(
            f"  {site.title:<44}{_hours(bound):>9}{_hours(serial):>10}{_hours(pipelined):>11}{ratio:>9.3f}"
            f"{serial / pipelined:>10.2f}"
        )
        if ratio > MOST_OF_BOUND:
            yield f"{site.title}: {ratio:.3f} times the critical path, at most {MOST_OF_BOUND}"


def writing_turn(database: sa.Engine) -> Iterator[str]:
    """Print the CPU time of a writing turn; yield an exceeded bound."""
    # The action is left unfinished: a few hundred turns tell enough.
    groups = [Group(f"g{at:03}", [f"n{at:03}-{one:02}" for one in range(50)], tolerates=5) for at in range(200)]
    run = Run.of(database, timed("", groups, 6), {"max_parallel_groups": 4}, VirtualClock(), instant=False)
    took, loops = [], []
    for seconds in itertools.islice(run.turns(), 400):
        took.append(seconds)
        loops.append(reference.loop())
    median, ratio = 1000 * statistics.median(took), statistics.median(took) / statistics.median(loops)
    print(
        f"\na writing turn, 10,000 nodes in 200 groups: {median:.1f} ms of CPU (median of {len(took)}), "
        f"{ratio:.2f} loops"
    )
    if ratio > MOST_LOOPS:
        yield f"a writing turn: as much CPU as {ratio:.2f} loops, at most {MOST_LOOPS:g}"


def _hours(seconds: float) -> str:
    return f"{int(seconds) // 3600}:{int(seconds) % 3600 // 60:02}:{int(seconds) % 60:02}"


def main() -> int:
    with installation.database() as database:
        exceeded = [*overhead(database), *makespan(database), *writing_turn(database)]
    for line in exceeded:
        print(f"TOO MUCH: {line}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
