"""One operation of a teardown: what its parts have in common."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct, field

from shipyard_api.actions.steps.teardown.state import NodeState, moved, waiting
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Folded, Look, PeerFailure

Report = TypeVar("Report")

ReadLimits = Callable[[ActionId], TeardownLimits]
"""Return the limits that an action has now."""

SILENCE_PAUSE = 10.0
"""Seconds between two attempts at a peer that does not answer."""


class Request(ByFields, Struct, frozen=True):
    """A question about a node, or an effect on it. ``what`` distinguishes the requests of an operation.

    ``at``: when it was decided. ``more``: what else the operation needs, as JSON. ``begins``: it is the first effect on
    the node, which a policy was asked for.
    """

    OPTIONAL: ClassVar = frozenset({"begins"})

    operation: Operation | None
    node: NodeName
    action: ActionId
    revision: int
    at: datetime
    what: str = ""
    more: JsonObject = field(default_factory=dict)
    begins: bool = False


class Pace(Struct, frozen=True):
    """How long a part waits, in seconds of the site; ``factor``: seconds here for each of them."""

    factor: float = 1.0

    def after(self, now: datetime, seconds: float) -> datetime:
        """Return the moment when these seconds of the site are over."""
        return now + timedelta(seconds=seconds * self.factor)

    def lasted(self, since: datetime, now: datetime, seconds: float) -> bool:
        """Return whether these seconds of the site are over."""
        return now >= self.after(since, seconds)


class Part(Generic[Report]):
    """One operation. It decides from the state; ``ask`` and ``perform`` touch the world; ``fold`` judges the answer."""

    operation: Operation
    pace: Pace

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Return what to do next while the operation is the current one. Pure."""
        raise NotImplementedError

    def fold(self, state: NodeState, asked: Request, report: Report, now: datetime) -> Folded[NodeState]:
        """Return the state after a report. Pure."""
        raise NotImplementedError

    def seconds(self, state: NodeState) -> float:
        """Return the time limit of the operation."""
        raise NotImplementedError

    def ask(self, request: Request) -> Report:
        """Answer a question; raises ports.errors."""
        raise NotImplementedError

    def perform(self, request: Request, marker: Marker) -> Report:
        """Bring an effect about; raises ports.errors."""
        raise NotImplementedError

    def find(self, request: Request, marker: Marker, since: datetime, answers: JobAnswers) -> Report | None:
        """Return the report of an effect that there is no record of, None if it is safe to repeat; as ``Unit.find``."""
        return None

    def unmarked(self, request: Request) -> bool:
        """Return whether no peer keeps a mark of an effect; as ``Unit.unmarked``. Pure."""
        return False

    def fold_trouble(self, state: NodeState, asked: Request, trouble: PeerFailure, now: datetime) -> Folded[NodeState]:
        """Fail at once if the peer refuses or the node is held, and at the deadline if it gives no answer."""
        if trouble.nodes:
            return moved(state, state.teardown.forbid(self.operation, trouble.detail), now)
        time_up = now >= state.deadline(self.seconds(state))
        if trouble.refused or time_up:
            return self.failed(state, trouble.detail, now)
        pause = max(SILENCE_PAUSE * self.pace.factor, trouble.retry_after)
        return waiting(state, self.operation, now + timedelta(seconds=pause), (trouble.detail,))

    def request(self, state: NodeState, now: datetime, what: str = "", **details: Any) -> Request:
        """Return a request of this operation."""
        task = state.task
        return Request(self.operation, task.node, task.action, task.revision, now, what, details)

    def carry_on(self, state: NodeState, now: datetime, what: str = "", **details: Any) -> Act[Request]:
        """Return an effect that carries on from what it reads first."""
        # Beyond the deadline, so that the fold sees the deadline rather than the end of the attempts.
        give_up_at = max(now, state.deadline(self.seconds(state))) + timedelta(seconds=60)
        return Act(self.request(state, now, what, **details), give_up_at, repeatable=True)

    def failed(self, state: NodeState, why: str, now: datetime) -> Folded[NodeState]:
        """Return the state after the operation failed, or was never allowed to begin."""
        order = state.teardown
        end = order.fail if state.begun(self.operation) else order.refuse
        return moved(state, end(self.operation, why), now)

    def succeeded(self, state: NodeState, now: datetime, warning: str = "", note: str = "") -> Folded[NodeState]:
        """Return the state after the operation reached its goal."""
        return moved(state, state.teardown.succeed(self.operation, warning, note), now)

    def unknown(self, state: NodeState, now: datetime) -> Folded[NodeState]:
        """Return the state after Kubernetes said that it has no such node."""
        order = state.teardown
        if not state.begun(self.operation):
            order = order.begin(self.operation)
        return moved(state, order.node_is_unknown(self.operation, state.expected), now)
