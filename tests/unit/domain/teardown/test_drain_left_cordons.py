"""What brings a node back that an ended action has left cordoned."""

from datetime import UTC, datetime

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.drain import LeftCordon
from tests.unit.tables import every_row

RETRY, UNCORDON = "shipyard retry A", "shipyard node uncordon n1"


@every_row(
    {
        "an action that can be retried": ("redeploy_server", False, [RETRY, UNCORDON]),
        "one whose node has lost its labels": ("redeploy_server", True, [RETRY]),
    }
)
def test_the_commands_that_bring_a_node_back(action: str, labels_cleared: bool, commands: list[str]) -> None:
    left = LeftCordon(
        NodeName("n1"), ActionId("A"), ActionName(action), datetime(2026, 3, 2, tzinfo=UTC), labels_cleared
    )

    assert left.commands == commands
