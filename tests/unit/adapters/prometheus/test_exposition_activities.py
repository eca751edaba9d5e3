"""Histograms of activities: which labels a sample has."""

from itertools import count
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge, values
from prometheus_client.parser import text_string_to_metric_families

from shipyard_api.adapters.prometheus import exposition
from shipyard_api.adapters.prometheus.exposition import ActivityMetrics, PrometheusText, activity_metrics
from shipyard_api.observing import request_context
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


def item_turns(text: PrometheusText) -> list[tuple[dict[str, str], float]]:
    families = {one.name: one for one in text_string_to_metric_families(text.text().decode())}
    samples = families["shipyard_item_turn_seconds"].samples
    return [(one.labels, one.value) for one in samples if one.name.endswith("_sum")]


@every_row({"by default": ({}, {}), "by site": ({"by_site": True}, {"site": "berlin"})})
def test_the_site_of_a_thread_is_a_label_where_a_process_serves_many(
    options: dict[str, bool], site: dict[str, str]
) -> None:
    activity_metrics.cache_clear()
    metrics = activity_metrics(**options)
    assert activity_metrics(**options) is metrics
    activity_metrics.cache_clear()
    with pytest.MonkeyPatch.context() as patch, request_context.within_site("berlin"):
        patch.setattr(exposition, "perf_counter", count(5.0, 2.0).__next__)
        with metrics.observe(Activity(Kind.ITEM, "item")):
            pass
    assert item_turns(PrometheusText(metrics)) == [({"outcome": "success"} | site, 2.0)]


def test_a_process_of_many_exposes_what_all_of_them_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setattr(exposition, "perf_counter", count(0.0, 2.0).__next__)
    for name in ("one", "two"):
        exposition.keep_values_as(name)
        with ActivityMetrics().observe(Activity(Kind.ITEM, "item")):
            pass
    assert item_turns(PrometheusText(ActivityMetrics())) == [({"outcome": "success"}, 4.0)]


def test_figures_of_a_site_take_the_place_of_those_of_the_process() -> None:
    figures = Gauge("shipyard_figure", "A figure.", registry=CollectorRegistry())
    text = PrometheusText(ActivityMetrics(), figures).text().decode()
    assert "\nshipyard_figure 0.0\n" in text
    assert "process_resident_memory_bytes" not in text
