"""The order of a teardown and what its failures mean (seed 004, Process)."""

import pytest
from msgspec.structs import replace

from shipyard_api.domain.teardown.order import DECOMMISSION, TEARDOWN, Operation, Outcome, Teardown, UnknownNode
from tests.unit.tables import every_row

DRAIN, CLEAR_LABELS, REMOVE_ETCD, AWAIT_ETCD, SHUT_DOWN, DESTROY, REMOVE = TEARDOWN


def until(operation: Operation, teardown: Teardown | None = None) -> Teardown:
    """Return a teardown that has just begun this operation; all earlier ones are done."""
    teardown = teardown or Teardown()
    while (current := teardown.next_operation()) is not operation:
        assert current is not None
        teardown = teardown.begin(current)
        if teardown.outcomes[current] is Outcome.RUNNING:
            teardown = teardown.succeed(current)
    return teardown.begin(operation)


def test_the_order_is_that_of_the_seed() -> None:
    words = [operation.value for operation in TEARDOWN]

    assert words == [
        "drain",
        "clear-labels",
        "remove-etcd",
        "await-etcd",
        "shutdown-kubelet",
        "destroy-node",
        "remove-from-cluster",
    ]
    assert TEARDOWN[:5] == DECOMMISSION
    assert until(REMOVE).succeed(REMOVE).done


@every_row([one for one in TEARDOWN if one is not SHUT_DOWN])
def test_after_a_failure_the_rest_is_not_tried(operation: Operation) -> None:
    failed = until(operation).fail(operation, "because")

    assert (failed.next_operation(), failed.failed, failed.done) == (None, operation, False)
    place = TEARDOWN.index(operation)
    assert failed.not_tried == TEARDOWN[place + 1 :]
    assert [outcome for _, outcome, _ in failed.report()] == [
        *[Outcome.DONE] * place,
        Outcome.FAILED,
        *[None] * (6 - place),
    ]
    assert failed.report()[place][2] == "because"


def test_a_kubelet_that_does_not_stop_is_a_warning() -> None:
    warned = until(SHUT_DOWN).fail(SHUT_DOWN, "no DaemonSet")

    assert warned.next_operation() is DESTROY
    assert warned.report()[4] == (SHUT_DOWN, Outcome.WARNING, "no DaemonSet")
    alone = Teardown((SHUT_DOWN,)).begin(SHUT_DOWN).fail(SHUT_DOWN, "no DaemonSet")
    assert alone.failed is SHUT_DOWN  # nothing follows that a warning could be for


def test_a_hold_forbids_what_has_not_begun_and_fails_what_runs() -> None:
    last = until(SHUT_DOWN)  # whose own failure is a warning
    assert last.forbid(SHUT_DOWN, "held").report()[4] == (SHUT_DOWN, Outcome.FAILED, "held")
    assert last.succeed(SHUT_DOWN).forbid(DESTROY, "held").report()[5] == (DESTROY, Outcome.REFUSED, "held")


def test_only_the_next_operation_begins_and_only_a_running_one_ends() -> None:
    with pytest.raises(ValueError, match="destroy-node is not the next operation"):
        until(DRAIN).begin(DESTROY)
    with pytest.raises(ValueError, match="drain is not running"):
        Teardown().succeed(DRAIN)
    with pytest.raises(ValueError, match="drain is not about to begin"):
        until(DRAIN).refuse(DRAIN, "why")


def test_a_running_operation_is_resumed() -> None:
    running = until(REMOVE_ETCD)

    assert running.next_operation() is REMOVE_ETCD
    assert running.begin(REMOVE_ETCD) == running


# --- Never drained once etcd removal has begun ------------------------------------------------------------------------


@every_row(
    [
        (until(DRAIN).fail(DRAIN, "a budget"), True),
        (until(DRAIN).succeed(DRAIN).refuse(CLEAR_LABELS, "no quorum"), True),
        (until(CLEAR_LABELS), False),  # its anchor may have taken the member out
        (until(CLEAR_LABELS).fail(CLEAR_LABELS, "timeout"), False),
        (until(REMOVE).succeed(REMOVE), True),  # a new host
        (until(REMOVE_ETCD, Teardown(holds_etcd=False)), True),  # there was no member
        (replace(until(REMOVE_ETCD, Teardown(holds_etcd=False)), holds_etcd=True), False),
        (until(AWAIT_ETCD, Teardown(DECOMMISSION)).succeed(AWAIT_ETCD), False),
        (until(REMOVE_ETCD).again(), False),
    ],
)
def test_a_node_is_not_drained_again_once_its_members_may_have_left(ended: Teardown, may_drain: bool) -> None:
    again = ended.again().begin(DRAIN)

    assert again.may_drain is may_drain
    assert again.outcomes[DRAIN] is (Outcome.RUNNING if may_drain else Outcome.SKIPPED)
    assert again.next_operation() is (DRAIN if may_drain else CLEAR_LABELS)


# --- A node that Kubernetes does not know -----------------------------------------------------------------------------


@every_row(
    [
        (DRAIN, UnknownNode.IS_A_FAULT, Outcome.FAILED),
        (DRAIN, UnknownNode.NEVER_JOINED, Outcome.SKIPPED),
        (CLEAR_LABELS, UnknownNode.NEVER_JOINED, Outcome.SKIPPED),
        (SHUT_DOWN, UnknownNode.IS_A_FAULT, Outcome.WARNING),
        # Only a service that removes members by the name of their node says so of it.
        (REMOVE_ETCD, UnknownNode.NEVER_JOINED, Outcome.SKIPPED),
        (REMOVE_ETCD, UnknownNode.IS_A_FAULT, Outcome.FAILED),
        (REMOVE, UnknownNode.IS_A_FAULT, Outcome.DONE),
    ],
)
def test_an_unknown_node_is_a_fault_unless_it_never_joined_or_is_to_go(
    operation: Operation, expected: UnknownNode, outcome: Outcome
) -> None:
    assert until(operation).node_is_unknown(operation, expected).outcomes[operation] is outcome
