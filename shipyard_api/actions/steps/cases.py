"""Finding the cases of an action while it runs: what its nodes share, from its rows and from its frozen design.

Nothing here acts. A case proposes one command, as it is best when the case is found. The rollout of the action looks
for them after failures, and when nodes become late.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.rollout_messages import Answers, SeekCases, SoughtCases
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain import node_sets
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.cases.case import WORDS, Case, CaseKind, wording_of
from shipyard_api.domain.cases.features import Features, Value, of_design
from shipyard_api.domain.cases.find import NodeFact, Seen, find_cases
from shipyard_api.domain.cases.ranking import has
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.facts.cases import KINDS, CaseOpened, CasesUnknown, changes, open_cases, why_unknown
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.nodes import NodesChanged, NodesLate, NodesNotLate
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.expected import Expectations
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.remedies import retry
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision, UnreadableDesign
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.storage.unit_of_work import Store

_ALL = 2**31 - 1
_UNTRIED = frozenset({"held", "policy", "refused", "teardown", "skipped"})
"""Reasons of nodes that nothing was done to, so that they say nothing about a cause."""
_PHASE_OF = {NodeStatus.NOT_STARTED: Phase.PREPARE, NodeStatus.PREPARED: Phase.DEPLOY}


class FindCases(Struct, frozen=True):
    """The search. ``rendered`` raises UnknownRevision and RenderingFailed; ``seen``: what was seen last of servers,
    which counts before the design.

    ``expected``: the hardware that a revision expects, whose cabling names the switches of a node.
    """

    store: Store
    rendered: Callable[[Revision], Rendering]
    seen: Callable[[Collection[NodeName]], Mapping[str, Mapping[NodeName, Value]]] = lambda _: {}
    expected: Callable[[Revision], Expectations] = lambda _: {}

    def __call__(self, question: SeekCases) -> SoughtCases:
        """Return the facts that make the open cases of an action those of now, or that say why these are unknown."""
        action, inputs, ended = question.action, question.inputs, question.ended
        with self.store.begin() as tx:
            nodes = tx.actions.nodes(ActionId(action), status=(), group=(), after="", limit=_ALL)
            groups = tx.actions.groups(ActionId(action), status=(), group=(), after=-1, limit=_ALL)
            known = [entry.fact for entry in tx.journal.entries(ActionId(action), KINDS)]
        before, unknown = open_cases(known), why_unknown(known)
        try:
            features = self.features(inputs, nodes)
        except (UnreadableDesign, PeerError) as error:
            return SoughtCases(() if unknown else (CasesUnknown(str(error)),), answered=False)
        sent = _Sent.of(groups)
        found: list[Case] = []
        for kind in (CaseKind.FAILED, CaseKind.LATE):
            facts = _facts(kind, nodes, sent)
            cases = find_cases(kind, facts, features)
            found += [replace(case, command=_command(case, action, facts, features, ended=ended)) for case in cases]
        new = [case.key for case in found if case.key not in {one.key for one in before}]
        with self.store.begin() as tx:
            earlier = tx.journal.earlier_cases(ActionId(action), new) if new else {}
        again = (CasesUnknown(""),) if unknown else ()
        return SoughtCases((*again, *changes(before, found, earlier)))

    def design(self, revision: Revision, nodes: Collection[NodeName]) -> Features:
        """Return what the design says of nodes, and what was seen of them. Raises UnreadableDesign and ports.errors."""
        try:
            features = of_design(self.rendered(revision))
        except (RenderingFailed, UnknownRevision) as error:
            raise UnreadableDesign(str(error)) from error
        cabled = {
            node: frozenset(cable.switch for cable in wanted.cabling.values())
            for node, wanted in self.expected(revision).items()
            if wanted.cabling
        }
        return features.extended({"switch": cabled}).extended(self.seen(nodes))

    def features(self, inputs: SiteInputs, nodes: Sequence[NodeRecord]) -> Features:
        """Return what is known of the nodes of an action; raises as ``design``."""
        names = [NodeName(node.name) for node in nodes]
        features = self.design(Revision(inputs.revision), names)
        known: dict[str, Mapping[NodeName, Value]] = {}
        known["group"] = {NodeName(node.name): frozenset(node.groups) for node in nodes if node.groups}
        if waves := _waves(inputs, nodes):
            known["wave"] = waves
        if inputs.deploy_steps:
            asked = {node: frozenset(template for template, _ in steps) for node, steps in inputs.deploy_steps.items()}
            known["template"] = {name: asked.get(name, frozenset()) for name in names}
        return features.extended(known)


def next_look(state: RolloutState, cases: FindCases | None, *, ended: bool = False) -> SeekCases | None:
    """Return the question if it is due, None otherwise. ``ended``: nothing of the rollout is left."""
    return SeekCases(state.action, state.inputs, ended) if cases is not None and state.cases_due else None


def answered(answers: Answers, cases: FindCases | None, question: SeekCases | None) -> Answers:
    """Return the answers of a poll, with the cases if it asks for them."""
    return with_fields(answers, cases=cases(question)) if question and cases else answers


def note(state: RolloutState, facts: Iterable[Fact]) -> None:
    """Remember that there may be another case after these facts; figures of open ones change with every node."""
    for fact in facts:
        match fact:
            case NodesChanged(status=status) if state.cases or status is NodeStatus.FAILURE:
                state.cases_due = True
            case NodesLate() | NodesNotLate():
                state.cases_due = True


def fold(state: RolloutState, sought: SoughtCases | None, *, ended: bool = False) -> tuple[Fact, ...]:
    """Return the facts about cases; None: they were not looked for. Without an answer, the next poll looks again."""
    if sought is None:
        return ()
    state.cases_due = not sought.answered and not ended
    state.cases = state.cases or any(fact.kind == CaseOpened.kind for fact in sought.facts)
    return sought.facts


class _Sent(Struct, frozen=True):
    """When each node was sent last, and which are at work."""

    last: Mapping[str, datetime]
    flight: Mapping[str, Phase]

    @classmethod
    def of(cls, groups: Sequence[GroupRecord]) -> "_Sent":
        phases = sorted((phase for group in groups for phase in group.phases), key=_submitted)
        last: dict[str, datetime] = {}
        flight: dict[str, Phase] = {}
        for phase in phases:
            last |= dict.fromkeys(phase.nodes, phase.submitted_at)
            if phase.ended_at is None:
                flight |= dict.fromkeys(phase.nodes, Phase(phase.phase))
        return cls(last, flight)

    def works_on(self, node: NodeRecord) -> bool:
        """Return whether a phase has the node now: a settled one has left its phase before the others."""
        wanted = _PHASE_OF.get(node.status)
        return wanted is not None and self.flight.get(node.name) is wanted


def _submitted(phase: PhaseRecord) -> datetime:
    return phase.submitted_at


def _facts(kind: CaseKind, nodes: Sequence[NodeRecord], sent: _Sent) -> Mapping[NodeName, NodeFact]:
    """Return what is known of each node that is part of the action."""
    affected = [node for node in nodes if _is_affected(kind, node)]
    reasons = Counter(node.reason for node in affected)
    # Nodes that are only prepared say nothing about what fails in a deployment.
    prepared_counts = kind is CaseKind.LATE or 2 * reasons[Phase.PREPARE.value] >= len(affected)
    facts = {}
    for node in nodes:
        if _is_affected(kind, node):
            late = node.late
            reason = node.detail or str(node.reason or "")
            since = late.since if kind is CaseKind.LATE and late else node.updated_at
            fact = NodeFact(Seen.AFFECTED, "" if kind is CaseKind.LATE else reason, since, sent.last.get(node.name))
        else:
            fact = NodeFact(_seen(kind, node, sent, prepared_counts=prepared_counts), sent=sent.last.get(node.name))
        facts[NodeName(node.name)] = fact
    return facts


def _is_affected(kind: CaseKind, node: NodeRecord) -> bool:
    if kind is CaseKind.LATE:
        return node.late is not None
    return node.status is NodeStatus.FAILURE and node.group is not None and node.reason not in _UNTRIED


def _seen(kind: CaseKind, node: NodeRecord, sent: _Sent, *, prepared_counts: bool) -> Seen:
    if node.reason is not None:
        return Seen.LEFT_OUT  # held, stopped by a rule, or failed where lateness is asked for
    if sent.works_on(node):
        return Seen.SPARED
    if node.status is NodeStatus.SUCCESS:
        return Seen.SPARED if node.group is not None else Seen.LEFT_OUT
    if node.status is NodeStatus.PREPARED and prepared_counts and kind is CaseKind.FAILED:
        return Seen.SPARED
    return Seen.AHEAD


def _waves(inputs: SiteInputs, nodes: Sequence[NodeRecord]) -> Mapping[NodeName, Value]:
    members: dict[GroupName, set[NodeName]] = {group.name: set() for group in inputs.strategy.groups}
    for node in nodes:
        for group in node.groups:
            members.setdefault(GroupName(group), set()).add(NodeName(node.name))
    pace = pacing.of(inputs, {group: frozenset(held) for group, held in members.items()})
    waves: dict[NodeName, Value] = {}
    for group in members if pace.has_waves else ():
        of_group = pace.waves_of(group)
        for name, held in of_group if len(of_group) > 1 else ():
            waves |= dict.fromkeys(held, f"{name} of {group}")
    return waves


def _command(case: Case, action: str, facts: Mapping[NodeName, NodeFact], features: Features, *, ended: bool) -> str:
    """Return the one command that is proposed: hold what the cause has still to hit, stop, or go on where it failed."""
    if ended:
        return retry(ActionId(action))
    if case.rest and case.feature != WORDS and (rest := _rest(case, facts, features)):
        reason = wording_of(case.feature).noun.format(case.value)
        return f"shipyard hold node {shlex.quote(node_sets.fold(rest))} --reason {shlex.quote(reason)}"
    if case.kind is CaseKind.LATE or (case.feature != WORDS and not case.rest):
        return f"shipyard describe node {case.nodes[0]}"
    return f"shipyard stop action/{action}"


def _rest(case: Case, facts: Mapping[NodeName, NodeFact], features: Features) -> list[NodeName]:
    column = features.columns.get(case.feature, ())
    return [
        name
        for name, held in zip(features.names, column, strict=False)
        if has(held, case.value) and name in facts and facts[name].seen is Seen.AHEAD
    ]
