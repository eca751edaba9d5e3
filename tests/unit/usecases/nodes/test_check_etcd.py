"""What answering etcd clusters forbid, and when none is asked."""

from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess, Protection
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd
from tests.fakes.clock import FakeClock
from tests.fakes.cluster_nodes import FakeClusterNodes
from tests.fakes.etcd import FakeEtcd
from tests.unit.tables import every_row

NAMES = tuple(map(NodeName, ("n1", "n2", "n3")))
READ = Protection(TeardownLimits(), Revision(4), (EtcdAccess("etcd", ("http://10.0.0.1:2379",)),))
SILENT = Unavailable("Kubernetes", "node n1", "no answer")


def check(protection: Protection | Exception, *, has_nodes: bool = True, dead: str = "n3") -> CheckEtcd:
    """Return the use case for a cluster of three, of which one is dead: no other member may leave."""
    nodes, etcd = FakeClusterNodes(FakeClock().now), FakeEtcd()
    for name in NAMES:
        nodes.add(name)
    etcd.form("etcd", *NAMES, dead=dead.split())

    def of(_committed: Any) -> Protection:
        if isinstance(protection, Exception):
            raise protection
        return protection

    reader = type("Reader", (), {"of": staticmethod(of), "__call__": lambda _, revision: of(revision)})()
    return CheckEtcd(cast(Any, reader), nodes if has_nodes else None, etcd)


@every_row(
    {
        # what protects, whether Kubernetes is configured, who is dead; whether n1 may leave
        "a dead member": (READ, True, "n3", False),
        "all well": (READ, True, "", True),
        "no member answers": (READ, True, "n1 n2 n3", True),
        "no Kubernetes": (READ, False, "n3", True),
        "no Kubernetes, and faults": (replace(READ, faults=[error("X", "x")]), False, "n3", True),
        "a design with faults": (replace(READ, faults=[error("X", "x")]), True, "n3", True),
        "no clusters": (replace(READ, clusters=()), True, "n3", True),
        "a silent peer": (SILENT, True, "n3", True),
    }
)
def test_only_clusters_that_answer_forbid_that_a_node_leaves(
    protection: Any, has_nodes: bool, dead: str, may_leave: bool
) -> None:
    said = check(protection, has_nodes=has_nodes, dead=dead).of_node(Revision(3), NAMES[0])
    assert (len(said) == 0) is may_leave
    assert all("etcd" in sentence for sentence in said)


@every_row(
    [
        # the targets, how many at a time, whether they are removed for good, by force; who is dead; whether they may go
        ("n1", 1, False, False, "n3", False),
        ("n1", 1, False, True, "n3", True),
        ("n1", 1, False, False, "", True),
        ("n1 n2", 1, False, False, "", True),
        ("n1 n2", 2, False, False, "", True),
        ("n1 n2 n3", 1, False, False, "", True),
        ("n1 n2 n3", 3, False, False, "", False),
        ("n1 n2 n3", 1, True, False, "", False),
    ]
)
def test_targets_may_leave_by_batches_and_together_if_it_is_for_good(
    targets: str, at_once: int, removes: bool, force: bool, dead: str, may_go: bool
) -> None:
    parameters = SimpleNamespace(force=force, targets=tuple(map(NodeName, targets.split())), max_parallel_nodes=at_once)
    case: Any = SimpleNamespace(parameters=parameters, committed=Revision(4), action=SimpleNamespace(removes=removes))
    refusal = check(READ, dead=dead).of_targets(case)
    assert (refusal is None) is may_go
