"""What was seen of servers last, as features that failed ones may share."""

from shipyard_api.domain.nodes import NodeName
from shipyard_api.storage.unit_of_work import Store

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def test_what_is_not_seen_again_keeps_its_value(store: Store) -> None:
    with store.begin() as tx:
        tx.observations.keep_seen({N1: {"switch": frozenset({"sw2", "sw1"}), "model": "R740"}, N2: {"model": "R650"}})
    with store.begin() as tx:
        tx.observations.keep_seen({N1: {"model": "R750"}, N3: {}})

    assert store.read(lambda tx: tx.observations.seen([N1, N3, NodeName("n4")])) == {
        N1: {"switch": frozenset({"sw1", "sw2"}), "model": "R750"},
        N3: {},
    }
