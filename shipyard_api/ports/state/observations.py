"""Observations: what peers showed of deployed nodes when the action that deployed them had ended."""

from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Unobserved:
    """An ended action whose nodes are not observed yet; ``parameters`` as they were stored."""

    action: ActionId
    name: ActionName
    parameters: JsonObject
    revision: Revision | None
    ended_at: datetime
