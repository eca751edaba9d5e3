"""The Kubernetes simulator as a program."""

from pathlib import Path

import requests

from shipyard_simulators.tests.kubernetes.client import AT_ONCE
from shipyard_simulators.tests.programs import refusal, started
from shipyard_simulators.tests.waiting import PATIENCE


def test_the_program_expects_the_nodes_of_a_design_and_of_its_options(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(
        "{schema: drydock/BaremetalNode/v1, metadata: {name: CMP01}}\n---\n"
        "{schema: drydock/HostProfile/v1, metadata: {name: defaults}}\n---\njust text\n"
    )
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(AT_ONCE)
    options = ["--site", site, "--node", "n1", "--version", "1.20", "--scenario", scenario]
    with started("kubernetes", tmp_path, *options) as (_, url):
        paths = ("api/v1/nodes", "api/v1/pods", "version")
        listed, pods, version = (requests.get(f"{url}/{path}", timeout=PATIENCE).json() for path in paths)
    assert [node["metadata"]["name"] for node in listed["items"]] == ["cmp01", "n1"]
    assert {each["spec"]["nodeName"] for each in pods["items"]} == {"cmp01", "n1"}
    assert version["gitVersion"] == "v1.20.2"


def test_the_program_names_a_design_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("{")
    for site in ("site.yaml", "none.yaml"):
        code, lines = refusal("kubernetes", "--site", str(tmp_path / site))
        assert code == 2
        assert f"--site: {tmp_path / site} cannot be read" in "".join(lines)
