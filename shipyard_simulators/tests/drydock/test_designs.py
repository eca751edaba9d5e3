"""References to designs that are fetched over HTTP, and the design of the shipped site."""

import pytest
import requests
import yaml
from requests.adapters import HTTPAdapter

from shipyard_simulators.drydock.design import read_design
from shipyard_simulators.drydock.designs import Designs, UnreadableDesign
from shipyard_simulators.drydock.filters import select
from shipyard_simulators.tests.programs import FIVE_GROUPS


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[requests.PreparedRequest]:
    """What stores of designs were asked; each has a design of one node, unless it is missing."""
    asked: list[requests.PreparedRequest] = []

    def send(_self: HTTPAdapter, request: requests.PreparedRequest, **_options: object) -> requests.Response:
        asked.append(request)
        answer = requests.Response()
        answer.status_code = 404 if "missing" in str(request.url) else 200
        answer._content = b"{schema: drydock/BaremetalNode/v1, metadata: {name: n1}, data: {}}"
        return answer

    monkeypatch.setattr(HTTPAdapter, "send", send)
    return asked


def test_deckhand_and_promenade_are_asked_with_drydocks_own_token_and_only_once(
    asked: list[requests.PreparedRequest],
) -> None:
    designs = Designs("of-drydock")
    for scheme in ("deckhand+http", "promenade+http"):
        for _ in range(2):
            assert [node.name for node in designs.read(f"{scheme}://store/1").nodes] == ["n1"]
    assert [(each.url, each.headers["X-Auth-Token"]) for each in asked] == [("http://store/1", "of-drydock")] * 2


def test_any_other_store_is_asked_with_the_user_in_the_reference_once_for_each_string(
    asked: list[requests.PreparedRequest],
) -> None:
    designs = Designs("of-drydock")
    for path in ("d", "d", "d?v=2"):
        designs.read(f"http://user:password@store/{path}")
    assert [each.path_url for each in asked] == ["/d", "/d?v=2"]
    assert {each.headers["Authorization"] for each in asked} == {requests.auth._basic_auth_str("user", "password")}
    assert not any("X-Auth-Token" in each.headers for each in asked)


def test_a_failure_to_fetch_a_design_is_not_kept(asked: list[requests.PreparedRequest]) -> None:
    designs = Designs(None)
    for _ in range(2):
        with pytest.raises(UnreadableDesign):
            designs.read("http://store/missing")
    assert len(asked) == 2


def test_the_groups_of_the_shipped_site_are_those_of_the_worked_example() -> None:
    documents = list(yaml.safe_load_all(FIVE_GROUPS.read_text()))
    nodes = read_design(documents).nodes
    (strategy,) = [one["data"] for one in documents if one["schema"] == "shipyard/DeploymentStrategy/v1"]
    groups = {}
    for group in strategy["groups"]:
        (selector,) = group["selectors"]
        criteria = {key: value for key, value in selector.items() if value}
        each = {"filter_type": "intersection", **criteria}
        groups[group["name"]] = sorted(select(nodes, {"filter_set_type": "union", "filter_set": [each]}))
    assert groups == {
        "ntp-node": ["ntp01"],
        "control-nodes": ["ctl01", "ctl02", "ctl03", "ctl04"],
        "compute-nodes-1": ["cmp01-1", "cmp01-2", "cmp01-3", "cmp01-4"],
        "compute-nodes-2": ["cmp02-1", "cmp02-2", "cmp02-3", "cmp02-4"],
        "monitoring-nodes": ["mon01", "mon02", "mon03"],
    }
    assert {node.name for node in nodes} == {name for names in groups.values() for name in names}
