"""The command that approves what follows a wave."""

import json

import pytest

from tests.unit.cli.fake_api import Reply

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"
GATE = {"group": "a", "wave": "canary", "place": 0, "index": 0, "deployed": 1, "since": "2026-11-26T10:00:00+00:00"}
GIVEN = {**GATE, "approve": False, "by": "ann", "at": "2026-11-26T11:00:00+00:00", "reason": "loud"}


def test_what_waits_and_what_was_answered_is_shown(api, run):
    api.replies[f"GET /actions/{ID}/approvals"] = Reply(200, {"waiting": [GATE], "given": [GIVEN]})

    result = run("approve", ID, "--show")

    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "Waits After Wave Of Group Nodes Deployed Since",
        "canary a 1 2026-11-26T10:00:00+00:00",
        "",
        "Wave Group Answer By At Reason",
        "canary a refused ann 2026-11-26T11:00:00+00:00 loud",
    ]


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        pytest.param([ID], {"approve": True}, id="the only one"),
        pytest.param(
            [ID, "--refuse", "--wave", "canary", "--group", "a", "--reason", "loud"],
            {"approve": False, "wave": "canary", "group": "a", "reason": "loud"},
            id="refused, by name",
        ),
    ],
)
def test_an_answer_is_sent(api, run, words, sent):
    api.replies[f"POST /actions/{ID}/approvals"] = Reply(200, {"waiting": [], "given": [GIVEN]})

    result = run("approve", *words)

    assert json.loads(api.requests[0].body) == sent
    assert "The action waits for no approval." in result.stdout
