"""Notes: journal entries as clients of the REST API know them (contract: shipyard-rest, chapter 8).

A note is a view of one entry, so the two cannot disagree. Its id is a ULID that holds the id of the entry.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import singledispatch

from msgspec import Struct, field

from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.cases import CaseClosed, CaseOpened, CasesUnknown
from shipyard_api.domain.facts.fact import Fact, JournalEntry, JournalFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, LateResult, WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLate
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded, PhaseStarted
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.facts.software import TaskChanged, TaskStatus
from shipyard_api.domain.facts.teardown import (
    EtcdMemberRemoved,
    LabelsCleared,
    PodsEvicted,
    TeardownChanged,
    TeardownWaits,
)
from shipyard_api.domain.findings import Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.teardown.order import Outcome

LENGTH = 26
LONGEST_SUBJECT = 128
MOST = 5
SUMMARY = 1
"""An action shows its steps' notes up to this verbosity. Its own notes have none above it."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: without I, L, O and U
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_ENTRY = 2**63 - 1  # ids of the journal are signed
_PER_ENTRY = 2**16


class Linked(Enum):
    """The kinds of things that a note can link to."""

    JOB = "job"
    NODE = "node"


class Link(Struct, frozen=True):
    """A job or a machine of which the provisioner shows more."""

    what: Linked
    name: str


class Note(Struct, frozen=True):
    """One note, about a step of an action or (``step`` is None) the action itself; 1 to 5 is its verbosity."""

    id: str
    action: ActionId
    step: StepId | None
    subject: str
    sub_type: str
    text: str
    verbosity: int
    at: datetime
    link: Link | None = None

    @property
    def assoc_id(self) -> str:
        """What the note is about, in the form that clients know."""
        return f"step/{self.action}/{self.step}" if self.step else f"action/{self.action}"


# The lowest verbosity at which a fact matters. The start of a phase names the job that later notes are about.
_LEAST: Mapping[type[Fact], int] = {
    RolloutEnded: 1,
    WorkLeftBehind: 1,
    LateResult: 1,
    Noted: 1,
    CaseOpened: 1,
    CasesUnknown: 1,
    CaseClosed: 2,
    FindingReported: 1,
    TeardownWaits: 1,
    EtcdMemberRemoved: 1,
    LabelsCleared: 3,
    TeardownChanged: 2,
    TaskChanged: 2,  # failures; the rest from 4 on
    PodsEvicted: 1,  # deletions past a budget; evictions matter from 3 on
    PhaseStarted: 2,
    PolicyStopped: 1,
    WaveEnded: 2,
    NodesLate: 2,
    JoinAwaited: 2,
    AcceptanceAwaited: 2,
    PhaseEnded: 3,
    NodesChanged: 3,
    JobStarted: 5,
}


def kinds(verbosity: int) -> tuple[str, ...]:
    """Return the kinds of the facts that notes up to this verbosity are made from."""
    return tuple(fact.kind for fact, least in _LEAST.items() if least <= verbosity)


def creation(action: ActionId, revision: Revision | None, at: datetime) -> Note:
    """Return the note of an action's creation. It is a view of the action's own row, and so has the action's id."""
    text = "No configdoc revision" if revision is None else f"Configdoc revision {revision}"
    return Note(action, action, None, action, "action metadata", text, 1, at)


def notes(action: ActionId, name: ActionName, entries: Iterable[JournalEntry], verbosity: int = MOST) -> Iterator[Note]:
    """Yield the notes, up to a verbosity, of journal entries of one action, which are given in order.

    An entry on its own gives the same ids as among others; only the subject may then lack the job. A fact of another
    release gives no note.
    """
    jobs = _Jobs()
    for entry in entries:
        jobs.learn(entry.fact)
        default = name if isinstance(entry.fact, RolloutEnded) else entry.step or action
        for draft in _drafts(entry.fact, jobs):
            if draft.verbosity <= verbosity and draft.number < _PER_ENTRY:
                yield Note(
                    note_id(entry.at, entry.id, draft.number),
                    action,
                    entry.step,
                    (draft.subject or default)[:LONGEST_SUBJECT],
                    draft.sub_type,
                    draft.text,
                    draft.verbosity,
                    entry.at,
                    draft.link,
                )


def note_id(at: datetime, entry: int, number: int) -> str:
    """Return a note's id: milliseconds (48 bits), id of the entry (64), number of the note within the entry (16)."""
    value = (at - _EPOCH) // timedelta(milliseconds=1) << 80 | entry << 16 | number
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def entry_of(note: str) -> int | None:
    """Return the id of the journal entry that a note of this id would be a view of; None if the id holds none."""
    if len(note) != LENGTH or not set(note) <= set(_ALPHABET) or note[0] > "7":
        return None
    value = 0
    for character in note:
        value = value << 5 | _ALPHABET.index(character)
    entry = value >> 16 & (1 << 64) - 1
    return entry if 0 < entry <= _LARGEST_ENTRY else None


class _Draft(Struct, frozen=True):
    """A note without what its entry adds; without a subject it is about its step or action."""

    verbosity: int
    sub_type: str
    text: str
    subject: str = ""
    number: int = 0
    link: Link | None = None


