"""Markers: the same for the same effect, and of one family in an action."""

import uuid

from shipyard_api.domain.markers import marker_of, same_action
from tests.unit.tables import every_row

EFFECT = {"phase": "deploy", "nodes": ["n1", "n2"]}
MARKER = marker_of("A", "step", effect=EFFECT)


def test_a_marker_follows_from_the_effect_alone() -> None:
    assert marker_of("A", "step", effect=dict(reversed(EFFECT.items()))) == MARKER
    assert uuid.UUID(MARKER).version == 4


@every_row(
    [
        (marker_of("A", "step", effect={**EFFECT, "nodes": ["n1"]}), True),
        (marker_of("A", "step", "item", effect=EFFECT), True),
        (marker_of("A", "other", effect=EFFECT), True),
        (marker_of("B", "step", effect=EFFECT), False),
        (f"{MARKER[:14]}abc-9000-000000000000", False),  # not made here
        ("m-1", False),
    ],
)
def test_another_effect_has_another_marker_whose_action_shows(other: str, same: bool) -> None:
    assert other != MARKER
    assert same_action(MARKER, other) is same
