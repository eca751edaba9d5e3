"""When an etcd cluster has to recover before another member leaves."""

from datetime import UTC, datetime
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.actions.steps.teardown.etcd import RemoveEtcd
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation, Teardown
from tests.fakes.etcd import FakeEtcd
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 30, tzinfo=UTC)
N1, LEAVE = NodeName("n1"), Operation.REMOVE_ETCD
STATE = NodeState(
    TeardownTask(N1, ActionId("a"), 3, (LEAVE,), TeardownLimits()),
    order=Teardown((LEAVE,)).begin(LEAVE),
    limits=TeardownLimits(),
    since=NOW,
)


@every_row(
    [
        # when this operation removed a member, whether most of those that stay are dead; whether it must recover
        (None, True, False),
        (NOW, True, True),
        (NOW, False, False),
    ]
)
def test_a_cluster_must_recover_only_from_a_removal_of_ours(since: datetime | None, dead: bool, must: bool) -> None:
    etcd = FakeEtcd()
    etcd.form("etcd", "n1", "n2", "n3", dead=["n2", "n3"] if dead else [])
    cluster = etcd.look(EtcdAccess("etcd", ()))
    operation = RemoveEtcd(cast(Any, None))
    assert operation._must_recover(replace(STATE, calm_since=since), cluster, frozenset()) is must
