"""The deployment groups and nodes of an action, in pages."""

from typing import Any

from shipyard_api.domain.facts.groups import GroupChanged, MembersKnown
from shipyard_api.domain.facts.nodes import NodesChanged
from shipyard_api.domain.facts.phases import PhaseEnded, PhaseStarted
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.strategy import selectors
from shipyard_api.domain.strategy.strategy import GroupName
from tests.factories import five_groups_inventory, five_groups_strategy, group, strategy
from tests.integration.api.recorded import pages, record
from tests.integration.api.wire import Site, five_groups_design, kept

CONTROL, NTP, ONE = GroupName("control-nodes"), GroupName("ntp-node"), GroupName("compute-nodes-1")
CONTROLLERS = tuple(NodeName(f"control0{number}") for number in range(1, 5))
ORDER = ["control-nodes", "compute-nodes-1", "compute-nodes-2", "monitoring-nodes", "ntp-node"]


@kept
def action(site: Site) -> str:
    """An action on the five groups: the time server is up, of the control nodes one failed, one hangs in deploy."""
    site.commit(*five_groups_design())
    action = site.create_action()
    five, inventory = five_groups_strategy(), five_groups_inventory()
    members = {one.name: selectors.select(one.selectors, inventory) for one in five.groups}
    ntp = (NodeName("ntp01"),)
    record(
        site.store,
        action,
        [
            MembersKnown.of(five, members),
            PhaseStarted(NTP, Phase.PREPARE, ntp, "job-1"),
            GroupChanged(NTP, GroupStatus.PREPARING),
            NodesChanged(NTP, Phase.PREPARE, NodeStatus.PREPARED, ntp),
            PhaseEnded(NTP, Phase.PREPARE, PhaseStatus.SUCCESS),
            NodesChanged(NTP, Phase.DEPLOY, NodeStatus.SUCCESS, ntp),
            GroupChanged(NTP, GroupStatus.SUCCESS),
            PhaseStarted(CONTROL, Phase.PREPARE, CONTROLLERS, "job-2"),
            NodesChanged(CONTROL, Phase.PREPARE, NodeStatus.PREPARED, CONTROLLERS[1:]),
            NodesChanged(
                CONTROL, Phase.PREPARE, NodeStatus.FAILURE, CONTROLLERS[:1], reasons={CONTROLLERS[0]: "no power"}
            ),
            PhaseEnded(CONTROL, Phase.PREPARE, PhaseStatus.PARTIAL_SUCCESS, "3 of 4"),
            GroupChanged(CONTROL, GroupStatus.DEPLOYING),
            PhaseEnded(ONE, Phase.PREPARE, PhaseStatus.FAILURE, "refused"),
            GroupChanged(ONE, GroupStatus.FAILED, Reason.DEPENDENCY, "control-nodes failed"),
        ],
    )
    return action


GROUPS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"status": ["failed", "success"]}, ["compute-nodes-1", "ntp-node"]),
    ({"group": ["ntp-node", "control-nodes"]}, ["control-nodes", "ntp-node"]),
    ({"group": "ntp-node", "status": "failed"}, []),
    ({"group": "a,b"}, []),
    ({"status": ""}, ORDER),
    ({"marker": 3}, ["ntp-node"]),
    ({"marker": 2147483647}, []),
)
NODES: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"status": ["failure", "success"]}, ["control01", "ntp01"]),
    ({"group": ["ntp-node", "control-nodes"]}, [*CONTROLLERS, "ntp01"]),
    ({"group": "control-nodes", "status": "prepared"}, list(CONTROLLERS[1:])),
    ({"group": "control-nodes", "marker": "control02x"}, list(CONTROLLERS[2:])),
    ({"group": "none"}, []),
)


def test_lists_are_filtered_and_come_in_pages(site: Site, action: str) -> None:
    for kind, rows in (("groups", GROUPS), ("nodes", NODES)):
        for params, expected in rows:
            found = site.viewer.get(f"/actions/{action}/{kind}", **params).json[kind]
            assert [one["name"] for one in found] == expected, params
    for limit, expected in ((2, [ORDER[:2], ORDER[2:4], ORDER[4:]]), (5, [ORDER, []]), (1000, [ORDER])):
        assert pages(site.viewer, f"/actions/{action}/groups", "groups", limit=limit) == expected
    for limit in (3, 16, 17):
        paged = pages(site.viewer, f"/actions/{action}/nodes", "nodes", limit=limit)
        listed = [name for page in paged for name in page]
        assert listed == sorted(listed)
        assert len(set(listed)) == len(listed) == 16  # control05 and compute31 are in no group's rack
        assert all(len(page) <= limit for page in paged)


