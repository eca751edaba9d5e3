"""Log lines: journal entries as text, for operators who look for what happened at night.

A line shows everything that its entry holds, every node by its name, so that it can be searched. Text of a peer stays
in its line: line breaks and control characters are escaped.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import singledispatch
from typing import Any

from msgspec import Struct

from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.cases import CaseChanged, CaseClosed, CaseOpened, CasesUnknown
from shipyard_api.domain.facts.fact import Fact, JournalEntry, JournalFact, UnknownFact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown, RolloutEnded
from shipyard_api.domain.facts.jobs import JobStarted, WorkLeftBehind
from shipyard_api.domain.facts.nodes import (
    NodesChanged,
    NodesFailed,
    NodesGivenUp,
    NodesKept,
    NodesLate,
    NodesLeft,
    NodesNotLate,
    NodesRelabelled,
    TargetsKnown,
)
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited, PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.facts.policy import PolicyStopped, WaveEnded
from shipyard_api.domain.facts.software import SoftwareGiven, TaskChanged
from shipyard_api.domain.facts.steps import AttemptFailed, Broke, Intended, StepEnded, StepStarted, Waiting
from shipyard_api.domain.facts.teardown import (
    EtcdMemberRemoved,
    LabelsCleared,
    PodsEvicted,
    TeardownChanged,
    TeardownWaits,
)
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.specification.given import older_specification
from shipyard_api.domain.strategy.criteria import Shortfall

_WIDEST_KIND = len("work left behind")


def log_line(entry: JournalEntry) -> str:
    """Return the line: when, what kind of event, what happened."""
    at = entry.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    return f"{at}Z {entry.kind.replace('_', ' '):<{_WIDEST_KIND}} {sentence(entry)}".rstrip()


def sentence(entry: JournalEntry) -> str:
    """Return the log line of a fact."""
    return _one_line(f"by {entry.worker}" if isinstance(entry.fact, StepStarted) else _text(entry.fact))


@singledispatch
def _text(fact: JournalFact) -> str:
    """Return what happened; a fact without a sentence of its own is shown as it is stored."""
    return _json_text(fact.stored if isinstance(fact, UnknownFact) else fact.to_json())


@_text.register
def _(fact: Intended) -> str:
    effect = _json_text(fact.effect)
    return f"attempt {fact.attempt}, marker {fact.marker}{f': {effect}' if effect else ''}"


@_text.register
def _(fact: CaseOpened | CaseChanged) -> str:
    command = f" Next: {fact.case.command}." if fact.case.command else ""
    return f"{fact.case.sentence}{command} Nodes: {', '.join(fact.case.nodes)}"


@_text.register
def _(fact: CasesUnknown) -> str:
    return (
        f"what failed or late nodes have in common is not known: {fact.why}"
        if fact.why
        else "the cause is looked for again"
    )


@_text.register
def _(fact: CaseClosed) -> str:
    return f"no longer: {fact.sentence}"


@_text.register
def _(fact: TeardownChanged) -> str:
    return f"{fact.node}: {fact.operation.value} {fact.outcome.value}{f': {fact.message}' if fact.message else ''}"


@_text.register
def _(fact: TaskChanged) -> str:
    nodes: dict[str, list[str]] = {}
    for result in fact.results:
        nodes.setdefault(f"{result.status.value}{f' ({result.detail})' if result.detail else ''}", []).append(
            result.node
        )
    parts = "; ".join(f"{how} on {', '.join(on)}" for how, on in nodes.items())
    return f"{fact.task}: {parts}, marker {fact.marker}"


@_text.register
def _(fact: SoftwareGiven) -> str:
    return f"{fact.nodes} node(s) have all of their tasks" if fact.nodes else "no node has tasks any more"


@_text.register
def _(fact: TeardownWaits) -> str:
    return f"{fact.node}: {fact.operation.value} waits for {'; '.join(fact.reasons) or 'nothing more'}"


@_text.register
def _(fact: PodsEvicted) -> str:
    return f"{fact.node}: {'deleted past their budget' if fact.forced else 'evicted'}: {', '.join(fact.pods)}"


@_text.register
def _(fact: LabelsCleared) -> str:
    return f"{fact.node}: labels removed: {', '.join(fact.labels)}"


@_text.register
def _(fact: EtcdMemberRemoved) -> str:
    waived = f"; below the site's minimum: {'; '.join(fact.waived)}" if fact.waived else ""
    return f"{fact.node}: member {fact.member} has left etcd cluster {fact.cluster}{waived}"


@_text.register
def _(fact: Waiting) -> str:
    return f"for {fact.who}: {fact.what}{f', until {fact.deadline}' if fact.deadline else ''}"


@_text.register
def _(fact: AttemptFailed) -> str:
    return f"attempt {fact.attempt}: {fact.why}; asking again in {fact.pause:g} s"


@_text.register
def _(fact: Broke) -> str:
    return f"internal error, {fact.in_a_row} in a row: {fact.detail}"


@_text.register
def _(fact: StepEnded) -> str:
    skipped = f"will not run: {', '.join(fact.skipped)}" if fact.skipped else ""
    return _joined(fact.state.value, fact.detail, skipped)


@_text.register
def _(fact: Noted) -> str:
    return f"{fact.topic}: {fact.text}"


@_text.register
def _(fact: MembersKnown) -> str:
    return f"{fact.groups} groups, {fact.nodes} nodes"


@_text.register
def _(fact: GroupChanged) -> str:
    # The detail of a group that missed its criteria repeats them as a sentence.
    why = fact.detail or "; ".join(map(_missed, fact.shortfalls))
    reason = fact.reason.value if fact.reason else None
    return f"group {fact.group}: {_joined(_because(fact.status.value, reason), why)}"


@_text.register
def _(fact: NodesFailed) -> str:
    return f"a node is held after {fact.hold_after} failed deployments in a row: {_nodes(fact.nodes)}"


@_text.register
def _(fact: RolloutEnded) -> str:
    parts, critical = [fact.verdict.value], frozenset(fact.critical)
    for group_status, groups in fact.groups.items():
        marked = [f"{name} (critical)" if name in critical else name for name in groups]
        parts.append(f"groups {group_status.value}: {', '.join(marked)}")
    parts += [f"nodes {status.value}: {', '.join(nodes)}" for status, nodes in fact.nodes.items()]
    return "; ".join(parts)


@_text.register
def _(fact: PhaseStarted) -> str:
    return f"{_batch(fact.group, fact.phase, fact.batch)}: job {fact.job}, {_nodes(fact.nodes)}"


@_text.register
def _(fact: PhaseRunning) -> str:
    return f"{_batch(fact.group, fact.phase, fact.batch)}: the provisioner is at it"


@_text.register
def _(fact: PhaseEnded) -> str:
    return f"{_batch(fact.group, fact.phase, fact.batch)}: {_joined(fact.status.value, fact.message)}"


@_text.register
def _(fact: JoinAwaited) -> str:
    return f"{_batch(fact.group, Phase.DEPLOY, fact.batch)}: to be ready in Kubernetes: {_nodes(fact.nodes)}"


@_text.register
def _(fact: AcceptanceAwaited) -> str:
    return f"{_batch(fact.group, Phase.DEPLOY, fact.batch)}: to pass task {fact.task}: {_nodes(fact.nodes)}"


@_text.register
def _(fact: NodesChanged) -> str:
    named = [f"{node} ({fact.reasons[node]})" if fact.reasons.get(node) else node for node in fact.nodes]
    status = _because(fact.status.value, fact.reason)
    return f"group {fact.group}, {fact.phase.value}: {status}: {_nodes(named)}"


@_text.register
def _(fact: NodesLate) -> str:
    named = [f"{node} (usually at most {usual:.0f} s)" for node, usual in fact.usual.items()]
    return f"group {fact.group}, {fact.phase.value}: late after {fact.seconds:.0f} s: {_nodes(named)}"


@_text.register
def _(fact: NodesNotLate) -> str:
    return f"group {fact.group}, {fact.phase.value}: no longer late: {_nodes(fact.nodes)}"


@_text.register
def _(fact: WaveEnded) -> str:
    group = f"group {fact.group}, " if fact.group else ""
    missed = f"missed: {fact.missed}" if fact.missed else ""
    return f"{group}wave {fact.wave}: {_joined(f'{fact.begun} of {fact.nodes} nodes sent, {fact.lost} lost', missed)}"


@_text.register
def _(fact: PolicyStopped) -> str:
    return f"{fact.rule}: {fact.why}; {fact.nodes} nodes are not sent"


@_text.register
def _(fact: NodesGivenUp) -> str:
    return f"given up: {_nodes(fact.nodes)}: {fact.why}"


@_text.register
def _(fact: TargetsKnown) -> str:
    return f"to work on: {_nodes(fact.nodes)}"


@_text.register
def _(fact: NodesKept) -> str:
    return f"left alone, deployed before the retry of {fact.action}: {_nodes(fact.nodes)}"


@_text.register
def _(fact: NodesLeft) -> str:
    parts = [f"left alone: {older_specification(fact.older)}"] if fact.older else []
    parts += [f"left alone without a record of what they were given: {_nodes(fact.unknown)}"] if fact.unknown else []
    return "; ".join(parts)


@_text.register
def _(fact: NodesRelabelled) -> str:
    moved = tuple(node for node in fact.placement if node not in fact.labels)
    parts = [f"have the labels of the design: {_nodes(tuple(fact.labels))}"] if fact.labels else []
    return "; ".join([*parts, *([f"moved in the design: {_nodes(moved)}"] if moved else [])])


@_text.register
def _(fact: JobStarted) -> str:
    return f"{fact.operation}: job {fact.job}"


@_text.register
def _(fact: WorkLeftBehind) -> str:
    where = "the site" if fact.nodes is None else _nodes(fact.nodes)
    return f"{fact.operation}, job {fact.job}, may go on and Shipyard does not wait for it: {fact.why}; on {where}"


@_text.register
def _(fact: FindingReported) -> str:
    finding = fact.finding
    source = f" ({finding.source})" if finding.source else ""
    where = [f"{document.schema} {document.name}" for document in finding.documents]
    where += [finding.path] if finding.path else []
    return f"{finding.level.value} {finding.name}{source}: {_joined(finding.message, ', '.join(where))}"


def _missed(shortfall: Shortfall) -> str:
    return f"{shortfall.criterion.value}: {shortfall.needed} needed, {shortfall.actual} there"


def _batch(group: str, phase: Phase, batch: int) -> str:
    return f"group {group}, {phase.value}{f', batch {batch}' if batch != 1 else ''}"


def _because(status: str, reason: str | None) -> str:
    return f"{status} ({reason})" if reason else status


def _nodes(names: Sequence[str]) -> str:
    return f"{len(names)} node{'' if len(names) == 1 else 's'}: {', '.join(names)}"


def _joined(*parts: str) -> str:
    """Return the parts, each once: some details only repeat the state."""
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _json_text(value: Any) -> str:
    """Return any JSON value as text; a key of an object precedes its value."""
    if isinstance(value, Mapping):
        return "; ".join(f"{str(key).replace('_', ' ')}: {_json_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(f"({_json_text(item)})" if isinstance(item, Mapping) else _json_text(item) for item in value)
    return "none" if value is None else str(value)


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


class Headline(Struct, frozen=True):
    """A log line: a constant message, and its fields."""

    message: str
    fields: JsonObject


def headline(fact: Fact) -> Headline | None:
    """Return the log line of a fact; None for most facts, which only the journal shows."""
    match fact:
        case RolloutEnded():
            return Headline("rollout ended", fact.to_json())
        case CaseOpened(case):
            return Headline("case opened", {"case": case.sentence, "command": case.command})
    return None
