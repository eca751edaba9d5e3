"""Report on an action as a whole: the state of each group and node, with links to the provisioner."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from shipyard_api.actions.steps.software.software_stage import tolerates
from shipyard_api.actions.steps.software.state import StageState
from shipyard_api.domain.actions import ENDED, ActionId, StepId, StepState
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.domain.facts.cases import KINDS as CASES
from shipyard_api.domain.facts.fact import JournalFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.software import TaskStatus
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.remedies import Remedy
from shipyard_api.domain.strategy.criteria import Shortfall
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.ports.state.software import TaskRecord
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.overview import lacking_of, left_cordoned

_ALL = 2**31 - 1
_FAILED_TASKS = 100


def _nowhere(_name: str) -> str | None:
    return None


class Places(Struct, frozen=True):
    """Addresses at which the provisioner shows a node and a job; None without a value."""

    node: Callable[[str], str | None] = _nowhere
    job: Callable[[str], str | None] = _nowhere


class ReportedGroup(Struct, frozen=True):
    """A deployment group with the criteria that it missed; each phase with its address at the provisioner."""

    group: GroupRecord
    shortfalls: Sequence[Shortfall]
    phases: Sequence[tuple[PhaseRecord, str | None]]


class ReportedNode(Struct, frozen=True):
    """A node with the phases that sent it, in order of time, and its address."""

    node: NodeRecord
    phases: Sequence[PhaseRecord]
    look_at: str | None


class Report(Struct, frozen=True):
    """The report on an action. ``verdict`` is None until it has ended, ``seconds`` until it has begun.

    ``failed_steps``: why each of them failed. ``tasks``: how many nodes each task of the software stage has in each
    status; ``failed_tasks``: the first of those that failed. ``cordoned``: the nodes that the action left cordoned;
    ``older``: those that it left alone with an older specification, or with one that is not known;
    ``lacking``: the actions that would give them the new one.
    ``skipped_tasks``: tasks of the graph that do not run, and why. ``tolerated``: nodes that failed or lack a task
    within a tolerance, and why. ``cases``: the facts of its cases.
    """

    action: ActionRecord
    verdict: str | None
    seconds: float | None
    failed_steps: Mapping[StepId, str]
    groups: Sequence[ReportedGroup]
    nodes: Sequence[ReportedNode]
    findings: Sequence[Finding]
    tasks: Mapping[TaskId, Mapping[TaskStatus, int]]
    failed_tasks: Sequence[TaskRecord]
    cordoned: Sequence[NodeName] = ()
    skipped_tasks: Mapping[TaskId, str] = field(default_factory=dict)
    tolerated: Mapping[NodeName, str] = field(default_factory=dict)
    older: Sequence[str] = ()
    lacking: Sequence[Remedy] = ()
    cases: Sequence[JournalFact] = ()


def _stage(tx: Transaction, action: ActionId) -> StageState | None:
    """Return the state of the software stage once it is planned."""
    for memory, fixed in tx.task_results.step_states(action):
        if fixed.startswith('{"flow":'):
            return StageState.from_json({**memory, "fixed": fixed})
    return None


class ReportAction(Struct, frozen=True):
    """The use case; changes nothing. The number of queries does not grow with the number of nodes."""

    store: Store
    clock: Clock
    places: Places

    def __call__(self, action: str) -> Report:
        """Return the report, of a running action too; raises NotFound."""
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action))
            if record is None:
                raise ActionNotFound(action)
            groups = tx.actions.groups(record.id, status=(), group=(), after=-1, limit=_ALL)
            nodes = tx.actions.nodes(record.id, status=(), group=(), after="", limit=_ALL)
            entries = tx.journal.entries(record.id, (FindingReported.kind, GroupChanged.kind, *CASES))
            steps = tx.actions.steps([record.id])[record.id]
            tasks = tx.task_results.counts(record.id)
            failed_tasks: Sequence[TaskRecord] = ()
            if any(TaskStatus.FAILED in numbers for numbers in tasks.values()):
                failed_tasks = tx.task_results.of(record.id, status=(TaskStatus.FAILED,), limit=_FAILED_TASKS)
            older = [NodeName(node.name) for node in nodes if node.older]
            lacking = lacking_of(tx, record.id, older)
            cordoned = left_cordoned(tx, record, [NodeName(node.name) for node in nodes])
            stage = _stage(tx, record.id) if any(step.id.startswith("software.") for step in steps) else None
        facts = [entry.fact for entry in entries]
        missed = {fact.group: fact.shortfalls for fact in facts if isinstance(fact, GroupChanged)}
        return Report(
            record,
            record.state.value if record.state in ENDED else None,
            self._seconds(record),
            {step.id: step.detail for step in steps if step.state is StepState.FAILED},
            [ReportedGroup(group, missed.get(GroupName(group.name), ()), self._phases(group)) for group in groups],
            self._nodes(nodes, groups),
            [fact.finding for fact in facts if isinstance(fact, FindingReported)],
            tasks,
            failed_tasks,
            cordoned,
            stage.software.skipped if stage else {},
            {**stage.execution.unmet(), **stage.failed} if stage and tolerates(stage) else {},
            older,
            lacking,
            [fact for fact in facts if fact.kind in CASES],
        )

    def _seconds(self, action: ActionRecord) -> float | None:
        if action.started_at is None:
            return None
        until = action.ended_at or self.clock.now()
        return max(0.0, (until - action.started_at).total_seconds())

    def _phases(self, group: GroupRecord) -> Sequence[tuple[PhaseRecord, str | None]]:
        return [(phase, self.places.job(phase.job) if phase.job else None) for phase in group.phases]

    def _nodes(self, nodes: Sequence[NodeRecord], groups: Sequence[GroupRecord]) -> Sequence[ReportedNode]:
        sent: Mapping[str, list[PhaseRecord]] = defaultdict(list)
        for group in groups:
            for phase in group.phases:
                for name in phase.nodes:
                    sent[name].append(phase)
        listed = []
        for node in nodes:
            phases = sorted(sent.get(node.name, ()), key=lambda phase: (phase.submitted_at, phase.phase == "deploy"))
            listed.append(ReportedNode(node, phases, self._place(node, phases)))
        return listed

    def _place(self, node: NodeRecord, phases: Sequence[PhaseRecord]) -> str | None:
        """Return the address of a node; None if the provisioner never accepted it.

        A node that could not be prepared may have no data at all; its job says what went wrong.
        """
        accepted = [phase for phase in phases if phase.job]
        if not accepted:
            return None
        if node.status is NodeStatus.FAILURE and accepted[-1].phase == "prepare":
            return self.places.job(accepted[-1].job)
        return self.places.node(node.name)
