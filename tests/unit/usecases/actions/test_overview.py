"""The letter of a node: the phase that has it, else its status."""

from datetime import UTC, datetime

import pytest

from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.ports.state.groups import GroupRecord, PhaseRecord
from shipyard_api.ports.state.nodes import NodeLine
from shipyard_api.usecases.actions.overview import letters

T = datetime(2026, 11, 23, tzinfo=UTC)
IS, DONE = NodeStatus, T


@pytest.mark.parametrize(
    ("status", "phase", "running_at", "ended_at", "letter"),
    [
        pytest.param(IS.NOT_STARTED, None, None, None, "n", id="in no phase"),
        pytest.param(IS.NOT_STARTED, "prepare", None, None, "q", id="sent, not begun"),
        pytest.param(IS.NOT_STARTED, "prepare", T, None, "i", id="being prepared"),
        pytest.param(IS.PREPARED, "prepare", T, None, "p", id="prepared before the others of its phase"),
        pytest.param(IS.PREPARED, "prepare", T, DONE, "p", id="prepared"),
        pytest.param(IS.PREPARED, "deploy", None, None, "q", id="prepared, deploy not begun"),
        pytest.param(IS.PREPARED, "deploy", T, None, "d", id="being deployed"),
        pytest.param(IS.SUCCESS, "deploy", T, None, "s", id="deployed before the others"),
        pytest.param(IS.FAILURE, "deploy", T, None, "f", id="failed before the others"),
        pytest.param(IS.NOT_STARTED, "prepare", T, DONE, "n", id="phase over, nothing known"),
    ],
)
def test_letter(
    status: NodeStatus, phase: str | None, running_at: datetime | None, ended_at: datetime | None, letter: str
) -> None:
    node = NodeLine("n1", status, ["a"])
    sent = [PhaseRecord(phase, 1, "running", "job", ["n1"], "", T, running_at, ended_at)] if phase else []
    group = GroupRecord(0, "a", False, [], "deploying", None, "", {}, sent)

    assert letters([node], [group]) == letter
