"""Operations that a Promenade with the teardown API does by itself (promenade, chapters 3 and 5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.part import Pace, Part, Request
from shipyard_api.actions.steps.teardown.state import NodeState, moved, waiting
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import GUARDED, Operation
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.teardown_service import NodeNotFound, ServiceReport, TeardownService
from shipyard_api.workflow.step import Act, Folded, Look

READY_SECONDS = 30.0
# Beyond the operation's own limit: the service's answer is the better one.
_EXTRA_SECONDS = 120.0


class ServiceAnswer(Struct, frozen=True):
    """An answer of the service. ``is_known``: whether it knows the node. ``health``: of etcd clusters, by name."""

    report: ServiceReport = ServiceReport()  # immutable
    is_known: bool = True
    health: Mapping[str, Health] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceOperation(Part[ServiceAnswer]):
    """An operation that is a single call. ``is_wanted``: whether an action still runs and was not stopped."""

    operation: Operation
    service: TeardownService
    design_of: Callable[[int], str]
    is_wanted: Callable[[ActionId], bool]
    pace: Pace = Pace()  # noqa: RUF009  # immutable

    def seconds(self, state: NodeState) -> float:
        """Return the limit that the service gets, and more."""
        limits = state.limits
        by_operation = {
            Operation.DRAIN: limits.drain,
            Operation.CLEAR_LABELS: limits.clear_labels,
            Operation.REMOVE_ETCD: limits.remove_etcd,
            Operation.AWAIT_ETCD: limits.etcd_ready,
            Operation.SHUT_DOWN_KUBELET: limits.shutdown_kubelet,
        }
        return by_operation.get(self.operation, limits.shutdown_kubelet) + _EXTRA_SECONDS

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request]:
        """Call the service, once it is known to have the API; etcd's health is polled."""
        if self.operation is Operation.AWAIT_ETCD:
            return Look(self.request(state, now, "health"))
        if not state.checked:
            return Look(self.request(state, now, "available"))
        return self.carry_on(state, now, limits=state.limits.to_json())

    def ask(self, request: Request) -> ServiceAnswer:
        """Find out whether the API is there, or how etcd is."""
        if request.what == "health":
            return ServiceAnswer(health=self.service.etcd_health(self.design_of(request.revision)))
        self.service.check_available(request.node)
        return ServiceAnswer()

    def perform(self, request: Request, marker: Marker) -> ServiceAnswer:
        """Run the operation."""
        try:
            report = self.service.run(
                self.operation,
                request.node,
                TeardownLimits.from_json(request.more["limits"]),
                self.design_of(request.revision),
                is_wanted=lambda: self.is_wanted(request.action),
            )
        except NodeNotFound:
            return ServiceAnswer(is_known=False)
        return ServiceAnswer(report)

    def fold(self, state: NodeState, asked: Request, report: ServiceAnswer, now: datetime) -> Folded[NodeState]:
        """End the operation, or poll etcd again."""
        if asked.what == "available":
            order = state.teardown
            state = replace(state, checked=True)
            return moved(state, order.begin(self.operation), now) if self.operation in GUARDED else Folded(state)
        if asked.what == "health":
            return self._await(state, report.health, now)
        if not report.is_known:
            return self.unknown(state, now)
        return self.succeeded(state, now, "; ".join(report.report.warnings))

    def _await(self, state: NodeState, health: Mapping[str, Health], now: datetime) -> Folded[NodeState]:
        reasons = tuple(
            f"etcd cluster {name} is {state.value}" for name, state in health.items() if state is not Health.HEALTHY
        )
        if not reasons:
            return self.succeeded(state, now)
        if now >= state.deadline(state.limits.etcd_ready):
            return self.failed(state, "; ".join(reasons), now)
        return waiting(state, self.operation, self.pace.after(now, READY_SECONDS), reasons)
