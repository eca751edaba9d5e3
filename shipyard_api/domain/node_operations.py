"""Operations on one node that are called at an address of their own (seed 004; contract: promenade, chapter 3)."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec import Struct

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import EtcdMemberRemoved, LabelsCleared, PodsEvicted, TeardownChanged
from shipyard_api.domain.findings import Level
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.limits import ON_BLOCKED, TeardownLimits
from shipyard_api.domain.teardown.order import DECOMMISSION, GUARDED, UNKNOWN_NODE, WENT_WELL, Operation, Outcome

_MOST = 500
# One second less than what makes a number of ten digits.
_LONGEST_NUMBER = 9
_QUOTED = 60
_ON_BLOCKED = {word.value: word for word in OnBlocked}


class NodeOperation(Enum):
    """The operations; the values are the last words of their addresses."""

    DECOMMISSION = "decommission"
    DRAIN = "drain"
    CLEAR_LABELS = "clear-labels"
    REMOVE_ETCD = "remove-etcd"
    SHUT_DOWN_KUBELET = "shutdown-kubelet"
    REMOVE_FROM_CLUSTER = "remove-from-cluster"
    UNCORDON = "uncordon"

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations, in order."""
        return DECOMMISSION if self is NodeOperation.DECOMMISSION else (Operation(self.value),)

    @property
    def takes_members(self) -> bool:
        """Whether it may take etcd members out of their clusters."""
        return bool(GUARDED.intersection(self.operations))


class Reason(Enum):
    """The seed's words for how a call ended; the values are ``reason`` on the wire. That of ``UNCORDON`` is ours."""

    SUCCESS = "Success"
    BAD_REQUEST = "BadRequest"
    NOT_FOUND = "NotFound"
    CONFLICT = "Conflict"
    TOO_MANY_CALLERS = "TooManyCallers"
    MISSING_DESIGN_REF = "MissingDesignRef"
    ETCD_NOT_ACCESSIBLE = "EtcdNotAccessible"
    DISASSOCIATE = "DisassociateStepFailure"
    DRAIN = "DrainNodeError"
    CLEAR_LABELS = "ClearLabelsError"
    REMOVE_ETCD = "RemoveEtcdError"
    SHUT_DOWN_KUBELET = "ShutdownKubeletError"
    DELETE_NODE = "DeleteNodeError"
    UNCORDON = "UncordonNodeError"


FAILURES: Mapping[NodeOperation, Reason] = {
    NodeOperation.DECOMMISSION: Reason.DISASSOCIATE,
    NodeOperation.DRAIN: Reason.DRAIN,
    NodeOperation.CLEAR_LABELS: Reason.CLEAR_LABELS,
    NodeOperation.REMOVE_ETCD: Reason.REMOVE_ETCD,
    NodeOperation.SHUT_DOWN_KUBELET: Reason.SHUT_DOWN_KUBELET,
    NodeOperation.REMOVE_FROM_CLUSTER: Reason.DELETE_NODE,
    NodeOperation.UNCORDON: Reason.UNCORDON,
}

_CHECKED = frozenset({NodeOperation.REMOVE_FROM_CLUSTER, NodeOperation.UNCORDON})
"""Operations that the state of the node may forbid, which is a conflict and no failure."""

WITH_DESIGN = frozenset({NodeOperation.DECOMMISSION, NodeOperation.REMOVE_ETCD})
"""Operations whose body is a design reference; the others have none."""

PARAMETERS: Mapping[NodeOperation, Mapping[str, str]] = {
    NodeOperation.DECOMMISSION: {
        "drain-node-timeout": "drain",
        "drain-node-grace-period": "drain_grace_period",
        "clear-labels-timeout": "clear_labels",
        "remove-etcd-timeout": "remove_etcd",
        "etcd-ready-timeout": "etcd_ready",
    },
    NodeOperation.DRAIN: {"timeout": "drain", "grace-period": "drain_grace_period", ON_BLOCKED: "on_blocked"},
    NodeOperation.CLEAR_LABELS: {"timeout": "clear_labels"},
    NodeOperation.REMOVE_ETCD: {"timeout": "remove_etcd"},
    NodeOperation.SHUT_DOWN_KUBELET: {},
    NodeOperation.REMOVE_FROM_CLUSTER: {},
    NodeOperation.UNCORDON: {},
}
"""The query parameters of each operation, and the limit that each one sets."""


class Message(Struct, frozen=True):
    """One entry of ``messageList``: a pod, label, member or operation."""

    text: str
    level: Level = Level.INFO

    def to_json(self) -> JsonObject:
        """Return the form on the wire (contract: promenade, 3.1)."""
        is_error = self.level is Level.ERROR
        return {"message": self.text, "error": is_error, "kind": "SimpleMessage", "level": self.level.value}


class OperationEnded(Struct, frozen=True):
    """How a call ended; ``text`` is one sentence."""

    reason: Reason
    text: str
    messages: tuple[Message, ...] = ()


def refused(reason: Reason, *sentences: str) -> OperationEnded:
    """Return the end of a call that was refused, for each of these reasons."""
    return OperationEnded(reason, " ".join(sentences), tuple(Message(sentence, Level.ERROR) for sentence in sentences))


