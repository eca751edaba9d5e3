"""Histograms of activities: which labels a sample has."""

from prometheus_client.parser import text_string_to_metric_families

from shipyard_api.adapters.prometheus.exposition import ActivityMetrics, PrometheusText
from shipyard_api.observing.telemetry import Activity, Kind
from tests.unit.tables import every_row


@every_row(
    {
        "peer": (
            Activity(Kind.PEER, "GET Drydock", {"system": "Drydock", "method": "GET"}, {"operation": "GET /a/n1"}),
            "shipyard_peer_call_seconds",
            {"system": "Drydock", "method": "GET", "outcome": "success"},
        ),
        "request": (
            Activity(Kind.REQUEST, "GET /", {"method": "GET", "route": "/{id}", "status": "404"}, outcome="refused"),
            "shipyard_request_seconds",
            {"method": "GET", "route": "/{id}", "status": "404"},
        ),
        "turn": (
            Activity(Kind.TURN, "turn", {"action": "deploy_site"}, {"action": "01A"}, "fenced"),
            "shipyard_turn_seconds",
            {"action": "deploy_site", "outcome": "fenced"},
        ),
        "item of any action": (Activity(Kind.ITEM, "item"), "shipyard_item_turn_seconds", {"outcome": "success"}),
        "effect": (
            Activity(Kind.EFFECT, "Submit", {"effect": "Submit"}, outcome="unavailable"),
            "shipyard_effect_seconds",
            {"effect": "Submit", "outcome": "unavailable"},
        ),
    },
)
def test_an_activity_is_one_observation(activity: Activity, metric: str, labels: dict[str, str]) -> None:
    metrics = ActivityMetrics()

    with metrics.observe(activity):
        pass

    families = {one.name: one for one in text_string_to_metric_families(PrometheusText(metrics).text().decode())}
    (count,) = (one for one in families[metric].samples if one.name == f"{metric}_count")
    assert (count.labels, count.value) == (labels, 1.0)
    assert "process_resident_memory_bytes" in families
