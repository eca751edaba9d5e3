"""Which holds a design gives nodes at which moment."""

from datetime import UTC, datetime, timedelta

import pytest

from shipyard_api.domain.holds import HoldClass
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.policy.window_holds import window_holds

SITE = Inventory.of([Node(NodeName("n1"), "r1"), Node(NodeName("n2"), "r2")])
NIGHT = {"zone": "Europe/Berlin", "start": "22:00", "minutes": 120}
LATE_NIGHT = {"zone": "UTC", "start": "22:30", "minutes": 60}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-26T{text}+00:00")


@pytest.mark.parametrize(
    ("now", "ends"),
    [
        pytest.param("20:57", [], id="before"),
        pytest.param("20:58", ["23:00"], id="soon"),
        pytest.param("21:00", ["23:00"], id="at its begin"),
        pytest.param("22:29", ["23:00", "23:30"], id="two windows"),
        pytest.param("23:00", ["23:30"], id="at the end of the first"),
        pytest.param("23:30", [], id="at the end of both"),
    ],
)
def test_a_hold_ends_with_each_window_that_is_open_or_begins_soon(now: str, ends: list[str]) -> None:
    (rule,) = window_holds({"holds": [{"name": "h", "class": "no_deployment", "windows": [NIGHT, LATE_NIGHT]}]})

    found = [end.astimezone(UTC) for end in rule.ends(moment(now), timedelta(minutes=2))]
    assert found == [moment(end) for end in ends]
    assert (rule.hold_class, rule.reason) == (HoldClass.NO_DEPLOYMENT, "maintenance window h")


@pytest.mark.parametrize(
    ("selectors", "held"),
    [
        ({}, {"n1", "n2"}),
        ({"selectors": [{"rack_names": ["r2"]}]}, {"n2"}),
        ({"selectors": [{"node_names": ["x"]}]}, set()),
    ],
    ids=["no selectors: all nodes", "a rack", "nothing"],
)
def test_selectors_say_which_nodes_are_held(selectors: dict[str, object], held: set[str]) -> None:
    (rule,) = window_holds({"holds": [{"name": "h", "class": "all", "windows": [NIGHT], **selectors}]})

    assert rule.nodes(SITE) == held
