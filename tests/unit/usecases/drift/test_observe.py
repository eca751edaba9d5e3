"""MachineObservation, without a database."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.drift.observations import LeftNode, MachineObservation, ObservedMachine, ObservedMember
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.ports.documents import UnreadableDesign
from shipyard_api.ports.state.nodes import Unobserved
from shipyard_api.usecases.drift.observe import PATIENCE, ObserveNodes
from tests.unit.tables import every_row

NOW = datetime(2026, 3, 2, tzinfo=UTC)
A, N1, N2 = ActionId("a"), NodeName("n1"), NodeName("n2")
DESIGN = Inventory.of([Node(N1, labels=(("rack", "r1"), ("zone", "z1"))), Node(N2)])
READY = ObservedMember(True, uid="u1", labels={"rack": "r9", "other": "x"})
ABSENT = ObservedMember(False, joined=False)
MACHINE = MachineObservation("m1", "i1")


def left(name: NodeName = N1, observation: MachineObservation | None = None) -> LeftNode:
    return LeftNode(name, A, NOW, observation)


class Peers:
    """Provisioner, cluster and state, with an action that has ended; ``asked``: the calls of peers."""

    def __init__(
        self, nodes: Sequence[LeftNode], members: Mapping[NodeName, ObservedMember], revision: int | None = 3
    ) -> None:
        self.nodes, self.members = nodes, members
        unobserved = Unobserved(A, ActionName("deploy_site"), {}, revision and Revision(revision), NOW)
        self.unobserved = [unobserved]
        self.asked: list[str] = []
        self.recorded: dict[NodeName, MachineObservation] = {}
        self.complete: set[ActionId] = set()
        self.observations = SimpleNamespace(
            to_observe=lambda **_: self.unobserved, left_nodes=lambda _: self.nodes, record=self.record
        )

    def begin(self) -> Any:
        return nullcontext(self)

    def record(self, observed: Mapping[NodeName, tuple[ActionId, Any]], complete: set[ActionId], now: datetime) -> None:
        self.recorded = {name: observation for name, (_, observation) in observed.items()}
        self.complete = set(complete)

    def conditions(self) -> Sequence[ObservedMachine]:
        self.asked.append("provisioner")
        return [ObservedMachine("N1", "Ready", "on", machine="m1", installed="i1")]

    def readiness(self, nodes: Collection[NodeName]) -> Mapping[NodeName, ObservedMember]:
        self.asked.append(f"cluster: {', '.join(nodes)}")
        return self.members

    def observe(self, *, cluster: bool = True, later: timedelta = timedelta(), broken: bool = False) -> int:
        def inventory(revision: Revision) -> Inventory:
            assert revision == 3
            if broken:
                raise UnreadableDesign("no such revision")
            return DESIGN

        peers = cast(Any, self)
        return ObserveNodes(peers, peers, peers if cluster else None, inventory, lambda: NOW + later, 30.0)()


@every_row(
    [
        # node, member; its machine's id, its installation, and what is kept of its labels
        (left(), READY, ("m1", "i1", {"rack": "r9"})),
        (left(), ABSENT, ("m1", "i1", None)),
        (left(N2), READY, ("", "", {})),
        (left(observation=MachineObservation("m0", "i0")), READY, ("m0", "i0", {"rack": "r9"})),
        (left(observation=MachineObservation("m0", "i0", ObservedMember(False))), READY, ("m0", "i0", {"rack": "r9"})),
    ]
)
def test_a_node_keeps_what_was_observed_first(
    node: LeftNode, member: ObservedMember, expected: tuple[str, str, Mapping[str, str] | None]
) -> None:
    peers = Peers([node], {node.name: member})
    assert peers.observe() == 1
    (found,) = peers.recorded.values()
    assert (found.machine, found.installed, found.member and found.member.labels) == expected
    assert peers.asked == [*(() if node.observation else ("provisioner",)), f"cluster: {node.name}"]


@every_row([(3, True), (None, False)])
def test_without_its_design_a_node_has_no_labels(revision: int | None, broken: bool) -> None:
    peers = Peers([left()], {N1: READY}, revision)
    peers.observe(broken=broken)
    assert peers.recorded[N1].member == ObservedMember(True, uid="u1")


@every_row(
    [
        # member, whether there is a cluster, after that time: whether the action is looked at again
        (READY, True, timedelta(), False),
        (ObservedMember(False), True, timedelta(), True),
        (ABSENT, True, PATIENCE - timedelta(seconds=1), True),
        (ABSENT, True, PATIENCE, False),
        (ABSENT, False, timedelta(), False),
    ]
)
def test_an_action_is_observed_until_its_nodes_are_ready_or_an_hour_has_passed(
    member: ObservedMember, cluster: bool, later: timedelta, again: bool
) -> None:
    peers = Peers([left()], {N1: member})
    peers.observe(cluster=cluster, later=later)
    assert (A not in peers.complete) == again


@every_row(
    [
        # observation, whether there is a cluster: whether it is renewed
        (MachineObservation("m1", "i1", READY), True, False),
        (MachineObservation("m1", "i1", ObservedMember(False)), True, True),
        (MACHINE, True, True),
        (MACHINE, False, False),
    ]
)
def test_a_complete_observation_is_not_renewed(observation: MachineObservation, cluster: bool, renewed: bool) -> None:
    peers = Peers([left(observation=observation), LeftNode(N2, ActionId("earlier"), NOW)], {N1: READY})
    assert peers.observe(cluster=cluster) == renewed
    assert peers.asked == (["cluster: n1"] if renewed else [])


def test_nodes_that_were_given_labels_keep_the_action_that_left_them() -> None:
    peers = Peers([LeftNode(N1, ActionId("earlier"), NOW, MachineObservation("m0", "i0", READY))], {N1: READY})
    relabel = {"target_nodes": ["n1"]}
    peers.unobserved = [Unobserved(A, ActionName("relabel_nodes"), relabel, Revision(3), NOW)]
    assert peers.observe() == 1
    assert peers.recorded[N1] == MachineObservation("m0", "i0", ObservedMember(True, uid="u1", labels={"rack": "r9"}))
    assert peers.complete == {A}


def test_without_an_action_to_sight_one_transaction_is_begun_and_no_peer_is_asked() -> None:
    begun = []

    def begin() -> Any:
        begun.append(1)
        return nullcontext(SimpleNamespace(observations=SimpleNamespace(to_observe=lambda **_: ())))

    store, nobody = cast(Any, SimpleNamespace(begin=begin)), cast(Any, None)

    assert ObserveNodes(store, nobody, None, nobody, lambda: datetime(2026, 3, 2, tzinfo=UTC), 30.0)() == 0
    assert begun == [1]
