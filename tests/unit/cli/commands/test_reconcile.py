"""The command that says whose jobs are."""

import json

import pytest

from tests.unit.cli.fake_api import Reply

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"
HELD = {
    "provisioner": "Drydock",
    "operation": "prepare_nodes",
    "nodes": ["n1", "n2"],
    "jobs": [
        {"job": "j1", "operation": "prepare_nodes", "nodes": ["n1", "n9"]},
        {"job": "j2", "operation": "prepare_nodes", "nodes": ["n2", "n9"]},
    ],
}


def test_jobs_are_shown_with_the_commands_that_answer(api, run):
    api.replies[f"GET /actions/{ID}/reconciliation"] = Reply(
        200, {"held": [HELD], "answers": {"ours": [], "others": ["j0"]}}
    )

    result = run("reconcile", ID)

    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "Held Job Operation Nodes Of The Job",
        "prepare_nodes of n1, n2 j1 prepare_nodes n1, n9",
        "prepare_nodes of n1, n2 j2 prepare_nodes n2, n9",
        "",
        "To take up a job that this action began:",
        f"shipyard reconcile {ID} --ours j1",
        f"shipyard reconcile {ID} --ours j2",
        "To send the work, because none of these jobs is this action's:",
        f"shipyard reconcile {ID} --not-ours j1 --not-ours j2",
        "",
        "Answered Job Is",
        "j0 another client's",
    ]


@pytest.mark.parametrize("words", [[ID], [f"action/{ID}"]], ids=" ".join)
def test_answers_are_sent_and_what_is_left_is_shown(api, run, words):
    left = {"held": [], "answers": {"ours": ["j1"], "others": ["j2", "j3"]}}
    api.replies[f"PATCH /actions/{ID}/reconciliation"] = Reply(200, left)

    result = run("reconcile", *words, "--ours", "j1", "--not-ours", "j2", "--not-ours", "j3")

    assert json.loads(api.requests[0].body) == {"ours": ["j1"], "others": ["j2", "j3"]}
    assert "The action is not asked whose a job is." in result.stdout
    assert "this action's" in result.stdout
