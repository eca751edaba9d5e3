"""Errors about drift."""

from dataclasses import dataclass

from shipyard_api.domain.errors import NotFound


@dataclass(eq=False)
class NoSiteAction(NotFound):
    """There is no site action of the kind that the site is to be compared with."""

    since: str
