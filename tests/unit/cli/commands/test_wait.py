"""Waiting for the end of an action."""

import pytest

from shipyard_api.cli.commands import wait
from tests.unit.cli import samples
from tests.unit.cli.fake_api import Reply
from tests.unit.cli.samples import ID

ONE = f"GET /actions/{ID}"
AWAY = Reply(503, {"message": "No database connection", "reason": "Ask again."})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(wait, "_PAUSE", 0.0)


@pytest.mark.parametrize(("end", "code"), [("Complete", 0), ("Failed", 1)])
def test_it_ends_with_the_action(api, run, end, code):
    states = [Reply(200, samples.action(state)) for state in ("Pending", "Processing", end)]
    api.replies[ONE] = [states[0], AWAY, *states[1:]]
    result = run("wait", f"action/{ID}")
    assert (result.exit_code, result.stdout) == (code, f"action/{ID} {end}\n")
    assert len(api.requests) == 4


def test_it_gives_up_in_time(api, run):
    api.replies[ONE] = Reply(200, samples.action())
    result = run("wait", ID, "--timeout", "0")
    assert (result.exit_code, result.stdout) == (1, f"Error: action {ID} is Processing after 0 s\n")


def test_an_action_that_does_not_exist_is_an_error_at_once(api, run):
    result = run("wait", ID)
    assert (result.exit_code, len(api.requests)) == (1, 1)
    assert result.stdout.startswith("Error: 404 Not Found")
