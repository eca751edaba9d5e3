"""The order of a teardown, the meaning of failures, and what never repeats (seed 004, Process; product, 6).

Operations only run forwards. Three rules protect etcd and the node's pods at every crash, retry and new action:

- A node is never drained once the removal of its etcd members has begun. Clearing labels begins it: the anchor
  DaemonSet that loses its node then takes the member out by itself (contract: promenade, 4.2).
- Whatever may take a member out is only begun when the quorum rules allow the removal (``GUARDED``).
- A host is only destroyed after everything before it has ended well.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.stored import ByFields


class Operation(Enum):
    """One operation of a teardown; the values are stored, and the words of its messages."""

    DRAIN = "drain"
    CLEAR_LABELS = "clear-labels"
    REMOVE_ETCD = "remove-etcd"
    AWAIT_ETCD = "await-etcd"
    SHUT_DOWN_KUBELET = "shutdown-kubelet"
    DESTROY_NODE = "destroy-node"
    REMOVE_FROM_CLUSTER = "remove-from-cluster"
    UNCORDON = "uncordon"


class Outcome(Enum):
    """The status of an operation: running, or its outcome.

    ``skipped``: there was nothing to do, or it is forbidden. ``refused``: a check forbade it, or its deadline passed
    before it could begin.
    """

    RUNNING = "running"
    DONE = "done"
    WARNING = "warning"
    SKIPPED = "skipped"
    REFUSED = "refused"
    FAILED = "failed"


DECOMMISSION = (
    Operation.DRAIN,
    Operation.CLEAR_LABELS,
    Operation.REMOVE_ETCD,
    Operation.AWAIT_ETCD,
    Operation.SHUT_DOWN_KUBELET,
)
"""The Kubernetes side of a teardown, before the host is destroyed."""
TEARDOWN = (*DECOMMISSION, Operation.DESTROY_NODE, Operation.REMOVE_FROM_CLUSTER)

WHOLE, DRAIN, LEAVE, DESTROY = "teardown", "drain", "leave", "destroy"
"""The names of the parts of a teardown that are work items of their own: all of it, or the three in this order.

Several servers are drained and destroyed side by side, and leave one after another.
"""

GUARDED = frozenset({Operation.CLEAR_LABELS, Operation.REMOVE_ETCD})
"""Operations that may take etcd members out. Each begins only when ``decide_removal`` refuses no cluster."""
MAY_FAIL = frozenset({Operation.SHUT_DOWN_KUBELET})
"""Operations whose failure is a warning: the destruction of the host stops the kubelet in any case.

