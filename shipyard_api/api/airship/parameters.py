"""Parameters of Shipyard v1.0 that several resources read."""

import falcon

from shipyard_api.api.airship.errors import InvalidVerbosity, UnsupportedAction
from shipyard_api.api.http.reading import single
from shipyard_api.domain.actions import LISTED, ActionName

USUAL_VERBOSITY = 1


class Verbosity:
    """Middleware; every address of the dialect takes the parameter, even where it changes nothing."""

    async def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Refuse what is no verbosity."""
        req.context.verbosity = verbosity(req)


def verbosity(req: falcon.Request) -> int:
    """Return how much the caller asks to see, from 0 to 5."""
    written = single(req, "verbosity")
    if written is None:
        return USUAL_VERBOSITY
    if not (len(written) == 1 and written in "012345"):
        raise InvalidVerbosity
    return int(written)


def action_name(written: str) -> ActionName:
    """Return the name of an action; raises UnsupportedAction."""
    found = next((name for name in LISTED if name.value == written), None)
    if found is None:
        raise UnsupportedAction(written)
    return found
