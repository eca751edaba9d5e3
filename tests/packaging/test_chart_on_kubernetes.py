"""The Helm chart on a real API server, which admits or refuses each object. It has no kubelet, so no pod runs.

The API server's kubeconfig is in KUBECONFIG_FOR_TESTS; .ci/real_kubernetes.py starts one.
"""

import json
import os

import pytest

from tests.packaging.conftest import Run
from tests.packaging.test_chart import CHART, LEAST

KUBECONFIG = os.environ.get("KUBECONFIG_FOR_TESTS")


@pytest.mark.skipif(not KUBECONFIG, reason="KUBECONFIG_FOR_TESTS names no API server")
def test_the_chart_is_installed_upgraded_and_removed(run: Run) -> None:
    def kubectl(*words: str) -> str:
        return run("kubectl", "--kubeconfig", KUBECONFIG, "--context", "admin", "--namespace", "chart", *words)

    def helm(*words: object, values: object = None) -> str:
        given = ("--values", "-") if values is not None else ()
        place = ("--kubeconfig", KUBECONFIG, "--kube-context", "admin", "--namespace", "chart")
        return run("helm", *words, *place, *given, input=json.dumps(values) if values is not None else None)

    def names(kind: str) -> list[str]:
        return sorted(kubectl("get", kind, "--output", "name").split())

    # Without a kubelet the job of a hook would never end.
    helm("install", "site", CHART, "--create-namespace", "--no-hooks", values=LEAST)
    try:
        assert names("deployments") == ["deployment.apps/site-api", "deployment.apps/site-worker"]
        assert names("poddisruptionbudgets") == [f"poddisruptionbudget.policy/site-{one}" for one in ("api", "worker")]
        assert len(names("networkpolicies")) == 2

        job = helm("template", "site", CHART, "--show-only", "templates/migration.yaml", values=LEAST)
        run(
            *("kubectl", "--kubeconfig", KUBECONFIG, "--context", "admin", "--namespace", "chart"),
            *("create", "--dry-run=server", "--filename", "-"),
            input=job,
        )

        helm("upgrade", "site", CHART, "--no-hooks", values=LEAST | {"worker": {"replicas": 1}})
        assert names("poddisruptionbudgets") == ["poddisruptionbudget.policy/site-api"]
    finally:
        helm("uninstall", "site", "--no-hooks")
        left = names("deployments")
        kubectl("delete", "namespace", "chart", "--wait=false")
    assert left == []
