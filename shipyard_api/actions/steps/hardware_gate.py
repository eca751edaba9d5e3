"""The hardware gate of a rollout: nodes are compared with the design before they are first powered on.

A node that its provisioner has not inspected yet is sent, because its preparation inspects it, and compared before it
is deployed. A provisioner without an answer stops nothing: the submission that follows needs it anyway.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from shipyard_api.actions.steps.hardware import listed, unknown
from shipyard_api.actions.steps.rollout_messages import Answers, CompareHardware, Kind
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.compare import Compared
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.workflow.step import Folded, PeerFailure

FAIL = "fail"
BETWEEN_READINGS = timedelta(seconds=1)


def question(state: RolloutState, move: Move, kind: Kind) -> CompareHardware | None:
    """Return what has to be asked before this move, the next one, is sent; None if it may be sent."""
    rollout, hardware = state.rollout, state.hardware
    if not state.inputs.hardware or rollout is None or kind not in (Kind.DEPLOYMENT, Kind.PRESERVING):
        return None
    nodes = [node for node in move.nodes if node not in hardware.checked]
    if move.phase is Phase.DEPLOY:
        nodes = [node for node in nodes if node in hardware.unknown or node in rollout.spared]
    return CompareHardware(move, tuple(nodes), state.inputs.revision) if nodes else None


def paced(folded: Folded[RolloutState], report: object, now: datetime) -> Folded[RolloutState]:
    """Wait a moment before the next reading, if this one has not reached all nodes."""
    match report:
        case Answers(hardware=Compared(unread=unread)) if unread:
            return replace(folded, wait_until=now + BETWEEN_READINGS)
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
