"""Activities as spans: how they nest, whose trace they continue, and what is never an attribute."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shipyard_api.adapters.opentelemetry import TraceOptions
from shipyard_api.adapters.opentelemetry.traces import Traces
from shipyard_api.observing.request_context import propagated
from shipyard_api.observing.telemetry import NO_ANSWER, Kind, observe_with, observed, traceparent
from shipyard_api.wiring import monitoring
from tests.unit.tables import table

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    remove = observe_with(Traces("worker", 1.0, SimpleSpanProcessor(exporter)).observe)
    yield exporter
    remove()


def shown(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def test_an_activity_continues_the_trace_of_its_parent_and_others_nest_in_it(spans: InMemorySpanExporter) -> None:
    def ask() -> None:
        with observed(Kind.PEER, "GET MAAS", {"system": "MAAS"}) as call:
            call.details["operation"] = "GET /machines"
            call.outcome = NO_ANSWER

    with observed(Kind.REQUEST, "POST", parent=CALLER) as request, ThreadPoolExecutor(1) as pool:
        request.name = "POST /actions"
        stored = traceparent()
        pool.submit(propagated(ask)).result()

    assert traceparent() == ""
    found = shown(spans)
    assert {f"{span.context.trace_id:032x}" for span in found.values() if span.context} == {TRACE}
    peer, request_span = found["GET MAAS"], found["POST /actions"]
    assert peer.parent.span_id == request_span.context.span_id
    assert stored == f"00-{TRACE}-{request_span.context.span_id:016x}-01"
    assert dict(peer.attributes or {}) == {
        "shipyard.system": "MAAS",
        "shipyard.operation": "GET /machines",
        "shipyard.outcome": "no_answer",
        "error.type": "no_answer",
    }
    assert peer.status.description == "no_answer"


@table(
    ("kind", "labels", "details", "outcome", "attributes"),
    {
        "server": (
            Kind.REQUEST,
            {"method": "GET", "route": "/actions/{id}", "status": "404"},
            {"url.path": "/actions/7", "url.scheme": "http"},
            "refused",
            {
                "http.request.method": "GET",
                "http.route": "/actions/{id}",
                "http.response.status_code": 404,
                "url.path": "/actions/7",
                "url.scheme": "http",
            },
        ),
        "server that failed": (
            Kind.REQUEST,
            {"method": "other", "route": "", "status": "500"},
            {},
            "error",
            {"http.request.method": "_OTHER", "http.response.status_code": 500, "error.type": "500"},
        ),
        "caller that left": (
            Kind.REQUEST,
            {"method": "GET", "route": "/", "status": "0"},
            {},
            "left",
            {"http.request.method": "GET", "http.route": "/", "error.type": "left"},
        ),
        "client": (
            Kind.PEER,
            {"method": "GET"},
            {
                "url.full": "http://maas/x",
                "http.response.status_code": "404",
            },
            "refused",
            {
                "http.request.method": "GET",
                "url.full": "http://maas/x",
                "server.address": "maas",
                "server.port": 80,
                "http.response.status_code": 404,
                "error.type": "404",
            },
        ),
        "SSH": (Kind.PEER, {"method": "RUN"}, {"node": "n1"}, "success", {}),
        "turn": (
            Kind.TURN,
            {},
            {"action": "01ARZ"},
            "success",
            {
                "messaging.system": "procrastinate",
                "messaging.operation.type": "process",
                "messaging.operation.name": "process",
                "messaging.destination.name": "turns",
                "messaging.message.conversation_id": "01ARZ",
            },
        ),
    },
)
def test_a_span_has_what_the_semantic_conventions_ask_for(
    spans: InMemorySpanExporter,
    kind: Kind,
    labels: dict[str, str],
    details: dict[str, str],
    outcome: str,
    attributes: dict[str, str | int],
) -> None:
    with observed(kind, "work", labels) as seen:
        seen.details |= details
        seen.outcome = outcome

    span = shown(spans)["work"]
    named = {name: value for name, value in (span.attributes or {}).items() if not name.startswith("shipyard.")}
    assert named == attributes
    assert span.status.is_ok is ("error.type" not in attributes)
    resource = span.resource.attributes
    assert (resource["service.name"], resource["service.version"]) == ("shipyard-worker", version("shipyard"))
    assert UUID(str(resource["service.instance.id"])).version == 4


def test_the_text_of_an_error_is_not_kept(spans: InMemorySpanExporter) -> None:
    def break_off() -> None:
        with observed(Kind.TURN, "turn"):
            raise ValueError("swordfish")

    with pytest.raises(ValueError, match="swordfish"):
        break_off()

    assert "swordfish" not in shown(spans)["turn"].to_json()
    assert shown(spans)["turn"].status.description == "failed"


def test_a_trace_that_its_caller_does_not_record_is_not_recorded_here(spans: InMemorySpanExporter) -> None:
    with observed(Kind.REQUEST, "GET", parent=f"00-{TRACE}-b7ad6b7169203331-00"):
        pass

    assert shown(spans) == {}


def test_without_an_endpoint_nothing_is_traced() -> None:
    monitoring.trace("api", TraceOptions())

    with observed(Kind.REQUEST, "GET"):
        assert traceparent() == ""
