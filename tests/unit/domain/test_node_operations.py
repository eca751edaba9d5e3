"""How calls of single operations end: the reason of the seed, and a message for each pod, label, member, operation."""

from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import EtcdMemberRemoved, LabelsCleared, PodsEvicted, TeardownChanged
from shipyard_api.domain.node_operations import NodeOperation, Reason, ended, read_limits
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import UNKNOWN_NODE, Operation, Outcome
from tests.unit.tables import every_row

N1 = NodeName("n1")


def changed(operation: Operation, outcome: Outcome, message: str = "") -> TeardownChanged:
    return TeardownChanged(N1, operation, outcome, message)


@every_row([(NodeOperation.DRAIN, "timeout"), (NodeOperation.DECOMMISSION, "drain-node-timeout")])
def test_a_timeout_below_the_usual_grace_period_lowers_it(operation: NodeOperation, timeout: str) -> None:
    sent, limits, faults = read_limits(operation, {timeout: ["60"]}, TeardownLimits())

    assert (sent, limits, faults) == ({timeout: 60}, TeardownLimits(drain=60, drain_grace_period=30), ())


FAILED = {
    "drain": (NodeOperation.DRAIN, Operation.DRAIN, Outcome.FAILED, "a/b is left", Reason.DRAIN),
    "a check of the removal": (
        NodeOperation.REMOVE_FROM_CLUSTER,
        Operation.REMOVE_FROM_CLUSTER,
        Outcome.REFUSED,
        "it has labels",
        Reason.CONFLICT,
    ),
    "the removal": (
        NodeOperation.REMOVE_FROM_CLUSTER,
        Operation.REMOVE_FROM_CLUSTER,
        Outcome.FAILED,
        "it registered itself again",
        Reason.DELETE_NODE,
    ),
    "the node has gone meanwhile": (
        NodeOperation.DRAIN,
        Operation.DRAIN,
        Outcome.FAILED,
        UNKNOWN_NODE,
        Reason.NOT_FOUND,
    ),
    "a 404 of a step": (NodeOperation.DECOMMISSION, Operation.DRAIN, Outcome.FAILED, UNKNOWN_NODE, Reason.DISASSOCIATE),
    "a step": (NodeOperation.DECOMMISSION, Operation.REMOVE_ETCD, Outcome.REFUSED, "no quorum", Reason.DISASSOCIATE),
}


@every_row(FAILED.values())
def test_each_failure_has_the_reason_of_the_seed(
    call: NodeOperation, operation: Operation, outcome: Outcome, message: str, reason: Reason
) -> None:
    end = ended(call, "n1", [changed(operation, outcome, message)], succeeded=False, why="")

    assert end.reason is reason
    assert end.text == f"{operation.value} of n1 failed: {message}"
    assert f"{operation.value}: {message}" in [one.text for one in end.messages if one.level.value == "Error"]


def test_each_pod_label_member_and_operation_has_a_message() -> None:
    facts: list[Fact] = [
        changed(Operation.DRAIN, Outcome.RUNNING),
        PodsEvicted(N1, ("a/b", "a/c")),
        PodsEvicted(N1, ("a/d",), forced=True),
        changed(Operation.DRAIN, Outcome.WARNING, "a/e could not confirm its end; a/f neither"),
        LabelsCleared(N1, ("openstack",)),
        changed(Operation.CLEAR_LABELS, Outcome.DONE),
        EtcdMemberRemoved(N1, "calico-etcd", "17", ("2 members would remain",)),
        changed(Operation.REMOVE_ETCD, Outcome.FAILED, "x; y"),
    ]
    end = ended(NodeOperation.DECOMMISSION, "n1", facts, succeeded=False, why="")

    assert [(one.level.value, one.text) for one in end.messages] == [
        ("Info", "pod a/b was evicted"),
        ("Info", "pod a/c was evicted"),
        ("Warning", "pod a/d was deleted past its budget"),
        ("Info", "label openstack was removed"),
        ("Info", "etcd member 17 left cluster calico-etcd"),
        ("Warning", "etcd cluster calico-etcd: 2 members would remain"),
        ("Warning", "drain: a/e could not confirm its end"),
        ("Warning", "drain: a/f neither"),
        ("Info", "clear-labels: done"),
        ("Error", "remove-etcd: x"),
        ("Error", "remove-etcd: y"),
        ("Warning", "await-etcd: not tried"),
        ("Warning", "shutdown-kubelet: not tried"),
    ]


def test_a_long_list_is_cut_and_keeps_its_failures() -> None:
    facts = [
        PodsEvicted(N1, tuple(f"a/{n}" for n in range(9000))),
        changed(Operation.DRAIN, Outcome.FAILED, "a/x left"),
    ]
    end = ended(NodeOperation.DRAIN, "n1", facts, succeeded=False, why="")

    assert len(end.messages) <= 500
    assert [one.text for one in end.messages][-2:] == ["and 8502 more", "drain: a/x left"]


def test_an_action_that_failed_without_a_word_of_its_operation_says_its_own() -> None:
    end = ended(NodeOperation.DRAIN, "n1", [], succeeded=False, why="drain of n1 was stopped")

    assert (end.reason, end.text) == (Reason.DRAIN, "drain of n1 was stopped")
    assert [one.text for one in end.messages] == ["drain: not tried", "drain of n1 was stopped"]