def read_limits(
    operation: NodeOperation, query: Mapping[str, Sequence[str]], usual: TeardownLimits
) -> tuple[dict[str, int | str], TeardownLimits, tuple[str, ...]]:
    """Return the parameters that were sent, the limits with them, and a sentence for each that cannot be used.

    ``query``: every value of every parameter, as text. ``usual``: the limits of the site.
    """
    known = PARAMETERS[operation]
    sent: dict[str, int | str] = {}
    fields: dict[str, int | OnBlocked] = {}
    faults = []
    for name, values in query.items():
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            faults.append(f"{operation.value} has no parameter {_quoted(name)}: {takes}.")
        elif len(values) > 1:
            faults.append(f"{name} is given {len(values)} times: give it once.")
        elif name == ON_BLOCKED:
            if values[0] in _ON_BLOCKED:
                sent[name], fields[known[name]] = values[0], _ON_BLOCKED[values[0]]
            else:
                faults.append(f"{name} is {_quoted(values[0])}: write one of {', '.join(_ON_BLOCKED)}.")
        elif (seconds := _whole(values[0])) is None:
            faults.append(f"{name} is {_quoted(values[0])}: write a whole number of seconds above 0.")
        else:
            sent[name] = fields[known[name]] = seconds
    limits = usual.with_values(fields)
    if not faults and Operation.DRAIN in operation.operations and limits.drain_grace_period >= limits.drain:
        timeout, grace = list(known)[:2]
        usual_one = "" if {timeout, grace} <= sent.keys() else " (the usual one counts where it is not given)"
        numbers = f"{grace} is {limits.drain_grace_period} s and {timeout} is {limits.drain} s{usual_one}"
        faults.append(f"{numbers}: the grace period must be less than the timeout.")
    return sent, limits, tuple(faults)


def ended(operation: NodeOperation, node: str, facts: Iterable[Fact], *, succeeded: bool, why: str) -> OperationEnded:
    """Return how an action that ran the operation has ended, from its journal.

    ``why``: the action's own sentence, where the journal has none.
    """
    outcomes: dict[Operation, TeardownChanged] = {}
    done: list[Message] = []
    for fact in facts:
        match fact:
            case TeardownChanged():
                outcomes[fact.operation] = fact
            case PodsEvicted():
                how = "deleted past its budget" if fact.forced else "evicted"
                done += [
                    Message(f"pod {pod} was {how}", Level.WARNING if fact.forced else Level.INFO) for pod in fact.pods
                ]
            case LabelsCleared():
                done += [Message(f"label {label} was removed") for label in fact.labels]
            case EtcdMemberRemoved():
                done.append(Message(f"etcd member {fact.member} left cluster {fact.cluster}"))
                done += [Message(f"etcd cluster {fact.cluster}: {waiver}", Level.WARNING) for waiver in fact.waived]
            case _:
                pass
    wrong: list[Message] = []
    for part in operation.operations:
        wrong += _of_operation(part, outcomes.get(part), stopped=not succeeded)
    failed = next((change for change in outcomes.values() if change.outcome in (Outcome.FAILED, Outcome.REFUSED)), None)
    # Long lists of what went well give way: failures are always shown.
    shown = (*_cut(done, _MOST - min(len(wrong), _MOST // 2)), *_cut(wrong, _MOST // 2))
    if succeeded:
        return OperationEnded(Reason.SUCCESS, f"{operation.value} of {node} is done", shown)
    sentence = f"{failed.operation.value} of {node} failed: {failed.message}" if failed else why
    reason = FAILURES[operation]
    if operation is not NodeOperation.DECOMMISSION and failed is not None:
        if failed.message == UNKNOWN_NODE:
            reason = Reason.NOT_FOUND
        elif operation in _CHECKED and failed.outcome is Outcome.REFUSED:
            reason = Reason.CONFLICT
    if not any(message.level is Level.ERROR for message in shown):
        shown = (*shown, Message(sentence, Level.ERROR))
    return OperationEnded(reason, sentence, shown)


def _of_operation(operation: Operation, change: TeardownChanged | None, *, stopped: bool) -> list[Message]:
    if change is None:
        return [Message(f"{operation.value}: not tried", Level.WARNING)] if stopped else []
    parts = [part for part in change.message.split("; ") if part]
    match change.outcome:
        case Outcome.FAILED | Outcome.REFUSED:
            return [Message(f"{operation.value}: {part}", Level.ERROR) for part in parts or ["failed"]]
        case Outcome.WARNING:
            return [Message(f"{operation.value}: {part}", Level.WARNING) for part in parts or ["done"]]
        case Outcome.RUNNING:
            return [Message(f"{operation.value}: it was stopped before its end", Level.ERROR)]
        case outcome:
            word = "done" if outcome in WENT_WELL and outcome is not Outcome.SKIPPED else "skipped"
            return [Message(f"{operation.value}: {word}{', ' if parts else ''}{'; '.join(parts)}")]


def _cut(messages: list[Message], most: int) -> list[Message]:
    if len(messages) <= most:
        return messages
    return [*messages[: most - 1], Message(f"and {len(messages) - most + 1} more", messages[-1].level)]


def _whole(written: str) -> int | None:
    """Return a whole number above 0 in digits alone, None for anything else."""
    is_number = written.isascii() and written.isdigit() and len(written) <= _LONGEST_NUMBER
    return int(written) if is_number and int(written) > 0 else None


def _quoted(written: str) -> str:
    return repr(written if len(written) <= _QUOTED else f"{written[:_QUOTED]}…")
