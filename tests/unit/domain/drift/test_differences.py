"""Differences between nodes that were left and what peers show, as tables."""

from datetime import UTC, datetime

from msgspec.structs import replace

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.drift.differences import Kind, of_down, of_machines, of_members, of_teardowns
from shipyard_api.domain.drift.observations import (
    DownNode,
    LeftNode,
    MachineObservation,
    MachineState,
    ObservedMachine,
    ObservedMember,
    TakenDownNode,
)
from shipyard_api.domain.nodes import NodeName, NodeStatus
from tests.unit.tables import every_row

AT = datetime(2026, 11, 21, tzinfo=UTC)
N1 = NodeName("n1")
MEMBER = ObservedMember(ready=True, uid="u1", machine="s1", labels={"rack": "r1", "role": "web"})
LEFT = LeftNode(N1, ActionId("A"), AT, MachineObservation("m1", "installation 1", MEMBER))
SEEN = ObservedMachine("n1", "Deployed", "on", MachineState.DEPLOYED, "m1", "installation 1")
FREED = replace(SEEN, status="Ready", state=MachineState.FREE)
OTHER = ObservedMachine("n2", "Ready", "off", MachineState.FREE, "m2")

MACHINES = {
    "another case": (LEFT, [replace(SEEN, name="N1")], []),
    "gone": (LEFT, [OTHER], [(Kind.VANISHED, "a machine", "none")]),
    "renamed": (LEFT, [replace(SEEN, name="x")], [(Kind.RENAMED, "n1", "x")]),
    "renamed, and another has its name": (
        LEFT,
        [replace(OTHER, name="n1"), replace(SEEN, name="x")],
        [(Kind.RENAMED, "n1", "x")],
    ),
    "two of one name": (LEFT, [replace(OTHER, name="n1"), SEEN], []),
    "another machine of its name": (LEFT, [replace(SEEN, machine="m9")], [(Kind.REPLACED, "machine m1", "machine m9")]),
    "released": (
        LEFT,
        [replace(SEEN, status="Ready", state=MachineState.FREE)],
        [(Kind.RELEASED, "deployed", "Ready")],
    ),
    "a released machine may be off": (LEFT, [replace(FREED, power="off")], [(Kind.RELEASED, "deployed", "Ready")]),
    "being installed": (
        LEFT,
        [replace(SEEN, status="Deploying", state=MachineState.INSTALLING)],
        [(Kind.REINSTALLED, "deployed", "Deploying")],
    ),
    "installed again, and off": (
        LEFT,
        [replace(SEEN, installed="installation 2", power="off")],
        [(Kind.REINSTALLED, "installation 1", "installation 2"), (Kind.POWERED_OFF, "power on", "power off")],
    ),
    "power that nobody knows": (LEFT, [replace(SEEN, power="unknown")], []),
    "a status that nobody knows": (LEFT, [replace(SEEN, state=MachineState.UNKNOWN, power="off")], []),
    "a peer that names no installations": (LEFT, [replace(SEEN, machine="", installed="")], []),
    "never sighted": (replace(LEFT, observation=None), [replace(SEEN, machine="m9", installed="installation 9")], []),
    "never sighted, and gone": (replace(LEFT, observation=None), [OTHER], [(Kind.VANISHED, "a machine", "none")]),
    "sighted by a peer that names nothing": (replace(LEFT, observation=MachineObservation()), [SEEN], []),
}


@every_row(MACHINES)
def test_machines(left: LeftNode, seen: list[ObservedMachine], expected: list[tuple[Kind, str, str]]) -> None:
    found = of_machines([left], seen)
    assert [(one.kind, one.expected, one.seen) for one in found] == expected
    assert {(one.node, one.since) for one in found} <= {(N1, AT)}


