"""What every request has: an id, a context marker, a verbosity that makes sense."""

import uuid
from typing import Any

import falcon

from shipyard_api.domain.errors import Invalid

REQUEST_ID_HEADER = "X-Shipyard-Req"


class RequestContext:
    """Middleware; runs before routing and before authentication (contract: shipyard-rest, chapter 1)."""

    def process_request(self, req: falcon.Request, _resp: falcon.Response) -> None:
        """Give the request its id, its marker and its verbosity, the one parameter that every resource takes."""
        req.context.request_id = str(uuid.uuid4())
        req.context.marker = _uuid(req.get_header("X-Context-Marker")) or req.context.request_id
        if "\0" in req.path:
            raise Invalid("Invalid address", "An address cannot hold the character NUL (%00)")
        verbosity = req.get_param("verbosity")
        if verbosity is not None and not (len(verbosity) == 1 and verbosity in "012345"):
            raise Invalid(
                "Invalid verbosity parameter", "If specified, verbosity parameter should be a value from 0 to 5"
            )
        req.context.verbosity = 1 if verbosity is None else int(verbosity)

    def process_response(self, req: falcon.Request, resp: falcon.Response, _resource: object, _succeeded: bool) -> None:
        """Name the request in every answer, and let the answer to OPTIONS list that method, too."""
        resp.set_header(REQUEST_ID_HEADER, getattr(req.context, "request_id", str(uuid.uuid4())))
        allowed = resp.get_header("Allow")
        if req.method == "OPTIONS" and allowed and "OPTIONS" not in allowed:
            resp.set_header("Allow", ", ".join(sorted([*allowed.split(", "), "OPTIONS"])))


def _uuid(written: str | None) -> str | None:
    try:
        return str(uuid.UUID(written)) if written else None
    except ValueError:
        return None


Params = dict[str, Any]
