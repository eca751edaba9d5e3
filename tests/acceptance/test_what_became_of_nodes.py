"""What an operator is told of nodes after a night that went wrong: by the command, from a simulated Drydock."""

from __future__ import annotations

import json
from pathlib import Path

import requests
from click.testing import Result

from tests.acceptance.programs import invoke
from tests.conftest import ROOT
from tests.stand import Stand

SITE = ROOT / "shipyard_simulators" / "sites" / "five-groups.yaml"


def test_a_failed_node_is_found_explained_and_compared_with_what_drydock_sees(
    tmp_path: Path, database_url: str
) -> None:
    with Stand(tmp_path, database_url, scenario="ntp-prepare-fails") as stand:
        environment = {"SHIPYARD_URL": stand.url, "SHIPYARD_TOKEN": stand.token}

        def shipyard(line: str) -> Result:
            ended = invoke(line.split(), environment)
            assert ended.exit_code == 0, ended.output
            return ended

        stand.commit(SITE.read_bytes())
        stand.start("worker")
        action = stand.deploy_site()
        stand.wait(action, 120)

        report = json.loads(shipyard(f"--output-format=raw report {action}").stdout)
        failed = [node for node in report["nodes"] if node["status"] == "failure"]
        assert (report["verdict"], len(failed)) == ("failed", report["totals"]["nodes"]["failure"])
        (ntp,) = (group for group in report["groups"] if group["name"] == "ntp-node")
        assert ntp["shortfalls"]
        assert {node["group"] for node in failed} == {"ntp-node"}

        # The addresses that the report gives are ones at which Drydock has something to say.
        name, place = failed[0]["name"], failed[0]["look_at"]
        task = requests.get(place, timeout=10).json()
        assert (task["task_id"], task["action"]) == (ntp["phases"][0]["job"], "prepare_nodes")
        assert task["subtask_errors"]
        good = next(node for node in report["nodes"] if node["status"] == "success")
        assert requests.get(good["look_at"], timeout=10).json()[0]["node_name"] == good["name"]
        assert f"node/{name}" in shipyard(f"report {action}").stdout

        assert f"node/{name}" in shipyard("get nodes --status failure").stdout
        described = shipyard(f"describe node/{name}").stdout
        assert f"deploy_site action/{action}, failed" in described
        assert "failure" in described.partition("deploy_site")[2]

        statuses = shipyard("get site-statuses").stdout
        assert statuses.index("Nodes Provision Status:\nHostname") < statuses.index("Machines Power State:\nHostname")
        deployed = {line.split()[0] for line in statuses.splitlines() if line.rstrip().endswith("Deployed")}
        assert deployed == {node["name"] for node in report["nodes"] if node["status"] == "success"}