One that was called alone fails.
"""

WENT_WELL = frozenset({Outcome.DONE, Outcome.WARNING, Outcome.SKIPPED})
"""Outcomes after which the next operation begins."""
_WENT_WRONG = frozenset({Outcome.FAILED, Outcome.REFUSED})


UNKNOWN_NODE = "Kubernetes does not know the node"
"""The message of an operation on a node that Kubernetes lacks."""


class UnknownNode(Enum):
    """What the caller expects of a node that Kubernetes does not know."""

    IS_A_FAULT = "is_a_fault"
    NEVER_JOINED = "never_joined"


class Teardown(ByFields, Struct, frozen=True):
    """How far the teardown of one node is. Immutable; a step stores it as JSON.

    ``holds_etcd``: whether the node holds, or may hold, etcd members. ``etcd_removal_began_earlier``: an earlier action
    began to remove them, and the node has not been reinstalled since. ``messages``: why operations did not end as done.
    """

    operations: tuple[Operation, ...] = TEARDOWN
    outcomes: Mapping[Operation, Outcome] = field(default_factory=dict)
    messages: Mapping[Operation, str] = field(default_factory=dict)
    holds_etcd: bool = True
    etcd_removal_began_earlier: bool = False

    @property
    def etcd_removal_has_begun(self) -> bool:
        """Whether a member of the node may have left its cluster already."""
        begun = any(self.outcomes.get(operation, Outcome.REFUSED) is not Outcome.REFUSED for operation in GUARDED)
        return self.etcd_removal_began_earlier or (self.holds_etcd and begun)

    @property
    def may_drain(self) -> bool:
        """Whether pods may be evicted from the node now."""
        return not self.etcd_removal_has_begun

    @property
    def failed(self) -> Operation | None:
        """The operation that failed or was refused, None if none was."""
        return next((operation for operation in self.operations if self.outcomes.get(operation) in _WENT_WRONG), None)

    @property
    def done(self) -> bool:
        """Whether every operation has ended well."""
        return all(self.outcomes.get(operation) in WENT_WELL for operation in self.operations)

    @property
    def not_tried(self) -> tuple[Operation, ...]:
        """The operations whose turn has not come."""
        return tuple(operation for operation in self.operations if operation not in self.outcomes)

    def next_operation(self) -> Operation | None:
        """Return the operation to run or resume, None if one failed or all have ended."""
        if self.failed is not None:
            return None
        return next((operation for operation in self.operations if self.outcomes.get(operation) not in WENT_WELL), None)

    def begin(self, operation: Operation) -> Self:
        """Return the teardown with its next operation begun; must be stored before the operation changes anything.

        Resuming a running one changes nothing. A drain that is forbidden is skipped instead.
        """
        if operation is not self.next_operation():
            raise ValueError(f"{operation.value} is not the next operation")
        if operation is Operation.DRAIN and not self.may_drain:
            return self._with(operation, Outcome.SKIPPED, "the removal of the node's etcd members has begun")
        return self._with(operation, Outcome.RUNNING)

    def refuse(self, operation: Operation, why: str) -> Self:
        """Return the teardown after the deadline of its next operation, which was never allowed to begin."""
        if operation is not self.next_operation() or operation in self.outcomes:
            raise ValueError(f"{operation.value} is not about to begin")
        return self._with(operation, Outcome.REFUSED, why)

    def succeed(self, operation: Operation, warning: str = "", note: str = "") -> Self:
        """Return the teardown after a running operation has reached its goal. ``note``: a remark for the operator."""
        return self._ended(operation, Outcome.WARNING if warning else Outcome.DONE, warning or note)

    def fail(self, operation: Operation, why: str) -> Self:
        """Return the teardown after a running operation has failed; no later one is tried, unless it may fail."""
        is_warning = operation in MAY_FAIL and len(self.operations) > 1
        return self._ended(operation, Outcome.WARNING if is_warning else Outcome.FAILED, why)

    def precondition_failed(self, operation: Operation, why: str) -> Self:
        """Return the teardown after the checks of a running operation forbade it, before it changed anything."""
        return self._ended(operation, Outcome.REFUSED, why)

    def forbid(self, operation: Operation, why: str) -> Self:
        """Return the teardown after it was forbidden to go on, by a hold on the node; also where a failure may be."""
        running = self.outcomes.get(operation) is Outcome.RUNNING
        return self._with(operation, Outcome.FAILED if running else Outcome.REFUSED, why)

    def node_is_unknown(self, operation: Operation, expected: UnknownNode) -> Self:
        """Return the teardown after it turned out that Kubernetes has no such node, which the operation needs.

        Its absence is the goal of ``remove-from-cluster``. Other operations on it fail, unless it never joined
        (contract promenade, 3.1).
        """
        if operation is Operation.REMOVE_FROM_CLUSTER:
            return self._ended(operation, Outcome.DONE, f"{UNKNOWN_NODE}: it has been removed already")
        if expected is UnknownNode.NEVER_JOINED:
            return self._ended(operation, Outcome.SKIPPED, UNKNOWN_NODE)
        return self.fail(operation, UNKNOWN_NODE)

    def again(self) -> Self:
        """Return the teardown of the same node by a new action or request, after this one ended or was stopped.

        Every operation is repeated, except a drain that is forbidden: each one recognises completed work. After a
        finished teardown the next one concerns a new host.
        """
        began = self.etcd_removal_has_begun and not self._is_finished
        return replace(self, outcomes={}, messages={}, etcd_removal_began_earlier=began)

    def report(self) -> tuple[tuple[Operation, Outcome | None, str], ...]:
        """Return each operation with its outcome (None: not tried) and message, in order."""
        return tuple(
            (operation, self.outcomes.get(operation), self.messages.get(operation, "")) for operation in self.operations
        )

    @property
    def _is_finished(self) -> bool:
        return self.outcomes.get(Operation.REMOVE_FROM_CLUSTER) in WENT_WELL

    def _ended(self, operation: Operation, outcome: Outcome, message: str) -> Self:
        if self.outcomes.get(operation) is not Outcome.RUNNING:
            raise ValueError(f"{operation.value} is not running")
        return self._with(operation, outcome, message)

    def _with(self, operation: Operation, outcome: Outcome, message: str = "") -> Self:
        messages = {**self.messages, operation: message} if message else self.messages
        return replace(self, outcomes={**self.outcomes, operation: outcome}, messages=messages)
