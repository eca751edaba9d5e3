"""Stragglers: accepted work that its action no longer waits for."""

from dataclasses import dataclass
from datetime import datetime

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.provisioner import JobId, Work


@dataclass(frozen=True, slots=True)
class Straggler:
    """Work that continues although its action no longer waits for it; ``why`` the action stopped waiting."""

    action: ActionId
    job: JobId
    work: Work
    why: str
    since: datetime
