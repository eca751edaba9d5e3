"""The next commands that report, page and ``describe action`` show for an action in which something failed."""

from datetime import UTC, datetime
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, RunState
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


def test_servers_that_were_left_alone_can_be_installed_again() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    action = ActionRecord(
        ActionId(ID), ActionName("update_site"), {}, "ann", "", None, None, RunState.SUCCESS, now, now, now, 1
    )

    (way,) = way_back(action, (), (), ["n1", "n2"])
    assert (way["command"], way["when"].partition(";")[0]) == (
        f"{OF_SITE} --param='target_nodes=n[1-2]'",
        "2 servers run an older specification: n1, n2",
    )
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
