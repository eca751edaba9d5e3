"""Markers: the idempotency keys of effects. Pure.

A marker follows from what the effect is, not from when it was decided. After a fail-over or a restored dump has taken
the record of an effect away, the same effect is decided once more, and its marker finds it at the peer.
"""

import hashlib
import json
import re

from shipyard_api.domain.json_types import JsonObject

# A UUID of version 4, as Drydock logs it; its first twelve digits are the action's.
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")
_OF_ACTION = 13


def marker_of(action: str, *unit: str, effect: JsonObject) -> str:
    """Return the marker of an effect of a step, or of a work item, of an action."""
    digest = hashlib.sha256(action.encode()).hexdigest()
    rest = hashlib.sha256(json.dumps([unit, effect], sort_keys=True).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{rest[:3]}-8{rest[3:6]}-{rest[6:18]}"


def same_action(first: str, second: str) -> bool:
    """Return whether both are markers of effects of one action."""
    return first[:_OF_ACTION] == second[:_OF_ACTION] and all(map(_UUID.fullmatch, (first, second)))
