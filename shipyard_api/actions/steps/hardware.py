"""The hardware of nodes, compared with what the design expects (product, section 15).

One place compares: a rollout before it sends nodes, plans, commits, drift and the page of a node ask it.

The gate of a rollout compares nodes before they are first powered on. A node that its provisioner has not inspected yet
is sent, because its preparation inspects it, and compared before it is deployed. A provisioner without an answer stops
nothing: the submission that follows needs it anyway.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.rollout_messages import Answers, CompareHardware
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.documents import BAREMETAL_NODE, Rendering, Revision
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.findings import MOST_NAMED, DocumentRef, Finding, error, in_short, info, warning
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.compare import Compared, compare
from shipyard_api.domain.hardware.expected import SCHEMA, Expectations, chosen_mode, read_expected
from shipyard_api.domain.hardware.seen import Aspect, NotSeen, SeenHardware, SeenNodes, Value, by_feature, features_of
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.site_design import SchemaCheck
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Folded, PeerFailure

FAIL = "fail"
BETWEEN_READINGS = timedelta(seconds=1)
MOST_POLLS = 10  # readings for one answer to a person


class Hardware(Struct, frozen=True):
    """The comparison. ``rendered`` raises UnknownRevision and RenderingFailed.

    ``store``: keeps what was seen last of each node, for the search for causes; None: nothing is kept.
    """

    rendered: Callable[[Revision], Rendering]
    check: SchemaCheck
    provisioner: Provisioner
    store: Store | None = None

    def expected(self, revision: Revision) -> Expectations:
        """Return what a revision expects of its nodes; nothing if it cannot be read, or compares none."""
        try:
            return self._expected(revision)
        except (RenderingFailed, UnknownRevision):
            return {}

    def _expected(self, revision: Revision) -> Expectations:
        rendering = self.rendered(revision)
        if SCHEMA not in rendering.kept:
            rendering.kept[SCHEMA] = read_expected(rendering, self.check)[0] if chosen_mode(rendering) else {}
        expected: Expectations = rendering.kept[SCHEMA]
        return expected

    def compared(self, revision: Revision, nodes: Collection[NodeName] | None = None, *, polls: int = 1) -> Compared:
        """Return how nodes, by default all of the design, differ. Raises ports.errors.

        ``polls``: how often inventories are read at most. Nodes that no poll has reached are ``unread``.
        """
        try:
            expected = self._expected(revision)
        except (RenderingFailed, UnknownRevision) as error:
            return Compared(unknown=dict.fromkeys(nodes or (), str(error)))
        chosen = sorted(expected if nodes is None else (node for node in nodes if node in expected))
        if not chosen:
            return Compared()
        aspects = frozenset[Aspect]().union(*{expected[node].aspects for node in chosen})
        seen: dict[NodeName, SeenHardware | NotSeen] = {}
        for _ in range(polls):
            left = [node for node in chosen if node not in seen]
            read = self.seen(left, aspects) if left else {}
            if not read:
                break
            seen.update(read)
        return compare(expected, seen, chosen)

    def seen(self, nodes: Collection[NodeName], aspects: frozenset[Aspect]) -> SeenNodes:
        """Return what the provisioner has seen of these nodes, and keep their features. Raises ports.errors."""
        read = self.provisioner.capabilities.inventory
        if read is None:
            return dict.fromkeys(nodes, NotSeen(f"{self.provisioner.name} shows no hardware of servers"))
        found = read(nodes, aspects)
        features = {node: features_of(seen) for node, seen in found.items() if isinstance(seen, SeenHardware)}
        if self.store is not None and features:
            with self.store.begin() as tx:
                tx.observations.keep_seen(features)
        return found

    def seen_features(self, nodes: Collection[NodeName]) -> Mapping[str, Mapping[NodeName, Value]]:
        """Return what any process has seen last of these nodes, by feature; asks no peer."""
        return {} if self.store is None else by_feature(self.store.read(lambda tx: tx.observations.seen(nodes)))

    def findings(
        self, revision: Revision, nodes: Collection[NodeName] | None = None, *, fails: bool = False
    ) -> Sequence[Finding]:
        """Return what a person should know of the hardware before a deployment of this revision.

        ``nodes``: those that are deployed, None for all of the design. ``fails``: whether a difference is an error, not
        a warning. Raises ports.errors.
        """
        compared = self.compared(revision, nodes, polls=MOST_POLLS)
        found = []
        if differing := list(compared.sentences()):
            number = len(compared.mismatches)
            message = f"{number} server{' has' if number == 1 else 's have'} other hardware or cabling than expected: "
            finding = (error if fails else warning)("HardwareDiffers", f"{message}{listed(differing)}")
            documents = tuple(DocumentRef(BAREMETAL_NODE, node) for node in sorted(compared.mismatches))
            found.append(replace(finding, documents=documents))
        if compared.unknown:
            message = f"Not compared with the expected hardware: {listed(unknown(compared.unknown))}"
            found.append(info("HardwareUnknown", message))
        if compared.unread:
            message = f"The hardware of {len(compared.unread)} servers has not been read yet; ask again to go on."
            found.append(info("HardwareNotRead", message))
        return found


def listed(sentences: Sequence[str]) -> str:
    """Return sentences as the end of a message."""
    return f"{in_short(sentences, MOST_NAMED, '; ', '; and {} more')}."


def unknown(reasons: Mapping[NodeName, str]) -> list[str]:
    """Return a sentence for each reason, with the nodes that share it."""
    by_reason: dict[str, list[NodeName]] = {}
    for node, why in sorted(reasons.items()):
        by_reason.setdefault(why, []).append(node)
    return [f"{in_short(nodes)}: {why}" for why, nodes in by_reason.items()]


def question(state: RolloutState, move: Move) -> CompareHardware | None:
    """Return what has to be asked before this move, the next one, is sent; None if it may be sent."""
    rollout, hardware = state.rollout, state.hardware
    if not state.inputs.hardware or rollout is None or not state.way(move).installs:
        return None
    nodes = [node for node in move.nodes if node not in hardware.checked]
    if move.phase is Phase.DEPLOY:
        nodes = [node for node in nodes if node in hardware.unknown or node in rollout.spared]
    return CompareHardware(move, tuple(nodes), state.inputs.revision) if nodes else None


def paced(folded: Folded[RolloutState], report: object, now: datetime) -> Folded[RolloutState]:
    """Wait a moment before the next reading, if this one has not reached all nodes."""
    match report:
        case Answers(hardware=Compared(unread=unread)) if unread:
            return dataclasses.replace(folded, wait_until=now + BETWEEN_READINGS)
    return folded


def sent(state: RolloutState, move: Move) -> None:
    """Forget that the nodes of a move were compared, once it is sent."""
    state.hardware.checked.difference_update(move.nodes)


def fold(state: RolloutState, rollout: Rollout, asked: CompareHardware, answer: Compared | PeerFailure) -> list[Fact]:
    """Record what was compared, fail nodes with wrong hardware if the design says so, and return the facts."""
    compared = answer
    if isinstance(compared, PeerFailure):
        compared = Compared(unknown=dict.fromkeys(asked.nodes, compared.detail))
    hardware = state.hardware
    read = [node for node in asked.nodes if node not in compared.unread]
    hardware.checked.update(read)
    hardware.unknown.difference_update(read)
    facts: list[Fact] = []
    if asked.move.phase is Phase.PREPARE:
        hardware.unknown.update(node for node in compared.unknown if node not in compared.mismatches)
    elif compared.unknown:
        facts.append(Noted("Hardware Unknown", f"not compared: {listed(unknown(compared.unknown))}"))
    if not compared.mismatches:
        return facts
    facts.append(Noted("Hardware Differs", listed(list(compared.sentences()))))
    if state.inputs.hardware == FAIL:
        reasons = {node: "; ".join(texts) for node, texts in compared.mismatches.items()}
        facts.extend(rollout.hold(asked.move, reasons, hardware=True))
        hardware.checked.difference_update(reasons)
    return facts
