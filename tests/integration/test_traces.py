"""One trace from the request that creates an action to the calls that its turns make."""

from collections.abc import Callable

from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shipyard_api.adapters.opentelemetry.traces import Traces
from shipyard_api.observing.telemetry import Kind, observe_with, observed
from tests.world import World


def test_turns_continue_the_trace_of_the_request(worlds: Callable[..., World]) -> None:
    exporter = InMemorySpanExporter()
    remove = observe_with(Traces("worker", 1.0, SimpleSpanProcessor(exporter)).observe)
    try:
        with observed(Kind.REQUEST, "POST /actions"):
            world = worlds()
        world.run(world.worker())
    finally:
        remove()

    spans = {span.context.span_id: span for span in exporter.get_finished_spans() if span.context}
    (request,) = (span for span in spans.values() if span.name == "POST /actions")
    turns = [span for span in spans.values() if span.name == "turn"]
    effects = [span for span in spans.values() if span not in (request, *turns)]
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    assert len(turns) > 3
    assert {span.parent.span_id for span in turns if span.parent} == {request.context.span_id if request.context else 0}
    assert {spans[span.parent.span_id].name for span in effects if span.parent} == {"turn"}
    assert (
        {"Check", "SubmitMove", "SetTag"}
        <= {span.name for span in effects}
        <= {
            "Check",
            "PollJob",
            "PollJobs",
            "SeekCases",
            "SelectMembers",
            "SetTag",
            "SubmitMove",
            "SubmitSiteWork",
        }
    )
    assert {(span.attributes or {})["shipyard.action"] for span in turns} == {world.action}
    assert {(span.attributes or {}).get("shipyard.step") for span in turns} > {None, "preflight.ucp_preflight_check"}
