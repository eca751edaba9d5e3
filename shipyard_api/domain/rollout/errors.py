"""Why there is no forecast."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipyard_api.domain.errors import Conflict, NotFound


@dataclass(eq=False)
class NothingToForecast(Conflict):
    """There is nothing to forecast: the action deploys no nodes."""

    name: str


@dataclass(eq=False)
class UnknownForecastGroups(NotFound):
    """A forecast names criteria of groups that the strategy does not have."""

    groups: Sequence[str]


@dataclass(eq=False)
class ForecastTooLarge(Conflict):
    """The groups of the site have too many nodes for a forecast; each group counts its own."""

    members: int
    most: int
