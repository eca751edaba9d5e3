"""Which cluster the settings name, and everything that is wrong with what they say."""

from pathlib import Path

import pytest

from shipyard_api.adapters.kubernetes.nodes import KubernetesCluster
from shipyard_api.wiring import clusters
from shipyard_api.wiring.settings import SettingsError, load

KUBECONFIG = """
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: s3cret}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
current-context: one
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    written = tmp_path / "kubeconfig"
    written.write_text(KUBECONFIG)
    return str(written)


def settings(**given: str) -> dict[str, str]:
    return {f"SHIPYARD_KUBERNETES_{name}".upper(): value for name, value in given.items()}


def faults(**given: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        clusters.cluster(load(settings(**given)))
    return caught.value.faults


def test_without_settings_there_is_no_cluster() -> None:
    assert clusters.cluster(load({})) is None


def test_a_kubeconfig_names_a_cluster(file: str) -> None:
    for given in ({"kubeconfig": file}, {"kubeconfig": file, "context": "one"}):
        found = clusters.cluster(load(settings(**given)))
        assert (found.name, found.nodes.name) == ("Kubernetes", "Kubernetes")


def test_an_address_names_a_cluster() -> None:
    assert isinstance(clusters.cluster(load(settings(url="https://127.0.0.1:1", token="s3cret"))), KubernetesCluster)


def test_all_that_contradicts_itself_is_said_at_once(file: str) -> None:
    assert faults(kubeconfig=file, url="https://127.0.0.1:1", ca_file="/none") == [
        "[kubernetes] kubeconfig and url: both name a cluster; give one of them",
        "[kubernetes] ca_file: there is no file /none",
    ]
    assert faults(token="s3cret", ca_file="/none", context="one") == [
        "[kubernetes] context: needs a kubeconfig; set kubeconfig as well",
        "[kubernetes] token: needs url, which is not set",
        "[kubernetes] ca_file: needs url, which is not set",
        "[kubernetes] ca_file: there is no file /none",
    ]
    assert faults(kubeconfig="/none") == ["[kubernetes] kubeconfig: there is no file /none"]


def test_what_cannot_be_used_is_named_by_its_setting(file: str) -> None:
    assert faults(kubeconfig=file, context="two")[0].startswith(f"[kubernetes] kubeconfig: {file}")
    assert faults(url="10.0.0.1:6443")[0].startswith("SHIPYARD_KUBERNETES_URL: ")
