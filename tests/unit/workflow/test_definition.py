"""What of an action a release does not know."""

from types import SimpleNamespace
from typing import Any

import pytest

from shipyard_api.workflow.definition import unknown_part

STEPS: Any = {"one": SimpleNamespace(version=1), "two": SimpleNamespace(version=3)}


@pytest.mark.parametrize(
    ("steps", "left", "version", "unknown"),
    [
        pytest.param(STEPS, [], 1, "", id="all ended"),
        pytest.param(STEPS, ["one", "two"], 1, "", id="all known"),
        pytest.param(STEPS, ["two"], 3, "", id="newest version"),
        pytest.param(None, [], 1, "action deploy", id="action"),
        pytest.param(STEPS, ["one", "three"], 1, "step three", id="step that comes later"),
        pytest.param(STEPS, ["two"], 4, "version 4 of the state of step two", id="newer version"),
        pytest.param(STEPS, ["two"], 0, "version 0 of the state of step two", id="no version"),
        pytest.param(STEPS, ["one", "two"], 2, "version 2 of the state of step one", id="version of the current step"),
    ],
)
def test_what_is_left_to_do_must_be_known(steps: Any, left: Any, version: int, unknown: str) -> None:
    assert unknown_part("deploy", steps, left, version) == unknown