def test_a_group_tells_its_nodes_and_phases(site: Site, action: str) -> None:
    groups = {group["name"]: group for group in site.viewer.get(f"/actions/{action}/groups").json["groups"]}

    control = groups["control-nodes"]
    (phase,) = control.pop("phases")
    assert control == {
        "name": "control-nodes",
        "critical": True,
        "status": "deploying",
        "reason": None,
        "detail": "",
        "depends_on": ["ntp-node"],
        "nodes": {"total": 4, "not_started": 0, "prepared": 3, "success": 0, "failure": 1},
        "needs": 4,  # 90 % of 4
    }
    assert (phase["phase"], phase["status"], phase["message"]) == ("prepare", "partial_success", "3 of 4")
    assert (phase["job"], phase["nodes"]) == ("job-2", list(CONTROLLERS))
    assert phase["submitted_at"] <= phase["ended_at"]
    assert (groups["compute-nodes-1"]["reason"], groups["compute-nodes-1"]["detail"]) == (
        "dependency",
        "control-nodes failed",
    )
    (unsent,) = groups["compute-nodes-1"]["phases"]
    assert (unsent["job"], unsent["nodes"], unsent["status"]) == ("", [], "failure")
    assert groups["monitoring-nodes"]["phases"] == []


def test_a_node_tells_who_sent_it_and_why_it_failed(site: Site, action: str) -> None:
    nodes = {node["name"]: node for node in site.viewer.get(f"/actions/{action}/nodes").json["nodes"]}

    failed = nodes["control01"]
    assert failed.pop("updated_at").endswith("Z")
    assert failed == {
        "name": "control01",
        "status": "failure",
        "reason": "prepare",
        "detail": "no power",
        "group": "control-nodes",
        "groups": ["control-nodes"],
        "late": None,
    }
    assert nodes["ntp01"]["status"] == "success"
    assert (nodes["compute11"]["group"], nodes["compute11"]["groups"]) == (None, ["compute-nodes-1"])


def test_a_node_of_two_groups_is_counted_in_both(site: Site) -> None:
    site.commit(*five_groups_design())
    action = site.create_action()
    assert site.viewer.get(f"/actions/{action}/groups").json == {"groups": [], "next": None}
    assert site.viewer.get(f"/actions/{action}/nodes").json == {"nodes": [], "next": None}
    for what in ("overview", "node-places", "groups", "nodes"):
        unknown = site.viewer.get(f"/actions/01M00000000000000000000000/{what}")
        assert (unknown.status_code, unknown.json["message"]) == (404, "Action not found")
    shared = frozenset({NodeName("n1")})
    both = strategy(group("a"), group("b"))
    record(
        site.store,
        action,
        [
            MembersKnown.of(both, {GroupName("a"): shared, GroupName("b"): shared}),
            NodesChanged(GroupName("a"), Phase.PREPARE, NodeStatus.FAILURE, (NodeName("n1"),), timed_out=True),
        ],
    )

    groups = site.viewer.get(f"/actions/{action}/groups").json["groups"]
    (node,) = site.viewer.get(f"/actions/{action}/nodes").json["nodes"]

    assert [one["nodes"]["failure"] for one in groups] == [1, 1]
    assert (node["groups"], node["group"], node["reason"]) == (["a", "b"], "a", "timeout")


def test_the_overview_has_a_letter_for_each_node_in_order_of_name(site: Site, action: str) -> None:
    sent = tuple(NodeName(f"compute2{number}") for number in (1, 2))
    record(
        site.store,
        action,
        [
            PhaseStarted(GroupName("compute-nodes-2"), Phase.PREPARE, sent, "job-3"),
            PhaseStarted(CONTROL, Phase.DEPLOY, CONTROLLERS[1:], "job-4"),
        ],
    )
    answer = site.viewer.get(f"/actions/{action}/overview")
    places = site.viewer.get(f"/actions/{action}/node-places").json

    found = answer.json
    names = places["names"]
    letters = dict(zip(names, found["nodes"]["letters"], strict=True))
    assert names == sorted(names)
    assert (found["action"]["id"], found["action"]["verdict"]) == (action, None)
    assert [group["name"] for group in found["groups"]] == ORDER
    assert [phase["nodes_sent"] for phase in found["groups"][0]["phases"]] == [4, 3]
    assert {letters[name] for name in sent} == {"q"}
    assert letters[CONTROLLERS[0]] == "f"
    assert letters["ntp01"] == "s"
    rack, group = places["rack_of"][names.index("ntp01")], places["groups_of"][names.index("ntp01")]
    assert (places["racks"][rack], [places["groups"][one] for one in group]) == ("rack03", ["ntp-node"])
    unchanged = site.viewer.ask(
        "GET", f"/api/v1.0/actions/{action}/overview", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert unchanged.status_code == 304
