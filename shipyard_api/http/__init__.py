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
    clock_ahead,
    refusal,
    segment,
)
from shipyard_api.http.failures import refuses_us, retry_after

__all__ = [
    "MAX_BODY",
    "Headers",
    "HttpClient",
    "Params",
    "RequestOptions",
    "Response",
    "busy",
    "checked_base",
    "clock_ahead",
    "refusal",
    "refuses_us",
    "retry_after",
    "segment",
]
