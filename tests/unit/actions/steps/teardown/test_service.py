"""Operations that a Promenade does by itself: how etcd is awaited after one, and nodes that it does not know."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from shipyard_api.actions.steps.teardown.part import Request
from shipyard_api.actions.steps.teardown.service import ServiceAnswer, ServiceOperation
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_health import Health
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import DECOMMISSION, Operation, Outcome, Teardown
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
N1, ACTION, AWAIT = NodeName("n1"), ActionId("a"), Operation.AWAIT_ETCD
LIMITS = TeardownLimits(etcd_ready=600)
WELL, BAD = Health.HEALTHY, next(health for health in Health if health is not Health.HEALTHY)
SICK = f"etcd cluster kubernetes is {BAD.value}"
OTHER = f"etcd cluster calico is {BAD.value}"


@every_row(
    [
        # the health of each cluster, the seconds that have passed; the outcome, its reason, what is waited for
        ({}, 0, Outcome.DONE, "", ()),
        ({"kubernetes": WELL, "calico": WELL}, 700, Outcome.DONE, "", ()),
        ({"kubernetes": BAD, "calico": WELL}, 0, Outcome.RUNNING, "", (SICK,)),
        ({"kubernetes": BAD, "calico": BAD}, 599, Outcome.RUNNING, "", (SICK, OTHER)),
        ({"kubernetes": BAD, "calico": BAD}, 600, Outcome.FAILED, f"{SICK}; {OTHER}", ()),
    ]
)
def test_etcd_is_awaited_until_every_cluster_is_well_or_the_time_is_up(
    health: dict[str, Health], after: int, outcome: Outcome, why: str, waits: tuple[str, ...]
) -> None:
    now, none = NOW + timedelta(seconds=after), cast(Any, None)
    order = Teardown((AWAIT,)).begin(AWAIT)
    state = NodeState(TeardownTask(N1, ACTION, 3, (AWAIT,), LIMITS), order=order, limits=LIMITS, since=NOW)
    operation = ServiceOperation(AWAIT, none, none, none)

    folded = operation.fold(state, Request(AWAIT, N1, ACTION, 3, now, "health"), ServiceAnswer(health=health), now)

    teardown = folded.state.teardown
    assert (teardown.outcomes[AWAIT], teardown.messages.get(AWAIT, ""), folded.state.waits) == (outcome, why, waits)
    assert folded.wait_until == (now + timedelta(seconds=30) if waits else None)


@pytest.mark.parametrize("never_joined", [True, False])
@pytest.mark.parametrize(
    "operation", [*(one for one in DECOMMISSION if one is not AWAIT), Operation.REMOVE_FROM_CLUSTER]
)
def test_no_operation_is_repeated_at_once_on_a_node_that_promenade_does_not_know(
    operation: Operation, never_joined: bool
) -> None:
    none = cast(Any, None)
    order = Teardown((operation, AWAIT)).begin(operation)
    task = TeardownTask(N1, ACTION, 3, (operation, AWAIT), LIMITS)
    state = NodeState(task, order=order, limits=LIMITS, since=NOW, never_joined=never_joined)
    asked = Request(operation, N1, ACTION, 3, NOW)

    folded = ServiceOperation(operation, none, none, none).fold(state, asked, ServiceAnswer(is_known=False), NOW)

    assert folded.state.teardown.outcomes[operation] is not Outcome.RUNNING
    assert (folded.state.teardown.next_operation() is AWAIT) == (
        never_joined or operation in (Operation.SHUT_DOWN_KUBELET, Operation.REMOVE_FROM_CLUSTER)
    )


@every_row(
    [(Operation.DRAIN, None), (Operation.CLEAR_LABELS, Outcome.RUNNING), (Operation.REMOVE_ETCD, Outcome.RUNNING)]
)
def test_an_operation_that_may_take_a_member_out_has_begun_before_it_is_sent(
    operation: Operation, outcome: Outcome | None
) -> None:
    none = cast(Any, None)
    task = TeardownTask(N1, ACTION, 3, (operation,), LIMITS)
    state = NodeState(task, order=Teardown((operation,)), limits=LIMITS, since=NOW)
    asked = Request(operation, N1, ACTION, 3, NOW, "available")
    folded = ServiceOperation(operation, none, none, none).fold(state, asked, ServiceAnswer(), NOW)
    assert (folded.state.checked, folded.state.teardown.outcomes.get(operation)) == (True, outcome)
