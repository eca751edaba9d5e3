"""Figures of the site as gauges."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from shipyard_api.adapters.prometheus.exposition import ActivityMetrics, PrometheusText
from shipyard_api.adapters.prometheus.site import SiteCollector
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.ports.state.measures import Count, QueueLoad, SiteCounts
from tests.unit.tables import every_row

COUNTS = SiteCounts(
    actions=[Count(("deploy_site", "running"), 1), Count(("test_site", "failed"), 2)],
    groups=[Count(("success",), 3)],
    phases=[Count(("prepare", "running"), 1)],
    nodes=[Count(("prepared",), 4)],
    items=[Count(("queued",), 5)],
    stragglers=6,
    holds=7,
    failed=9,
    late=8,
    cases=10,
    older=11,
    queue=[
        *(QueueLoad("turns", "due", 2, 12.5), QueueLoad("turns", "running", 1, 0.0)),
        QueueLoad("items", "due", 0, 0.25),
    ],
    heartbeats=[3.5, 0.5],
)


def scraped(collector: SiteCollector) -> dict[str, dict[tuple[str, ...], float]]:
    text = PrometheusText(ActivityMetrics(), collector).text().decode()
    return {
        family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
        for family in text_string_to_metric_families(text)
        if family.type == "gauge" and family.name != "shipyard_build_info"
    }


@every_row(
    [
        ("database_up", {(): 1.0}),
        ("actions", {("deploy_site", "running"): 1.0, ("test_site", "failed"): 2.0}),
        ("deployment_groups", {("success",): 3.0}),
        ("phases", {("prepare", "running"): 1.0}),
        ("nodes", {("prepared",): 4.0}),
        ("work_items", {("queued",): 5.0}),
        ("stragglers", {(): 6.0}),
        ("late_nodes", {(): 8.0}),
        ("failed_nodes", {(): 9.0}),
        ("holds", {(): 7.0}),
        ("older_nodes", {(): 11.0}),
        ("queue_jobs", {("turns", "due"): 2.0, ("turns", "running"): 1.0, ("items", "due"): 0.0}),
        ("queue_lag_seconds", {("turns",): 12.5, ("items",): 0.25}),
        ("workers", {(): 2.0}),
        ("worker_heartbeat_age_seconds", {(): 0.5}),
        ("clock_skew_seconds", {("database",): -0.25}),
    ],
)
def test_figures_are_gauges(metric: str, values: Mapping[tuple[str, ...], float]) -> None:
    assert scraped(SiteCollector(lambda: COUNTS, lambda: {"database": -0.25}))[f"shipyard_{metric}"] == values


def test_without_its_database_a_site_has_one_figure() -> None:
    def away() -> SiteCounts:
        raise StoreUnavailable("no connection")

    assert scraped(SiteCollector(away, dict)) == {"shipyard_database_up": {(): 0.0}}
