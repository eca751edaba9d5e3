"""Traces, with OpenTelemetry (the extra ``otel``)."""

from dataclasses import dataclass

from shipyard_api.settings.types import Address, Share


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """Traces of requests, turns, effects and calls of peers; they need `pip install 'shipyard[otel]'`.

    ``endpoint``: an OTLP collector over HTTP, such as http://127.0.0.1:4318/v1/traces; empty: no traces.
    ``share``: share of the requests that begin a trace, up to 1; an action is traced if its request was.
    """

    endpoint: Address = Address("")  # noqa: RUF009  # immutable
    share: Share = Share(1)  # noqa: RUF009  # immutable