class _Jobs(Struct):
    """The job that was given a batch of nodes, by batch and by node."""

    of_batches: dict[tuple[str, Phase, int], str] = field(default_factory=dict)
    of_nodes: dict[tuple[Phase, str], str] = field(default_factory=dict)

    def learn(self, fact: JournalFact) -> None:
        """Remember the job of a phase that starts."""
        if isinstance(fact, PhaseStarted):
            self.of_batches[fact.group, fact.phase, fact.batch] = fact.job
            self.of_nodes.update(dict.fromkeys(((fact.phase, node) for node in fact.nodes), fact.job))


@singledispatch
def _drafts(_fact: JournalFact, _jobs: _Jobs) -> Iterator[_Draft]:
    """Yield the notes of a fact; most facts are for the journal alone."""
    return iter(())


@_drafts.register
def _(fact: RolloutEnded, _jobs: _Jobs) -> Iterator[_Draft]:
    nodes: dict[str, Sequence[str]] = {status.value: names for status, names in fact.nodes.items()}
    critical = frozenset(fact.critical)
    groups: dict[str, Sequence[str]] = {
        status.value: [f"{name}(critical)" if name in critical else name for name in names]
        for status, names in fact.groups.items()
    }
    for number, (sub_type, listed) in enumerate((("Node Deployment", nodes), ("Deployment Groups", groups))):
        if text := _stages(listed):
            yield _Draft(1, sub_type, text, number=number)


@_drafts.register
def _(fact: PhaseStarted | JobStarted, _jobs: _Jobs) -> Iterator[_Draft]:
    if fact.job:
        yield _Draft(5, "Linked Task Info", "job", fact.job, link=Link(Linked.JOB, fact.job))


@_drafts.register
def _(fact: PhaseEnded, jobs: _Jobs) -> Iterator[_Draft]:
    if fact.message:
        text = _message("group", fact.group, fact.message, error=fact.status in _FAILED)
        yield _Draft(3, "Task Message", text, jobs.of_batches.get((fact.group, fact.phase, fact.batch), ""))


@_drafts.register
def _(fact: NodesChanged, jobs: _Jobs) -> Iterator[_Draft]:
    if fact.status is not NodeStatus.FAILURE:
        return
    for position, node in enumerate(fact.nodes):
        if why := fact.reasons.get(node):
            text = _message("node", node, why, error=True)
            yield _Draft(3, "Task Message", text, jobs.of_nodes.get((fact.phase, node), ""), 2 * position)
        # A node that could not be prepared may have no data at all; its job says what went wrong.
        if fact.phase is Phase.DEPLOY:
            link = Link(Linked.NODE, node)
            yield _Draft(5, "Linked Task Info", "detail_logs - builddata", node, 2 * position + 1, link)


@_drafts.register
def _(fact: PolicyStopped, _jobs: _Jobs) -> Iterator[_Draft]:
    yield _Draft(1, "Stopped By Policy", f"{fact.rule}: {fact.why}. {fact.nodes} nodes are not deployed")


@_drafts.register
def _(fact: WaveEnded, _jobs: _Jobs) -> Iterator[_Draft]:
    sent = f"{fact.begun} of {fact.nodes} nodes sent, {fact.lost} lost"
    text = _message("wave", fact.wave, f"{sent}; {fact.missed}" if fact.missed else sent, error=bool(fact.missed))
    yield _Draft(2, "Wave Ended", text, fact.group or "")


@_drafts.register
def _(fact: NodesLate, jobs: _Jobs) -> Iterator[_Draft]:
    for number, (node, usual) in enumerate(fact.usual.items()):
        held = "; held because of it" if fact.hold else ""
        late = f"{fact.phase.value} has lasted {fact.seconds:.0f} s, usually at most {usual:.0f} s{held}"
        job = jobs.of_nodes.get((fact.phase, node), "")
        yield _Draft(2, "Node Late", _message("node", node, late, error=False), job, number)


@_drafts.register
def _(fact: JoinAwaited, jobs: _Jobs) -> Iterator[_Draft]:
    waiting = f"waiting for {', '.join(fact.nodes)} to be ready in Kubernetes"
    job = jobs.of_batches.get((fact.group, Phase.DEPLOY, fact.batch), "")
    yield _Draft(2, "Join Awaited", _message("group", fact.group, waiting, error=False), job)


@_drafts.register
def _(fact: AcceptanceAwaited, jobs: _Jobs) -> Iterator[_Draft]:
    waiting = f"waiting for {', '.join(fact.nodes)} to pass acceptance task {fact.task}"
    job = jobs.of_batches.get((fact.group, Phase.DEPLOY, fact.batch), "")
    yield _Draft(2, "Acceptance Awaited", _message("group", fact.group, waiting, error=False), job)


@_drafts.register
def _(fact: WorkLeftBehind, _jobs: _Jobs) -> Iterator[_Draft]:
    where = "the site" if fact.nodes is None else ", ".join(fact.nodes)
    text = f"{fact.operation} on {where} may go on, Shipyard does not wait for it: {fact.why}"
    yield _Draft(1, "Work Left Behind", text, fact.job)


