"""Intents as they are stored beside the state of a step or of a work item."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.state.turns import Intent


def intent_from(stored: Mapping[str, Any]) -> Intent:
    """Return an intent from its stored form."""
    return Intent(
        marker=Marker(stored["marker"]),
        effect=stored["effect"],
        give_up_at=datetime.fromisoformat(stored["give_up_at"]),
        intended_at=datetime.fromisoformat(stored["intended_at"]),
        attempted_at=datetime.fromisoformat(stored["attempted_at"]),
        attempts=stored["attempts"],
        repeatable=stored.get("repeatable", False),
        touches=tuple(NodeName(node) for node in stored.get("touches", ())),
    )


def intent_json(intent: Intent) -> dict[str, Any]:
    """Return the stored form of an intent."""
    stored = {
        "v": 1,
        "marker": intent.marker,
        "effect": dict(intent.effect),
        "give_up_at": intent.give_up_at.isoformat(),
        "intended_at": intent.intended_at.isoformat(),
        "attempted_at": intent.attempted_at.isoformat(),
        "attempts": intent.attempts,
        **({"touches": list(intent.touches)} if intent.touches else {}),
    }
    return stored | ({"repeatable": True} if intent.repeatable else {})
