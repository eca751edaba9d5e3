"""The next commands that report, page and ``describe action`` show for an action in which something failed."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, RunState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.remedies import remedies
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.usecases.actions.way_back import way_back
from tests.unit.tables import every_row

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"
RETRY = f"shipyard retry {ID}"
REDEPLOY = "shipyard create action redeploy_server"
OF_SITE = f"{REDEPLOY} --param=target-revision=last-site-action"

ROWS: dict[str, tuple[str, str, dict[str, Any], list[str], list[str]]] = {
    "nothing failed": ("deploy_site", "success", {}, [], []),
    "not ended": ("deploy_site", "running", {}, ["n1"], []),
    "no node was touched": ("deploy_site", "failed", {}, [], [RETRY, "shipyard create action deploy_site"]),
    "one node": ("deploy_site", "failed", {"a": "b"}, ["n1"], [RETRY, f"{OF_SITE} --param=target_nodes=n1"]),
    "the second of two servers, whose disks are preserved": (
        "redeploy_server",
        "failed",
        {"target_nodes": "n1,n2", "preserve-local-storage": True, "target-revision": "committed"},
        ["n2"],
        [
            RETRY,
            f"{REDEPLOY} --param=target_nodes=n2 --param=preserve-local-storage=true --param=target-revision=committed",
        ],
    ),
    "nothing is deployed": ("remove_server", "failed", {"target_nodes": "n1"}, ["n1"], [RETRY]),
    "no retry": ("node_operation", "failed", {}, [], []),
}


def test_servers_that_were_left_cordoned_can_be_uncordoned_as_they_are() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    action = ActionRecord(
        ActionId(ID), ActionName("remove_server"), {}, "ann", "", None, None, RunState.FAILED, now, now, now, 1
    )

    assert [one["command"] for one in way_back(action, ["n1"], ["n1", "n2"])] == [
        RETRY,
        "shipyard node uncordon n1",
        "shipyard node uncordon n2",
    ]


BIOS, RAID = "steps:CUSTOM_BIOS", "steps:CUSTOM_RAID"
SERVE = "shipyard create action service_server --param=template={} --param=target_nodes={}"
LEFT: dict[str, tuple[dict[str, tuple[str, ...]], bool, list[str]]] = {
    "the design": ({"n1": ("design",), "n2": ("design", BIOS)}, True, [f"{OF_SITE} --param='target_nodes=n[1-2]'"]),
    "no record": ({"n1": ()}, True, [f"{OF_SITE} --param=target_nodes=n1"]),
    "labels": ({"n1": ("labels",)}, False, ["shipyard create action relabel_nodes --param=target_nodes=n1"]),
    "labels and steps": (
        {"n1": ("labels", BIOS)},
        True,
        ["shipyard create action relabel_nodes --param=target_nodes=n1", SERVE.format("CUSTOM_BIOS", "n1")],
    ),
    "steps": ({"n1": (BIOS,)}, True, [SERVE.format("CUSTOM_BIOS", "n1")]),
    "steps of two templates": (
        {"n1": (BIOS, RAID)},
        True,
        [SERVE.format("CUSTOM_BIOS", "n1"), SERVE.format("CUSTOM_RAID", "n1")],
    ),
    "steps that the provisioner cannot service": ({"n1": (BIOS,)}, False, [f"{OF_SITE} --param=target_nodes=n1"]),
    "steps here and the design there": (
        {"n1": ("design",), "n2": (BIOS,)},
        True,
        [SERVE.format("CUSTOM_BIOS", "n2"), f"{OF_SITE} --param=target_nodes=n1"],
    ),
}


@every_row(LEFT)
def test_servers_that_were_left_alone_are_given_what_they_lack(
    differs: dict[str, tuple[str, ...]], services: bool, commands: list[str]
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    action = ActionRecord(
        ActionId(ID), ActionName("update_site"), {}, "ann", "", None, None, RunState.SUCCESS, now, now, now, 1
    )
    aspects = {NodeName(node): found for node, found in differs.items()}

    ways = way_back(action, (), (), remedies(list(aspects), aspects, services=services))

    assert [way["command"] for way in ways] == commands
    assert all(" an older specification: n" in way["when"] for way in ways)
    assert [("erases them" in way["when"]) for way in ways] == ["redeploy_server" in way for way in commands]
    assert way_back(action, ()) == []


@every_row(ROWS)
def test_what_failed_has_a_way_back(
    name: str, state: str, parameters: dict[str, Any], failed: list[str], commands: list[str]
) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    action = ActionRecord(
        ActionId(ID), ActionName(name), parameters, "ann", "", None, None, RunState(state), now, now, now, 1
    )

    found = way_back(action, failed)

    assert [one["command"] for one in found] == commands
    assert all(one["when"] for one in found)
    keeps = [one["when"].endswith("it keeps the nodes that are deployed") for one in found[:1]]
    assert keeps == ([bool(failed) and name != "remove_server"] if commands else [])
