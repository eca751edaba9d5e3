"""The sample dashboard and alert rules query metrics that exist, and alerts fire on what they are for.

The metrics are those that the code exposes. Queries are executed by promtool, where there is one.
"""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from shipyard_api.adapters.prometheus.exposition import ActivityMetrics, PrometheusText
from shipyard_api.adapters.prometheus.site import SiteCollector
from shipyard_api.observing.telemetry import Activity, Kind
from tests.conftest import ROOT
from tests.unit.adapters.prometheus.test_site import COUNTS
from tests.unit.tables import every_row

RULES = ROOT / "etc" / "prometheus" / "shipyard-rules.yaml"
DASHBOARD = ROOT / "etc" / "grafana" / "shipyard.json"
ACTIVITIES = [
    Activity(Kind.REQUEST, "GET", {"method": "GET", "route": "/health", "status": "204"}),
    Activity(Kind.TURN, "turn", {"action": "deploy_site"}),
    Activity(Kind.ITEM, "item"),
    Activity(Kind.EFFECT, "Submit", {"effect": "Submit"}),
    Activity(Kind.PEER, "GET Drydock", {"system": "Drydock", "method": "GET"}),
    Activity(Kind.PEER, "GET Drydock", {"system": "Drydock", "method": "GET"}, outcome="no_answer"),
]


@cache
def recorded() -> dict[str, str]:
    """The recorded metrics: every series with its values over time, in promtool's notation."""
    metrics = ActivityMetrics()
    for activity in ACTIVITIES:
        with metrics.observe(activity):
            pass
    site = SiteCollector(lambda: COUNTS, lambda: {"database": 0.5})
    text = PrometheusText(metrics, site).text() + PrometheusText(ActivityMetrics()).text()
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            labels = ", ".join(f'{name}="{value}"' for name, value in {**sample.labels, "instance": "a:1"}.items())
            step = sample.value if family.type == "histogram" else 0
            found[f"{sample.name}{{{labels}}}"] = f"{sample.value:g}+{step:g}x120"
    return found


def rules() -> dict[str, str]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


def panels() -> dict[str, str]:
    listed = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return {f"{one['title']} {target['refId']}": target["expr"] for one in listed for target in one["targets"]}


@every_row([*rules().items(), *panels().items()])
def test_a_query_uses_metrics_and_labels_that_exist(name: str, query: str) -> None:
    names = {series.partition("{")[0] for series in recorded()}
    labels = {label for series in recorded() for label in re.findall(r"(\w+)=", series)}

    used = set(re.findall(r"\b(?:shipyard|process)_\w+", query))
    assert used
    assert used <= names, name
    assert {label.strip() for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(",")} <= labels
    assert set(re.findall(r"(\w+)=~?\"", query)) <= labels


def promtool(directory: Path, tests: list[dict[str, Any]]) -> None:
    """Run unit tests of promtool, beside our rules; they must pass."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    shutil.copy(RULES, directory / "rules.yaml")
    body = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (directory / "tests.yaml").write_text(yaml.safe_dump(body), encoding="utf-8")
    done = subprocess.run(
        [program, "test", "rules", str(directory / "tests.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def series(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"series": name, "values": value} for name, value in values.items()]


def test_every_panel_shows_something(tmp_path: Path) -> None:
    found = {"labels": "{}", "value": 1}
    checks = [
        {"expr": f"count({query}) > bool 0", "eval_time": "90m", "exp_samples": [found]} for query in panels().values()
    ]

    promtool(tmp_path, [{"interval": "1m", "input_series": series(recorded()), "promql_expr_test": checks}])


# By alert: the series that make it fire, and the labels that it fires with.
FIRING = {
    "ShipyardDatabaseUnreachable": ({"shipyard_database_up": "0x60"}, {}),
    "ShipyardNoWorker": ({"shipyard_database_up": "1x60"}, {}),
    "ShipyardQueueLate": ({'shipyard_queue_lag_seconds{queue="turns"}': "0+60x60"}, {"queue": "turns"}),
    "ShipyardActionFailed": (
        {'shipyard_actions{action="deploy_site", state="failed"}': "1x55 2x10"},
        {"action": "deploy_site"},
    ),
    "ShipyardNodesFailed": ({"shipyard_failed_nodes": "3x60"}, {}),
    "ShipyardNodesLate": ({"shipyard_late_nodes": "2x60"}, {}),
    "ShipyardOneCause": ({"shipyard_cases": "1x60"}, {}),
    "ShipyardStragglers": ({"shipyard_stragglers": "1x120"}, {}),
    "ShipyardPeerFails": (
        {
            'shipyard_peer_call_seconds_count{system="MAAS", outcome="success"}': "0+7x60",
            'shipyard_peer_call_seconds_count{system="MAAS", outcome="no_answer"}': "0+3x60",
        },
        {"system": "MAAS"},
    ),
    "ShipyardTurnsBreak": (
        {'shipyard_turn_seconds_count{action="deploy_site", outcome="failed"}': "0x55 1x10"},
        {"action": "deploy_site"},
    ),
    "ShipyardClockSkewed": ({'shipyard_clock_skew_seconds{system="MAAS"}': "-400x60"}, {"system": "MAAS"}),
}
CALM = {
    "shipyard_database_up": "1x120",
    "shipyard_worker_heartbeat_age_seconds": "3x120",
    'shipyard_queue_lag_seconds{queue="turns"}': "5x120",
    'shipyard_actions{action="deploy_site", state="failed"}': "2x120",
    'shipyard_nodes{status="success"}': "16x120",
    "shipyard_failed_nodes": "0x120",
    "shipyard_late_nodes": "0x120",
    "shipyard_cases": "0x120",
    "shipyard_stragglers": "0x120",
    'shipyard_peer_call_seconds_count{system="MAAS", outcome="success"}': "0+9x120",
    'shipyard_peer_call_seconds_count{system="MAAS", outcome="no_answer"}': "0+1x120",
    'shipyard_turn_seconds_count{action="deploy_site", outcome="success"}': "0+9x120",
    'shipyard_clock_skew_seconds{system="MAAS"}': "-200x120",
}


def test_each_alert_fires_on_what_it_is_for_and_none_on_a_calm_site(tmp_path: Path) -> None:
    assert set(FIRING) == set(rules())
    at = {"ShipyardStragglers": "65m"}
    alerts = [
        {
            "interval": "1m",
            "input_series": series(values),
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": at.get(name, "58m"),
                    "exp_samples": [{"labels": "{}", "value": 1}],
                },
                {
                    "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing", '
                    + ", ".join(f'{key}="{value}"' for key, value in labels.items())
                    + "})",
                    "eval_time": at.get(name, "58m"),
                    "exp_samples": [{"labels": "{}", "value": 1}],
                },
            ],
        }
        for name, (values, labels) in FIRING.items()
    ]
    calm = {"expr": "count(ALERTS) or vector(0)", "eval_time": "100m", "exp_samples": [{"labels": "{}", "value": 0}]}

    promtool(tmp_path, [*alerts, {"interval": "1m", "input_series": series(CALM), "promql_expr_test": [calm]}])
