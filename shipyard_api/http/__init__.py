"""HTTP to peers, through the requests library: the client that all adapters and the command line share."""

from shipyard_api.http.client import (
    MAX_BODY,
    Headers,
    HttpClient,
    Params,
    RequestOptions,
    Response,
    busy,
    checked_base,
    refusal,
    segment,
)
from shipyard_api.http.failures import refuses_us

__all__ = [
    "MAX_BODY",
    "Headers",
    "HttpClient",
    "Params",
    "RequestOptions",
    "Response",
    "busy",
    "checked_base",
    "refusal",
    "refuses_us",
    "segment",
]
