"""The commands that hold nodes, and how tables show holds."""

import json

import pytest

from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply

ID, ACTION = "01M7XV7VKPMDHXJVA7WMC7P6XP", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
HOLD = {
    "id": ID,
    "node": "n1",
    "kind": "hardware",
    "reason": "new\ndisk",
    "placed_by": "ann",
    "placed_at": "2026-11-21T01:23:55.638118Z",
    "until": "2026-11-22T01:23:55.638118Z",
    "released_by": None,
    "released_at": None,
}
OPEN = HOLD | {"until": None}
RELEASED = OPEN | {"released_by": "bob", "released_at": "2026-11-21T02:00:00.000000Z"}


@pytest.mark.parametrize("words", [["node", "n1"], ["node/n1"]], ids=" ".join)
def test_a_hold_is_placed_once_and_shown(api, run, words):
    api.replies["POST /nodes/n1/holds"] = Reply(201, {**HOLD, "under_way": [ACTION]})

    result = run("hold", *words, "--reason", "new disk", "--kind=hardware", "--until=P1D")

    (request,) = api.requests
    assert json.loads(request.body) == {"reason": "new disk", "kind": "hardware", "until": "P1D"}
    headers, line, _, going_on = result.stdout.splitlines()
    assert headers.split() == ["Hold", "Node", "Kind", "By", "Since", "Until", "Reason"]
    assert line.split(maxsplit=5)[:4] == [f"hold/{ID}", "node/n1", "hardware", "ann"]
    assert line.rstrip().endswith("2026-11-21 01:23:55    2026-11-22 01:23:55    new disk")
    assert going_on == f"Work on it that was submitted before goes on: action/{ACTION}"


def test_a_hold_may_have_a_class(api, run):
    api.replies["POST /nodes/n1/holds"] = Reply(201, {**HOLD, "class": "no_teardown", "under_way": []})

    result = run("hold", "node/n1", "--reason", "data", "--class", "no-teardown")

    assert json.loads(api.requests[0].body) == {"reason": "data", "kind": "operator", "class": "no_teardown"}
    assert "hardware, no teardown" in result.stdout


def test_the_nodes_of_a_set_are_held_one_after_another(api, run):
    for node in ("r1n1", "r1n2"):
        api.replies[f"POST /nodes/{node}/holds"] = Reply(201, {**HOLD, "node": node, "under_way": [ACTION]})

    result = run("hold", "node/r1n[1-2]", "--reason", "rack")
    _, first, second, _, going_on = result.stdout.splitlines()
    assert (result.exit_code, first.split()[1], second.split()[1]) == (0, "node/r1n1", "node/r1n2")
    assert going_on.endswith(f": action/{ACTION}")

    refused = run("hold", "node/r1n[1-3]", "--reason", "rack")
    assert (refused.exit_code, refused.stderr.splitlines()[0]) == (1, "Held until then: r1n1, r1n2")
    sent = len(api.requests)
    assert {run("hold", "node", name, "--reason", "x").exit_code for name in ("n[1-101]", "n[1-", "@x")} == {2}
    assert len(api.requests) == sent


@pytest.mark.parametrize("words", [["hold", ID], [f"hold/{ID}"]], ids=" ".join)
def test_a_hold_is_released(api, run, words):
    api.replies[f"DELETE /holds/{ID}"] = Reply(200, RELEASED)

    result = run("release", *words)

    assert (result.exit_code, len(api.requests)) == (0, 1)
    assert "2026-11-21 02:00:00 by bob" in result.stdout


def test_held_and_cordoned_nodes_are_marked(api, run):
    cordon = {"action_id": ID, "action": "node_operation", "since": "2026-11-21T01:23:55Z", "commands": ["mend it"]}
    node = samples.node("n1", action_id=ACTION, holds=[HOLD, OPEN], cordon=cordon, history=[])
    api.replies |= {"GET /nodes": Reply(200, {"nodes": [node], "next": None}), "GET /nodes/n1": Reply(200, node)}

    listed = run("get", "nodes").stdout
    assert "deployed, held, cordoned" in listed
    assert "to bring it back: mend it" in listed
    described = run("describe", "node", "n1").stdout.splitlines()
    assert [line.partition("Held:")[2].strip() for line in described if line.startswith("Held:")] == [
        f"hold/{ID} (hardware) by ann until 2026-11-22 01:23:55: new disk",
        f"hold/{ID} (hardware) by ann: new disk",
    ]
    assert [line.split(maxsplit=1)[1].rstrip() for line in described if line.startswith("Cordoned:")] == [
        f"by node_operation action/{ID}, since 2026-11-21 01:23:55"
    ]
    assert [line.split(":")[1].strip() for line in described if line.startswith("To Bring Back:")] == ["mend it"]
