"""Lists of nodes: the largest page, and the health of nodes."""

from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.tests.ironic.client import StartIronic


def test_the_health_of_a_node_is_shown_from_1_109_on(start: StartIronic) -> None:
    ironic = start(site=[SiteNode("a")])
    ironic.put("a", health="Critical")

    shown = ironic.call("GET", "/v1/nodes?fields=health", version="1.109").json()["nodes"]
    assert [node["health"] for node in shown] == ["Critical"]


def test_a_page_has_a_thousand_nodes_at_most(start: StartIronic) -> None:
    ironic = start(site=[SiteNode(f"n{number:04}") for number in range(1001)])

    answer = ironic.get("/v1/nodes?fields=name&limit=5000")

    assert len(answer["nodes"]) == 1000
    assert len(ironic.get(answer["next"].removeprefix(ironic.url))["nodes"]) == 1
