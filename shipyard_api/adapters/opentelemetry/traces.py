"""Spans of activities: an observer of ``telemetry``.

A span has the labels, details and outcome of its activity. Bodies, headers, queries and texts of errors are never
attributes: they may hold secrets.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shipyard_api import request_context
from shipyard_api.telemetry import SUCCESS, Activity, Kind, within

_KINDS = {Kind.REQUEST: SpanKind.SERVER, Kind.TURN: SpanKind.CONSUMER, Kind.PEER: SpanKind.CLIENT}
_PROPAGATOR = TraceContextTextMapPropagator()
_HEADER = "traceparent"


class Traces:
    """Makes spans. ``program``: api or worker. ``share``: of the requests that begin a trace."""

    def __init__(self, program: str, share: float, processor: SpanProcessor) -> None:
        resource = Resource.create({"service.name": f"shipyard-{program}"})
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
                    if activity.outcome != SUCCESS:
                        span.set_status(Status(StatusCode.ERROR, activity.outcome))
                    marker = {"context_marker": request_context.marker()}
                    found = {**activity.labels, **activity.details, "outcome": activity.outcome, **marker}
                    span.set_attributes({f"shipyard.{name}": value for name, value in found.items() if value})


def exported(program: str, endpoint: str, share: float) -> Traces:
    """Return traces that are sent to an OTLP collector, in the background."""
    return Traces(program, share, BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
