"""Show an action at a glance: its groups and phases, one letter for each node, and where the nodes stand."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum

from msgspec import Struct

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.rollout_state import paced_rollout
from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.domain.facts.cases import KINDS as CASES
from shipyard_api.domain.facts.fact import JournalFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.findings import Level
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.remedies import Remedy, remedies
from shipyard_api.domain.rollout.policy.survey import Survey, next_spans, survey
from shipyard_api.domain.strategy.criteria import SuccessCriteria, needed
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.groups import GroupRecord
from shipyard_api.ports.state.nodes import NodeLine
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.approve import approvals_of
from shipyard_api.usecases.actions.describe import ListedGroup
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns

_ALL = 2**31 - 1
_WARNINGS = 10
"""The most warnings of an overview; the report has all."""


class NodeLetter(Enum):
    """What a node does: its status, or the phase that has it at the moment. Values are the letters on the wire."""

    NOT_STARTED = "n"
    QUEUED = "q"
    PREPARING = "i"
    PREPARED = "p"
    DEPLOYING = "d"
    SUCCESS = "s"
    FAILURE = "f"


_OF_STATUS = {
    NodeStatus.NOT_STARTED: NodeLetter.NOT_STARTED,
    NodeStatus.PREPARED: NodeLetter.PREPARED,
    NodeStatus.SUCCESS: NodeLetter.SUCCESS,
    NodeStatus.FAILURE: NodeLetter.FAILURE,
}


class Overview(Struct, frozen=True):
    """An action at a glance. ``letters``: of its nodes, in order of name; ``failed``: those that failed.

    ``cordoned``: nodes that the action left cordoned; ``older``, ``lacking``: as of ``Report``. ``policy``: the state
    of its rollout policy, None without one, or before the nodes of the groups are known. ``waiting``: the approvals
    that the engine waits for. ``warnings``: the first that its steps found. ``cases``: the facts of its cases.
    """

    version: str
    action: ActionRecord
    groups: Sequence[ListedGroup]
    letters: str
    failed: Sequence[str] = ()
    cordoned: Sequence[str] = ()
    policy: Survey | None = None
    waiting: Sequence[WaveGate] = ()
    warnings: Sequence[str] = ()
    older: Sequence[str] = ()
    lacking: Sequence[Remedy] = ()
    cases: Sequence[JournalFact] = ()


class NodePlaces(Struct, frozen=True):
    """The nodes of an action in order of name, each with its groups and its rack; an empty rack is unknown."""

    names: Sequence[str]
    groups: Sequence[Sequence[str]]
    racks: Sequence[str]


class OverviewAction(Struct, frozen=True):
    """The use case; changes nothing. Raises NotFound for an unknown action. ``now``: the time of the site."""

    store: Store
    rendered: RenderedDesigns
    now: Callable[[], datetime]

    def __call__(self, action: str) -> Overview:
        """Return the action at a glance. It is at least as new as its version."""
        return self.store.read(lambda tx: _overview(tx, action, self.now()))

    def places(self, action: str) -> NodePlaces:
        """Return the nodes of an action, with the racks of its design if that can still be read."""
        record, nodes = self.store.read(lambda tx: _action_with_nodes(tx, action))
        racks = self._racks(record.revision) if nodes else {}
        names = [node.name for node in nodes]
        return NodePlaces(names, [node.groups for node in nodes], [racks.get(NodeName(name), "") for name in names])

    def _racks(self, revision: Revision | None) -> Mapping[NodeName, str]:
        if revision is None:
            return {}
        try:
            machines = self.rendered.inventory(revision).nodes
        except (UnknownRevision, RenderingFailed):
            return {}
        return {name: machine.rack for name, machine in machines.items()}


def letters(nodes: Sequence[NodeLine], groups: Sequence[GroupRecord]) -> str:
    """Return one letter for each node: that of the phase which has it now, else that of its status."""
    at_work = {}
    for group in groups:
        for phase in group.phases:
            if phase.ended_at is not None:
                continue
            running = NodeLetter.PREPARING if phase.phase == "prepare" else NodeLetter.DEPLOYING
            letter = NodeLetter.QUEUED if phase.running_at is None else running
            before = NodeStatus.NOT_STARTED if phase.phase == "prepare" else NodeStatus.PREPARED
            for name in phase.nodes:
                at_work[name] = (before, letter)
    letters_of = []
    for node in nodes:
        before, letter = at_work.get(node.name, (node.status, _OF_STATUS[node.status]))
        # A node that the provisioner reported as done already has the status that the phase leaves it with.
        letters_of.append((letter if node.status is before else _OF_STATUS[node.status]).value)
    return "".join(letters_of)


def left_cordoned(tx: Transaction, action: ActionRecord, nodes: Sequence[NodeName]) -> Sequence[NodeName]:
    """Return those of the nodes that an ended action left cordoned and with their labels, in order of name."""
    if action.state not in ENDED or not ACTIONS[action.name].tears_down:
        return []
    return [node for node, cordon in tx.nodes.left_cordoned_by(action.id, nodes).items() if not cordon.labels_cleared]


def lacking_of(tx: Transaction, action: ActionId, older: Sequence[NodeName]) -> Sequence[Remedy]:
    """Return the actions that give the nodes that an action left alone with an older specification the new one."""
    facts = [entry.fact for entry in tx.journal.entries(action, (NodesLeft.kind,))] if older else []
    differs: dict[NodeName, Sequence[str]] = {}
    services = False
    for fact in facts:
        if isinstance(fact, NodesLeft):
            differs.update(fact.differs)
            services = fact.services
    return remedies(older, differs, services=services)


def _survey(tx: Transaction, action: ActionRecord, inputs: ActionInputs, now: datetime) -> Survey | None:
    """Return the state of the pace by which a step deploys the nodes; of servers that begin each by itself, only the
    windows.
    """
    if inputs.is_paced and (rollout := paced_rollout(tx.task_results.step_states(action.id))):
        return survey(rollout.pace, rollout.situation(), now)
    windows = inputs.policy.policy.windows if inputs.policy and not ACTIONS[action.name].on_site else None
    return Survey([], [], list(next_spans(windows, now))) if windows else None


def _overview(tx: Transaction, action: str, now: datetime) -> Overview:
    # The version is read first: rows read after it may be newer, and the next request reads them once more.
    version = tx.actions.version(ActionId(action)) or ""
    record, nodes = _action_with_nodes(tx, action)
    groups = tx.actions.groups(record.id, status=(), group=(), after=-1, limit=_ALL)
    inputs = ActionInputs.from_json(tx.actions.inputs(record.id))
    criteria = {str(group.name): group.success_criteria for group in inputs.strategy.groups}
    listed = [
        ListedGroup(group, needed(criteria.get(group.name, SuccessCriteria()), sum(group.nodes.values())))
        for group in groups
    ]
    failed = [node.name for node in nodes if node.status is NodeStatus.FAILURE]
    cordoned = left_cordoned(tx, record, [NodeName(node.name) for node in nodes])
    policy = _survey(tx, record, inputs, now)
    waiting = approvals_of(tx, record).waiting if policy else ()
    facts = [entry.fact for entry in tx.journal.entries(record.id, (FindingReported.kind, *CASES))]
    warnings = _warnings(facts)
    older = [NodeName(node.name) for node in nodes if node.older]
    lacking = lacking_of(tx, record.id, older)
    shown = letters(nodes, groups)
    cases = [fact for fact in facts if fact.kind in CASES]
    return Overview(version, record, listed, shown, failed, cordoned, policy, waiting, warnings, older, lacking, cases)


def _warnings(facts: Sequence[JournalFact]) -> Sequence[str]:
    warnings = [fact.finding for fact in facts if isinstance(fact, FindingReported)]
    return [finding.message for finding in warnings if finding.level is Level.WARNING][:_WARNINGS]


def _action_with_nodes(tx: Transaction, action: str) -> tuple[ActionRecord, Sequence[NodeLine]]:
    record = tx.actions.get(ActionId(action))
    if record is None:
        raise ActionNotFound(action)
    return record, tx.nodes.lines(record.id)
