"""The letter of a node: the phase that has it, else its status."""

from datetime import UTC, datetime

from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import NodeLine
from shipyard_api.usecases.actions.overview import letters
from tests.unit.tables import every_row

T = datetime(2026, 11, 23, tzinfo=UTC)
IS, DONE = NodeStatus, T


@every_row(
    {
        "in no phase": (IS.NOT_STARTED, None, None, None, "n"),
        "sent, not begun": (IS.NOT_STARTED, "prepare", None, None, "q"),
        "being prepared": (IS.NOT_STARTED, "prepare", T, None, "i"),
        "prepared before the others of its phase": (IS.PREPARED, "prepare", T, None, "p"),
        "prepared, deploy not begun": (IS.PREPARED, "deploy", None, None, "q"),
        "being deployed": (IS.PREPARED, "deploy", T, None, "d"),
        "deployed before the others": (IS.SUCCESS, "deploy", T, None, "s"),
        "phase over, nothing known": (IS.NOT_STARTED, "prepare", T, DONE, "n"),
    },
)
def test_letter(
    status: NodeStatus, phase: str | None, running_at: datetime | None, ended_at: datetime | None, letter: str
) -> None:
    node = NodeLine("n1", status, ["a"])
    sent = [PhaseRecord("a", phase, 1, "running", "job", ["n1"], "", T, running_at, ended_at)] if phase else []
    group = GroupRecord(0, "a", False, [], "deploying", None, "", {}, sent)

    assert letters([node], [group]) == letter


def test_a_group_has_the_letter_of_the_phase_that_runs_after_one_that_is_over() -> None:
    phases = [
        PhaseRecord("a", "prepare", 1, "success", "j-1", ["n1"], "", T, T, DONE),
        PhaseRecord("a", "deploy", 1, "running", "j-2", ["n1"], "", T, T, None),
    ]
    group = GroupRecord(0, "a", False, [], "deploying", None, "", {}, phases)
    assert letters([NodeLine("n1", IS.PREPARED, ["a"])], [group]) == "d"
