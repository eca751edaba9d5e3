"""The command that changes the limits of an action."""

import json

import pytest

from tests.unit.cli.fake_api import Reply

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"


@pytest.mark.parametrize("words", [["action", ID], [f"action/{ID}"]], ids=" ".join)
def test_limits_are_changed_and_all_are_shown(api, run, words):
    api.replies[f"PATCH /actions/{ID}/limits"] = Reply(200, {"drain-timeout": 7200, "on-blocked": "wait"})

    result = run("set", *words, "drain-timeout=7200")

    assert json.loads(api.requests[0].body) == {"drain-timeout": "7200"}
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["Limit", "Value"],
        ["drain-timeout", "7200"],
        ["on-blocked", "wait"],
    ]