@_drafts.register
def _(fact: LateResult, _jobs: _Jobs) -> Iterator[_Draft]:
    parts = [f"{fact.operation} that was left behind: {fact.state}"]
    for outcome, nodes in (("succeeded", fact.succeeded), ("failed", fact.failed)):
        parts += [f"{outcome} {', '.join(nodes)}"] if nodes else []
    parts += [fact.message] if fact.message else []
    yield _Draft(1, "Late Result", "; ".join(parts), fact.job)


@_drafts.register
def _(fact: TeardownChanged, _jobs: _Jobs) -> Iterator[_Draft]:
    text = f"{fact.operation.value} {fact.outcome.value}{f': {fact.message}' if fact.message else ''}"
    wrong = fact.outcome in (Outcome.FAILED, Outcome.REFUSED)
    yield _Draft(2, "Teardown", _message("node", fact.node, text, error=wrong), fact.node)


@_drafts.register
def _(fact: TaskChanged, _jobs: _Jobs) -> Iterator[_Draft]:
    for number, result in enumerate(fact.results):
        wrong = result.status is TaskStatus.FAILED
        text = f"task {fact.task}: {result.status.value}{f': {result.detail}' if result.detail else ''}"
        yield _Draft(2 if wrong else 4, "Task", _message("node", result.node, text, error=wrong), result.node, number)


@_drafts.register
def _(fact: TeardownWaits, _jobs: _Jobs) -> Iterator[_Draft]:
    for number, reason in enumerate(fact.reasons):
        text = _message("node", fact.node, f"{fact.operation.value} waits: {reason}", error=False)
        yield _Draft(1, "Teardown Waits", text, fact.node, number)


@_drafts.register
def _(fact: PodsEvicted, _jobs: _Jobs) -> Iterator[_Draft]:
    done = "deleted past their budget" if fact.forced else "evicted"
    text = _message("node", fact.node, f"{done}: {', '.join(fact.pods)}", error=False)
    yield _Draft(1 if fact.forced else 3, "Pods Evicted", text, fact.node)


@_drafts.register
def _(fact: LabelsCleared, _jobs: _Jobs) -> Iterator[_Draft]:
    text = _message("node", fact.node, f"labels removed: {', '.join(fact.labels)}", error=False)
    yield _Draft(3, "Labels Cleared", text, fact.node)


@_drafts.register
def _(fact: EtcdMemberRemoved, _jobs: _Jobs) -> Iterator[_Draft]:
    waived = f"; below the site's minimum: {'; '.join(fact.waived)}" if fact.waived else ""
    text = _message("node", fact.node, f"has left etcd cluster {fact.cluster}{waived}", error=False)
    yield _Draft(1, "Etcd Member Removed", text, fact.node)


@_drafts.register
def _(fact: CaseOpened, _jobs: _Jobs) -> Iterator[_Draft]:
    yield _Draft(1, "Case Opened", fact.case.sentence)


@_drafts.register
def _(fact: CasesUnknown, _jobs: _Jobs) -> Iterator[_Draft]:
    if fact.why:
        yield _Draft(1, "Cases Unknown", f"what failed or late nodes have in common is not known: {fact.why}")


@_drafts.register
def _(fact: CaseClosed, _jobs: _Jobs) -> Iterator[_Draft]:
    yield _Draft(2, "Case Closed", fact.sentence)


@_drafts.register
def _(fact: Noted, _jobs: _Jobs) -> Iterator[_Draft]:
    yield _Draft(1, fact.topic, fact.text)


@_drafts.register
def _(fact: FindingReported, _jobs: _Jobs) -> Iterator[_Draft]:
    finding = fact.finding
    verbosity = {Level.ERROR: 1, Level.WARNING: 2}.get(finding.level)
    if verbosity is not None:
        source = f"{finding.source} " if finding.source else ""
        yield _Draft(verbosity, "Finding", f"{source}{finding.level.value}: {finding.message}", finding.name)


_FAILED = (PhaseStatus.FAILURE, PhaseStatus.TIMEOUT)

# What clients call the ends of nodes and groups; nothing else is shown (contract: shipyard-actions, 8.7).
_STAGES = (
    ("NOT_STARTED", frozenset({NodeStatus.NOT_STARTED.value, GroupStatus.NOT_STARTED.value})),
    ("DEPLOYED", frozenset({NodeStatus.SUCCESS.value, GroupStatus.SUCCESS.value})),
    ("FAILED", frozenset({NodeStatus.FAILURE.value, GroupStatus.FAILED.value})),
)


def _stages(names: Mapping[str, Sequence[str]]) -> str:
    stages = []
    for stage, statuses in _STAGES:
        if listed := [name for status, held in names.items() if status in statuses for name in held]:
            stages.append(f"Stage.{stage}: {', '.join(listed)}")
    return "; ".join(stages)


def _message(kind: str, name: str, message: str, *, error: bool) -> str:
    return f"{kind}:{name}:{message}{' (error)' if error else ''}"
