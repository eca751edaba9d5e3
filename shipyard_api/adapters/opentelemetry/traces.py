"""Spans of activities: an observer of ``telemetry``.

A span has the labels, details and outcome of its activity, and what the semantic conventions 1.37 ask of HTTP servers,
HTTP clients and consumers of messages. Bodies, headers, queries and texts of errors are never attributes: they may hold
secrets.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from urllib.parse import urlsplit
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shipyard_api.observing import request_context
from shipyard_api.observing.telemetry import SUCCESS, Activity, Kind, within

_KINDS = {
    Kind.REQUEST: SpanKind.SERVER,
    Kind.TURN: SpanKind.CONSUMER,
    Kind.ITEM: SpanKind.CONSUMER,
    Kind.PEER: SpanKind.CLIENT,
}
_QUEUES = {Kind.TURN: "turns", Kind.ITEM: "items"}
_PORTS = {"http": 80, "https": 443}
_NUMBERS = ("http.response.status_code", "server.port")
# A server did its part when it refused a request.
_NO_FAULTS = {Kind.REQUEST: (SUCCESS, "refused", "busy")}
_PROPAGATOR = TraceContextTextMapPropagator()
_HEADER = "traceparent"


class Traces:
    """Makes spans. ``program``: api or worker. ``share``: of the requests that begin a trace."""

    def __init__(self, program: str, share: float, processor: SpanProcessor) -> None:
        about = {
            "service.name": f"shipyard-{program}",
            "service.version": version("shipyard"),
            "service.instance.id": str(uuid4()),
        }
        resource = Resource.create(about)
        provider = TracerProvider(resource=resource, sampler=ParentBased(TraceIdRatioBased(min(share, 1.0))))
        provider.add_span_processor(processor)
        self._tracer = provider.get_tracer("shipyard_api")

    @contextmanager
    def observe(self, activity: Activity) -> Iterator[None]:
        """Begin a span in the trace of its parent, and end it with the activity."""
        parent = _PROPAGATOR.extract({_HEADER: activity.parent}) if activity.parent else None
        with self._tracer.start_as_current_span(
            activity.name,
            context=parent,
            kind=_KINDS.get(activity.kind, SpanKind.INTERNAL),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            carrier: dict[str, str] = {}
            _PROPAGATOR.inject(carrier)
            with within(carrier.get(_HEADER, "")):
                try:
                    yield
                finally:
                    span.update_name(activity.name)
                    attributes = _attributes(activity)
                    if activity.outcome not in _NO_FAULTS.get(activity.kind, (SUCCESS,)):
                        span.set_status(Status(StatusCode.ERROR, activity.outcome))
                        attributes["error.type"] = str(attributes.get("http.response.status_code", activity.outcome))
                    span.set_attributes(attributes)


def exported(program: str, endpoint: str, share: float) -> Traces:
    """Return traces that are sent to an OTLP collector, in the background."""
    return Traces(program, share, BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))


def _attributes(activity: Activity) -> dict[str, str | int]:
    """Return the attributes of a span: ours with the prefix ``shipyard.``, and those of the conventions."""
    marker = {"context_marker": request_context.marker()}
    labels = {**activity.labels, **activity.details, "outcome": activity.outcome, **marker}
    named = {name if "." in name else f"shipyard.{name}": value for name, value in labels.items()}
    attributes = {**named, **_conventional(activity)}
    return {name: int(value) if name in _NUMBERS else value for name, value in attributes.items() if value}


def _conventional(activity: Activity) -> dict[str, str]:
    """Return what follows from labels; details have their names already."""
    labels = activity.labels
    if queue := _QUEUES.get(activity.kind):
        return {
            "messaging.system": "procrastinate",
            "messaging.operation.type": "process",
            "messaging.operation.name": "process",
            "messaging.destination.name": queue,
            "messaging.message.conversation_id": activity.details.get("action", ""),
        }
    if activity.kind is Kind.REQUEST:
        status = labels.get("status", "0")
        return {
            "http.request.method": labels.get("method", "").replace("other", "_OTHER"),
            "http.route": labels.get("route", ""),
            "http.response.status_code": "" if status == "0" else status,
        }
    if (url := activity.details.get("url.full")) is None:
        return {}  # a call over SSH
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return {
        "http.request.method": labels.get("method", ""),
        "server.address": parts.hostname or "",
        "server.port": str(port),
    }
