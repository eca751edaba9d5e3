"""Lists of nodes: filters, fields and pages."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.ironic.site import SiteNode
from shipyard_simulators.tests.in_process import unserved
from shipyard_simulators.tests.ironic.client import Ironic, StartIronic
from shipyard_simulators.tests.waiting import VirtualClock


@pytest.fixture(scope="module")
def site() -> Iterator[Ironic]:
    clock = VirtualClock()
    with unserved(IronicSimulator(clock=clock)) as simulator:
        ironic = Ironic(simulator, clock)
        ironic.create("a", resource_class="small", owner="p1", extra={"rack": "r1"})
        ironic.at("b", "available", resource_class="small", lessee="p1", shard="s1")
        ironic.at("c", "active", resource_class="big", description="the big one")
        ironic.put("c", instance_uuid=str(UUID(int=3)), traits=["CUSTOM_GPU"])
        ironic.at("d", "clean failed", driver="ipmi", conductor_group="west")
        ironic.put("d", maintenance=True, fault="clean failure", retired=True)
        yield ironic


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", "abcd"),
        ("provision_state=available", "b"),
        ("maintenance=true", "d"),
        ("maintenance=False", "abc"),
        ("associated=true", "c"),
        ("associated=false", "abd"),
        (f"instance_uuid={UUID(int=3)}", "c"),
        ("resource_class=small", "ab"),
        ("resource_class=small&provision_state=enroll", "a"),
        ("driver=ipmi", "d"),
        ("fault=clean%20failure", "d"),
        ("conductor_group=west", "d"),
        ("conductor=conductor-1", "abcd"),
        ("owner=p1", "a"),
        ("lessee=p1", "b"),
        ("project=p1", "ab"),
        ("shard=s1", "b"),
        ("retired=1", "d"),
        ("description_contains=big", "c"),
        ("sort_key=name&sort_dir=desc", "dcba"),
        ("sort_key=resource_class", "cabd"),
    ],
)
def test_lists_are_filtered_and_sorted(site: Ironic, query: str, names: str) -> None:
    assert "".join(node["name"] for node in site.get(f"/v1/nodes?{query}")["nodes"]) == names


def test_a_list_shows_few_fields_by_default(site: Ironic) -> None:
    few = {"instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name", "links"}

    assert set(site.get("/v1/nodes")["nodes"][0]) == few
    named = site.get("/v1/nodes?fields=name,traits,extra")["nodes"]
    assert set(named[0]) == {"name", "traits", "extra", "links"}
    assert [node["traits"] for node in named] == [[], [], ["CUSTOM_GPU"], []]
    assert site.get("/v1/nodes?detail=True") == site.get("/v1/nodes/detail")
    assert "driver_info" in site.get("/v1/nodes/detail")["nodes"][0]


def test_the_health_of_a_node_is_shown_from_1_109_on_and_set_by_nobody(start: StartIronic) -> None:
    ironic = start(site=[SiteNode("a")])
    ironic.put("a", health="Critical")

    shown = ironic.call("GET", "/v1/nodes?fields=health", version="1.109").json()["nodes"]
    assert [node["health"] for node in shown] == ["Critical"]
    assert ironic.call("GET", "/v1/nodes?fields=health", version="1.108").status_code == 406
    assert ironic.patch("a", {"op": "replace", "path": "/health", "value": "OK"}).status_code == 400


@pytest.mark.parametrize(
    ("limit", "pages"), [(1, "a b c d -"), (2, "ab cd -"), (3, "abc d"), (4, "abcd -"), (9, "abcd")]
)
def test_a_full_page_names_the_next_one_even_if_that_is_empty(site: Ironic, limit: int, pages: str) -> None:
    seen, path = [], f"/v1/nodes?fields=name,uuid&limit={limit}"
    while path:
        answer = site.get(path)
        seen.append("".join(node["name"] for node in answer["nodes"]) or "-")
        assert all(set(node) == {"name", "uuid", "links"} for node in answer["nodes"])
        path = answer.get("next", "").removeprefix(site.url)
    assert " ".join(seen) == pages


def test_the_next_page_keeps_the_filters(site: Ironic) -> None:
    following = site.get("/v1/nodes?maintenance=false&limit=2")["next"].removeprefix(site.url)
    assert [node["name"] for node in site.get(following)["nodes"]] == ["c"]


def test_a_page_has_a_thousand_nodes_at_most(start: StartIronic) -> None:
    ironic = start(site=[SiteNode(f"n{number:04}") for number in range(1001)])

    answer = ironic.get("/v1/nodes?fields=name&limit=5000")

    assert len(answer["nodes"]) == 1000
    assert len(ironic.get(answer["next"].removeprefix(ironic.url))["nodes"]) == 1
