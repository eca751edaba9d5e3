"""What actions do while peers answer is no drift, without a database: the site changes at the first call of a peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.drift.observations import (
    LeftNode,
    MachineObservation,
    MachineState,
    ObservedMachine,
    ObservedMember,
    TakenDownNode,
)
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Capabilities
from shipyard_api.usecases.drift.find import Drift, FindDrift, Since
from tests.unit.tables import every_row

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
N1, N2, N3 = NodeName("n1"), NodeName("n2"), NodeName("n3")
BASE = cast(Any, SimpleNamespace(id=ActionId("A1"), revision=None))
LATER = ActionId("A2")


DEPLOYMENT = SimpleNamespace(id=LATER, name=ActionName("deploy_site"), parameters={})


def node_operation(node: NodeName) -> Any:
    return SimpleNamespace(id=LATER, name=ActionName("node_operation"), parameters={"node": node})


@dataclass
class Site:
    """n1 and n2 were left deployed, n3 taken down; all three are away now. ``meanwhile``: what happens then."""

    meanwhile: Callable[[Site], None]
    nodes: dict[NodeName, LeftNode] = field(
        default_factory=lambda: {
            name: LeftNode(name, BASE.id, AT, MachineObservation(member=ObservedMember(ready=True)))
            for name in (N1, N2)
        }
    )
    down: list[TakenDownNode] = field(
        default_factory=lambda: [TakenDownNode(N3, BASE.id, ActionName("redeploy_server"), AT)]
    )
    moving: list[Any] = field(default_factory=list)
    working: dict[NodeName, ActionId] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.observations = SimpleNamespace(
            last_of=lambda _names, succeeded: BASE,
            left_nodes=lambda since: list(self.nodes.values()),
            taken_down=lambda since: list(self.down),
            down=lambda names: [],
            at_work=lambda: list(self.moving),
            nodes_at_work=lambda actions: {node: one for node, one in self.working.items() if one in actions},
        )
        self.holds = SimpleNamespace(active=lambda names: [])

    def begin(self) -> Any:
        return nullcontext(self)

    def read(self, ask: Callable[[Any], Any]) -> Any:
        return ask(self)

    def conditions(self) -> Sequence[ObservedMachine]:
        self.meanwhile(self)
        return [ObservedMachine(name, "Ready", "on", MachineState.FREE) for name in (N1, N2)]

    def readiness(self, nodes: Sequence[NodeName]) -> dict[NodeName, ObservedMember]:
        return {name: ObservedMember(ready=False, joined=False) for name in nodes}

    def drift(self) -> Drift:
        peer = cast(Any, SimpleNamespace(name="MAAS", conditions=self.conditions, capabilities=Capabilities()))
        cluster = cast(Any, SimpleNamespace(name="Kubernetes", readiness=self.readiness))
        return FindDrift(cast(Any, self), peer, cluster, cast(Any, None), lambda _: {})(Since.LAST_SITE_ACTION)


def nothing(site: Site) -> None:
    pass


def work_begins(site: Site) -> None:
    site.moving.append(node_operation(N1))


def work_ends(site: Site) -> None:
    site.moving.clear()


def another_action_leaves_it(site: Site) -> None:
    site.nodes[N1] = replace(site.nodes[N1], action=LATER)


def another_action_takes_it_down(site: Site) -> None:
    del site.nodes[N1]


def a_teardown_takes_it_out_of_the_cluster(site: Site) -> None:
    site.nodes[N1] = replace(site.nodes[N1], in_cluster=False)


def it_is_brought_back(site: Site) -> None:
    site.down.clear()


def a_deployment_takes_it_and_ends(site: Site) -> None:
    site.working[N1] = LATER
    site.moving.clear()


MEANWHILE = {
    "nothing": (nothing, [], ["n1", "n2"], ["n1", "n2", "n3"], {}),
    "work on it began": (work_begins, [], ["n2"], ["n2", "n3"], {N1: LATER}),
    "work on it ended": (work_ends, [node_operation(N1)], ["n2"], ["n2", "n3"], {N1: LATER}),
    "work on what was taken down ended": (work_ends, [node_operation(N3)], ["n1", "n2"], ["n1", "n2"], {}),
    "a deployment took it and ended": (a_deployment_takes_it_and_ends, [DEPLOYMENT], ["n2"], ["n2", "n3"], {N1: LATER}),
    "another action left it": (another_action_leaves_it, [], ["n2"], ["n2", "n3"], {}),
    "another action took it down": (another_action_takes_it_down, [], ["n2"], ["n2", "n3"], {}),
    "its teardown failed": (a_teardown_takes_it_out_of_the_cluster, [], ["n2"], ["n2", "n3"], {}),
    "what was taken down was brought back": (it_is_brought_back, [], ["n1", "n2"], ["n1", "n2"], {}),
}


@every_row(MEANWHILE)
def test_what_happens_while_peers_answer_is_no_drift(
    meanwhile: Callable[[Site], None],
    moving: list[Any],
    machines: list[str],
    members: list[str],
    skipped: dict[NodeName, ActionId],
) -> None:
    found = Site(meanwhile, moving=[*moving]).drift()

    assert {system: sorted(one.node for one in rows) for system, rows in found.differences.items()} == {
        "MAAS": machines,
        "Kubernetes": members,
    }
    assert (found.compared, found.skipped, found.unanswered) == (len(machines), skipped, [])
