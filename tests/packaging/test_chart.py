"""The Helm chart, rendered by helm: lint, the schemas of Kubernetes, and what an operator relies on.

Its installation on a real API server: tests/packaging/test_chart_on_kubernetes.py.
"""

import json
from collections.abc import Mapping
from configparser import ConfigParser
from typing import Any

import pytest
import yaml

from shipyard_api.wiring.settings import load
from tests.packaging.conftest import ROOT, Run

CHART = ROOT / "charts" / "shipyard"
LEAST = {"existingSecret": "shipyard"}
MOST = LEAST | {
    "existingFilesSecret": "shipyard-files",
    "settings": {"engine": {"time_scale": 1, "settle_seconds": 2.5}, "ssh": {"user": "deploy"}},
    "image": {
        "repository": "registry.example.org/shipyard",
        "digest": f"sha256:{'0' * 64}",
        "pullSecrets": [{"name": "p"}],
    },
    "networkPolicy": {
        "apiFrom": [{"namespaceSelector": {}}],
        "monitoringFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
    },
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "tokenSecret": {"name": "prometheus"}},
    "serviceAccount": {"annotations": {"a": "b"}},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"operator": "Exists"}],
    "podAnnotations": {"c": "d"},
}
MONITORS = {"ServiceMonitor", "PodMonitor"}  # no API of Kubernetes


def render(run: Run, values: Mapping[str, Any], *options: str) -> list[Any]:
    text = run("helm", "template", "site", CHART, "--values", "-", *options, input=json.dumps(values))
    return [one for one in yaml.safe_load_all(text) if one]


def of_kind(objects: list[Any], kind: str) -> dict[str, Any]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == kind}


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_the_chart_passes_lint_and_the_schemas_of_kubernetes(values: Mapping[str, Any], run: Run) -> None:
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", CHART, "--values", "-", input=json.dumps(values))

    objects = [one for one in render(run, values) if one["kind"] not in MONITORS]

    assert len(objects) == 10
    text = "\n---\n".join(map(json.dumps, objects))
    run("kubernetes-validate", "--strict", "--kubernetes-version", "1.32", "-", input=text)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, "existingSecret"),
        (LEAST | {"colours": {}}, "colours"),
        (LEAST | {"image": {"repository": "shipyard", "digest": "latest"}}, "digest"),
        (LEAST | {"serviceMonitor": {"enabled": True}}, "tokenSecret"),
    ],
)
def test_unusable_values_are_refused_by_name(values: Mapping[str, Any], reason: str, run: Run) -> None:
    with pytest.raises(AssertionError, match=reason):
        render(run, values)


def test_the_settings_are_ones_that_shipyard_reads(run: Run, tmp_path: Any) -> None:
    config = of_kind(render(run, MOST), "ConfigMap")["site"]["data"]["shipyard.conf"]
    parser = ConfigParser(interpolation=None)
    parser.read_string(config)
    assert {name: dict(parser[name]) for name in parser.sections()} == {
        "engine": {"time_scale": "1", "settle_seconds": "2.5"},
        "ssh": {"user": "deploy"},
    }
    file = tmp_path / "shipyard.conf"
    file.write_text(config)
    environment = {
        "SHIPYARD_CONFIG": str(file),
        "DATABASE_URL": "postgresql://127.0.0.1:9/none",
        "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
        "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
    }

    assert load(environment).engine.settle_seconds == 2.5


def test_large_numbers_stay_as_they_are(run: Run) -> None:
    config = of_kind(render(run, LEAST | {"settings": {"api": {"bytes": 10_000_000}}}), "ConfigMap")["site"]

    assert "bytes = 10000000" in config["data"]["shipyard.conf"]


@pytest.mark.parametrize("values", [LEAST, MOST], ids=["least", "most"])
def test_no_pod_has_more_rights_than_it_needs(values: Mapping[str, Any], run: Run) -> None:
    objects = render(run, values)
    pods = [one["spec"]["template"]["spec"] for one in objects if one["kind"] in ("Deployment", "Job")]

    assert len(pods) == 3
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert of_kind(objects, "Secret") == {}


def test_the_migration_needs_nothing_that_the_release_brings(run: Run) -> None:
    """It is a hook that runs before, on a first installation as well."""
    pod = of_kind(render(run, MOST), "Job")["site-migration"]["spec"]["template"]["spec"]

    assert pod["containers"][0]["args"] == ["db", "upgrade"]
    assert [one["name"] for one in pod["volumes"]] == ["tmp"]
    assert "serviceAccountName" not in pod


def test_one_replica_has_no_budget_that_would_block_every_drain(run: Run) -> None:
    assert set(of_kind(render(run, LEAST), "PodDisruptionBudget")) == {"site-api", "site-worker"}

    assert of_kind(render(run, LEAST | {"worker": {"replicas": 1}}), "PodDisruptionBudget").keys() == {"site-api"}


def test_nobody_reaches_the_metrics_of_a_worker_unless_allowed(run: Run) -> None:
    least, most = (of_kind(render(run, values), "NetworkPolicy") for values in (LEAST, MOST))

    assert least["site-worker"]["spec"]["ingress"] == []
    assert "from" not in least["site-api"]["spec"]["ingress"][0]
    for policy in most.values():
        assert policy["spec"]["ingress"][0]["from"]


def test_a_changed_setting_restarts_the_pods(run: Run) -> None:
    sums = set()
    for user in ("a", "b"):
        deployments = of_kind(render(run, LEAST | {"settings": {"ssh": {"user": user}}}), "Deployment")
        sums |= {
            one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"] for one in deployments.values()
        }
    assert len(sums) == 2


def test_the_version_is_that_of_the_package() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert {chart["version"], chart["appVersion"]} == {setup["metadata"]["version"]}
