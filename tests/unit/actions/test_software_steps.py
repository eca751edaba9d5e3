"""What an action says about a task graph that cannot be planned."""

from shipyard_api.actions import software_steps
from shipyard_api.domain.findings import error
from tests.unit.tables import every_row


@every_row([(1, "f0"), (5, "f0 f1 f2 f3 f4"), (6, "f0 f1 f2 f3 f4 (and 1 more)"), (9, "f0 f1 f2 f3 f4 (and 4 more)")])
def test_of_many_findings_the_first_are_shown_and_the_others_counted(count: int, expected: str) -> None:
    refused = software_steps.no_plan(error("X", f"f{number}") for number in range(count))
    assert refused.reason == expected
