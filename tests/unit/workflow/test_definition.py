"""What of an action a release does not know."""

from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition, fixed, skipped_by_failure, unknown_part
from tests.unit.tables import every_row

STEPS: Any = {"one": SimpleNamespace(version=1), "two": SimpleNamespace(version=3)}


@every_row(
    {
        "all ended": (STEPS, [], 1, ""),
        "all known": (STEPS, ["one", "two"], 1, ""),
        "newest version": (STEPS, ["two"], 3, ""),
        "action": (None, [], 1, "action deploy"),
        "step that comes later": (STEPS, ["one", "three"], 1, "step three"),
        "newer version": (STEPS, ["two"], 4, "version 4 of the state of step two"),
        "no version": (STEPS, ["two"], 0, "version 0 of the state of step two"),
        "version of the current step": (STEPS, ["one", "two"], 2, "version 2 of the state of step one"),
    },
)
def test_what_is_left_to_do_must_be_known(steps: Any, left: Any, version: int, unknown: str) -> None:
    assert unknown_part("deploy", steps, left, version) == unknown


def test_an_action_has_its_steps_in_order_and_a_failure_skips_those_that_do_not_always_run() -> None:
    steps: Any = [SimpleNamespace(id=name, always=name == "b") for name in "cba"]
    definition = Definition(ActionName("deploy"), fixed(*steps))
    assert definition.step_ids({"any": "inputs"}) == ["c", "b", "a"]
    assert definition.steps({}) == dict(zip("cba", steps, strict=True))
    assert skipped_by_failure(definition.steps({}), ["b", "a"]) == ("a",)  # type: ignore[list-item]
    assert definition.first_facts({}) == ()
    assert definition.read({"stored": 1}) == {"stored": 1}
