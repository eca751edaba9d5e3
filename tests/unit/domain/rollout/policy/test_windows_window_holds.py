"""Which holds a design gives nodes at which moment."""

from datetime import UTC, datetime, timedelta

from shipyard_api.domain.holds import HoldClass
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.policy.windows import window_holds
from tests.unit.tables import every_row

SITE = Inventory.of([Node(NodeName("n1"), "r1"), Node(NodeName("n2"), "r2")])
NIGHT = {"zone": "Europe/Berlin", "start": "22:00", "minutes": 120}
LATE_NIGHT = {"zone": "UTC", "start": "22:30", "minutes": 60}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-26T{text}+00:00")


@every_row(
    {
        "before": ("20:57", []),
        "soon": ("20:58", ["23:00"]),
        "two windows": ("22:29", ["23:00", "23:30"]),
        "at the end of the first": ("23:00", ["23:30"]),
        "at the end of both": ("23:30", []),
    },
)
def test_a_hold_ends_with_each_window_that_is_open_or_begins_soon(now: str, ends: list[str]) -> None:
    (rule,) = window_holds({"holds": [{"name": "h", "class": "no_deployment", "windows": [NIGHT, LATE_NIGHT]}]})

    found = [end.astimezone(UTC) for end in rule.ends(moment(now), timedelta(minutes=2))]
    assert found == [moment(end) for end in ends]
    assert (rule.hold_class, rule.reason) == (HoldClass.NO_DEPLOYMENT, "maintenance window h")


@every_row(
    [
        ({}, {"n1", "n2"}),
        ({"selectors": [{"rack_names": ["r2"]}]}, {"n2"}),
        ({"selectors": [{"node_names": ["x"]}]}, set()),
    ],
)
def test_selectors_say_which_nodes_are_held(selectors: dict[str, object], held: set[str]) -> None:
    (rule,) = window_holds({"holds": [{"name": "h", "class": "all", "windows": [NIGHT], **selectors}]})

    assert rule.nodes(SITE) == held