GONE = ObservedMember(ready=False, why="not in the cluster", joined=False)
MEMBERS = {
    "as it was left": (LEFT, MEMBER, []),
    "gone": (LEFT, GONE, [(Kind.MISSING, "in the cluster", "not in the cluster")]),
    "another Node": (LEFT, replace(MEMBER, uid="u2"), [(Kind.REPLACED, "Node u1", "Node u2")]),
    "another system": (LEFT, replace(MEMBER, uid="u2", machine="s2"), [(Kind.REINSTALLED, "system s1", "system s2")]),
    "not ready": (LEFT, replace(MEMBER, ready=False, why="silent"), [(Kind.NOT_READY, "Ready", "silent")]),
    "labels lost and changed": (
        LEFT,
        replace(MEMBER, labels={"rack": "r2"}),
        [(Kind.LABELS, "rack=r1, role=web", "rack=r2, no role")],
    ),
    "left cordoned": (replace(LEFT, observation=MachineObservation(member=replace(MEMBER, cordoned=True))), MEMBER, []),
    "left cordoned, as it is": (
        replace(LEFT, observation=MachineObservation(member=replace(MEMBER, cordoned=True, ready=False))),
        replace(MEMBER, cordoned=True, ready=False),
        [],
    ),
    "never sighted": (replace(LEFT, observation=None), GONE, []),
    "torn down since": (replace(LEFT, in_cluster=False), GONE, []),
}


@every_row(MEMBERS)
def test_members(left: LeftNode, seen: ObservedMember, expected: list[tuple[Kind, str, str]]) -> None:
    found = of_members([left], {N1: seen}, cordoned_by_us=())
    assert [(one.kind, one.expected, one.seen) for one in found] == expected


def test_a_held_node_may_be_cordoned() -> None:
    assert not of_members([LEFT], {N1: replace(MEMBER, cordoned=True)}, cordoned_by_us={N1})


TAKEN = TakenDownNode(N1, ActionId("B"), ActionName("redeploy_server"), AT)
CORDONED = replace(MEMBER, cordoned=True)
RETRY = "by redeploy_server B, and not brought back: shipyard retry B"
AGAIN = "by node_operation B, and not brought back: shipyard create action redeploy_server --param=target_nodes=n1"
TAKEN_DOWN = {
    "cordoned": (TAKEN, CORDONED, (), [(Kind.CORDONED, "schedulable", f"cordoned {RETRY}")]),
    "cordoned, by what cannot be retried": (
        replace(TAKEN, action_name=ActionName("node_operation")),
        CORDONED,
        (),
        [(Kind.CORDONED, "schedulable", f"cordoned {AGAIN}")],
    ),
    "out of the cluster": (TAKEN, GONE, (), [(Kind.MISSING, "in the cluster", f"taken out {RETRY}")]),
    "uncordoned since": (TAKEN, MEMBER, (), []),
    "held": (TAKEN, CORDONED, {N1}, []),
}


@every_row(TAKEN_DOWN)
def test_teardowns(
    taken: TakenDownNode, seen: ObservedMember, held: set[NodeName], expected: list[tuple[Kind, str, str]]
) -> None:
    found = of_teardowns([taken], {N1: seen}, cordoned_by_us=held)
    assert [(one.kind, one.expected, one.seen) for one in found] == expected
    assert not of_teardowns([taken], {}, cordoned_by_us=held)


FREE = replace(FREED, status="available")
DOWN = DownNode(N1, ActionId("B"), ActionName("redeploy_server"), AT, NodeStatus.FAILURE)
TORN = replace(DOWN, status=NodeStatus.NOT_STARTED, torn_down=True)
LOST = "taken down by redeploy_server B, and not brought back: shipyard retry B"
NOT_UP = {
    "erased, and failed": (DOWN, [FREE], "available: failed in redeploy_server B: shipyard retry B"),
    "deployed, and failed to join": (DOWN, [SEEN], f"{SEEN.status}: failed in redeploy_server B: shipyard retry B"),
    "gone": (DOWN, [], "no machine: failed in redeploy_server B: shipyard retry B"),
    "taken down": (TORN, [FREE], f"available: {LOST}"),
    "only drained": (TORN, [SEEN], None),
    "removed, and still in the design": (
        replace(TORN, action_name=ActionName("remove_server"), removed=True),
        [FREE],
        "available: taken down by remove_server B: shipyard create action update_site",
    ),
    "never begun": (
        replace(DOWN, status=NodeStatus.NOT_STARTED, action_name=ActionName("deploy_site")),
        [FREE],
        "available: not deployed by deploy_site B: shipyard retry B",
    ),
    "prepared only, and left deployed": (replace(DOWN, status=NodeStatus.PREPARED), [SEEN], None),
}


@every_row(NOT_UP)
def test_servers_that_are_not_up(down: DownNode, seen: list[ObservedMachine], expected: str | None) -> None:
    found = [(one.node, one.kind, one.expected, one.seen) for one in of_down([down], seen)]
    assert found == ([(N1, Kind.NOT_DEPLOYED, "deployed", expected)] if expected else [])
