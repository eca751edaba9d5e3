"""``shipyard inventory``: the JSON that Ansible reads, and what keeps a design from being an inventory."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from click.testing import Result

from tests.unit.cli.fake_api import FakeApi, Reply
from tests.unit.tables import table

Run = Callable[..., Result]
GROUP = {"order": 1, "critical": True, "depends_on": [], "sends": []}
MODE = {"max_parallel_groups": 1}


def node(name: str, **design: Any) -> dict[str, Any]:
    roles, tags = design.pop("roles", []), design.pop("software_tags", [])
    designed = {"rack": "", "tags": [], "labels": {}, "addresses": {}} | design
    return {"id": 1, "name": name, "status": "ready", "roles": roles, "tags": tags, "design": designed}


def serve(
    api: FakeApi,
    nodes: Sequence[Mapping[str, Any]],
    groups: Mapping[str, Sequence[str]] | None = None,
    statuses: Mapping[str, str] | None = None,
    **plan: Any,
) -> None:
    listed = [{**GROUP, "name": name, "nodes": members} for name, members in (groups or {}).items()]
    known = [{"name": name, "status": status} for name, status in (statuses or {}).items()]
    api.replies |= {
        "POST /plans": Reply(200, {"revision": 3, "mode": MODE, "groups": listed} | plan),
        "GET /api/v1/nodes": Reply(200, nodes),
        "GET /nodes": Reply(200, {"nodes": known, "next": None}),
    }


def groups_of(result: Result) -> dict[str, list[str]]:
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    return {name: group["hosts"] for name, group in found.items() if name not in ("_meta", "all")}


def test_nodes_are_in_the_groups_of_their_design_roles_tags_and_status(run: Run, api: FakeApi) -> None:
    first = node("n1", rack="r-1", tags=["gpu"], labels={"zone": "a"}, addresses={"oam": "10.0.0.1"}, roles=["db"])
    serve(
        api,
        [first, node("n2", rack="r-1", tags=["gpu"], software_tags=["mysql:2"])],
        {"compute-nodes": ["n2", "n1"], "empty": [], "all-nodes": ["n1"]},
        {"n1": "success", "gone": "failure"},
    )

    result = run("inventory", "--list")

    assert groups_of(result) == {
        "group_compute_nodes": ["n1", "n2"],
        "group_all_nodes": ["n1"],
        "rack_r_1": ["n1", "n2"],
        "tag_gpu": ["n1", "n2"],
        "role_db": ["n1"],
        "software_tag_mysql_2": ["n2"],
        "status_success": ["n1"],
        "status_not_started": ["n2"],
    }
    found = json.loads(result.stdout)
    assert found["all"] == {"hosts": ["n1", "n2"], "vars": {"shipyard_revision": 3}}
    assert found["_meta"]["hostvars"]["n1"] == {
        "shipyard_groups": ["all-nodes", "compute-nodes"],
        "shipyard_rack": "r-1",
        "shipyard_tags": ["gpu"],
        "shipyard_labels": {"zone": "a"},
        "shipyard_addresses": {"oam": "10.0.0.1"},
        "shipyard_roles": ["db"],
        "shipyard_software_tags": [],
        "shipyard_status": "success",
    }
    assert json.loads(run("inventory", "--host", "n1").stdout) == found["_meta"]["hostvars"]["n1"]


@pytest.mark.parametrize("committed", [{"revision": None, "mode": None}, {}], ids=["nothing committed", "no nodes"])
def test_a_site_without_nodes_is_an_empty_inventory(run: Run, api: FakeApi, committed: dict[str, Any]) -> None:
    serve(api, [], **committed)

    result = run("inventory", "--network", "oam")

    assert groups_of(result) == {}
    assert json.loads(result.stdout)["_meta"] == {"hostvars": {}}


def test_ansible_connects_to_addresses_of_the_chosen_network_and_else_to_names(run: Run, api: FakeApi) -> None:
    serve(api, [node("n1", addresses={"oam": "10.0.0.1", "oob": "10.1.0.1"}), node("n2")])

    found = json.loads(run("inventory", SHIPYARD_INVENTORY_NETWORK="oam").stdout)["_meta"]["hostvars"]

    assert {name: host.get("ansible_host") for name, host in found.items()} == {"n1": "10.0.0.1", "n2": None}


def test_texts_that_ansible_would_evaluate_are_marked_as_plain(run: Run, api: FakeApi) -> None:
    serve(api, [node("n1", labels={"a": "{{ lookup('pipe', 'id') }}", "b": "{%", "c": "{#", "d": "{ }"})])

    found = json.loads(run("inventory", "--host=n1").stdout)["shipyard_labels"]

    marked = {key: {"__ansible_unsafe": text} for key, text in {"b": "{%", "c": "{#"}.items()}
    assert found == {"a": {"__ansible_unsafe": "{{ lookup('pipe', 'id') }}"}, **marked, "d": "{ }"}


ONE = {"oam": "10.0.0.1"}
REFUSED: dict[str, tuple[list[dict[str, Any]], dict[str, Any], str, str]] = {
    "two names, one group": (
        [node("n1", tags=["a-b"]), node("n2", tags=["a.b"])],
        {},
        "--list",
        "Error: the tag 'a-b' and the tag 'a.b' are both 'tag_a_b' in Ansible: rename one of them\n",
    ),
    "a group and a node": (
        [node("rack_r1", rack="r1")],
        {},
        "--list",
        "Error: a node and the rack 'r1' are both 'rack_r1' in Ansible: rename one of them\n",
    ),
    "two nodes, one address": (
        [node("n1", addresses=ONE), node("n2", addresses=ONE)],
        {},
        "--network=oam",
        "Error: the nodes 'n1' and 'n2' have the same address 10.0.0.1: correct one in the design\n",
    ),
    "an unknown network": (
        [node("n1", addresses=ONE)],
        {},
        "--network=oom",
        "Error: no node has an address in the network 'oom'; networks of the design: oam\n",
    ),
    "no such node": ([node("n1")], {}, "--host=n2", "Error: The committed design has no node 'n2'\n"),
    "a broken strategy": (
        [node("n1")],
        {"mode": None},
        "--list",
        "Error: revision 3 has no usable groups: `shipyard plan deploy_site` shows what is wrong with it\n",
    ),
    "an older server": (
        [{"name": "n1"}],
        {},
        "--list",
        "Error: the server is older than this command: it does not show the design of nodes\n",
    ),
}


@table(("nodes", "plan", "option", "text"), REFUSED)
def test_what_makes_no_inventory_is_an_error_on_stderr(
    run: Run, api: FakeApi, nodes: list[dict[str, Any]], plan: dict[str, Any], option: str, text: str
) -> None:
    serve(api, nodes, **plan)

    result = run("inventory", option)

    assert (result.exit_code, result.stdout, result.stderr) == (1, "", text)


def test_an_error_of_the_server_is_on_stderr(run: Run, api: FakeApi) -> None:
    serve(api, [])
    api.replies["GET /api/v1/nodes"] = Reply(403, {})

    result = run("inventory")

    assert (result.exit_code, result.stdout, result.stderr) == (
        1,
        "",
        "Error: Unauthorized to perform this action.\n",
    )
