"""One API and one worker pool for several sites, as processes; each provisioner's own record is the judge."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from shipyard_api.yaml_stream import write_documents
from shipyard_simulators.held_port import HeldPort
from tests.factories import document
from tests.site_stand import Installation, Site
from tests.waiting import until

if TYPE_CHECKING:
    from tests.databases import Databases

NODES = 3
# Simulated seconds are short here, and a busy machine is slow.
LIMITS = dict.fromkeys(("deploy_timeout", "prepare_node_timeout", "prepare_site_timeout", "verify_timeout"), 30_000)
CONFIGURATION = {"armada": {"manifest": "full-site"}, "physical_provisioner": LIMITS}


def design(site: str) -> bytes:
    names = [f"{site}-{number}" for number in range(NODES)]
    group = {
        "name": "all",
        "critical": True,
        "depends_on": [],
        "selectors": [],
        "success_criteria": {"percent_successful_nodes": 100},
    }
    return write_documents(
        [
            document("deckhand/LayeringPolicy/v1", "layering-policy", {"layerOrder": ["site"]}),
            *(document("drydock/BaremetalNode/v1", name, {"metadata": {}}) for name in names),
            document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {"groups": [group]}),
            document("shipyard/DeploymentConfiguration/v1", "deployment-configuration", CONFIGURATION),
        ]
    )


def deployed(site: Site) -> Counter[tuple[str, str]]:
    """What the simulated provisioner began, by its own log."""
    return Counter((event["phase"], event["node"]) for event in site.events() if event["event"] == "node_started")


def once(site: str) -> dict[tuple[str, str], int]:
    phases = ("prepare", "deploy")
    return {(phase, f"{site}-{number}"): 1 for phase in phases for number in range(NODES)}


def test_two_sites_are_deployed_at_once_beside_a_sick_one_and_a_third_is_added(
    tmp_path: Path, postgres: Databases
) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(HeldPort()).number
        settings = {"SHIPYARD_WORKER_STATUS_PORT": str(port)}
        installation = stack.enter_context(Installation(tmp_path, settings))
        sites = {}
        for name in ("berlin", "oslo", "rome"):
            (tmp_path / name).mkdir()
            url = stack.enter_context(postgres.migrated())
            sites[name] = stack.enter_context(Site(tmp_path / name, url, name=name, installation=installation.url))
        for name in ("berlin", "oslo"):
            sites[name].write(installation.sites)
        (installation.sites / "riga.conf").write_text("[database]\nurl = postgresql://nobody@127.0.0.1:9/none\n")
        installation.start()
        installation.wait_for("/health")
        for name in ("berlin", "oslo"):
            sites[name].commit(design(name))
        actions = {name: sites[name].deploy_site() for name in ("berlin", "oslo")}
        ended = {name: sites[name].wait(action)["verdict"] for name, action in actions.items()}

        assert ended == {"berlin": "success", "oslo": "success"}, installation.log("pool")
        assert {name: deployed(sites[name]) for name in actions} == {name: once(name) for name in actions}

        measured = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
        for name in actions:
            turns = f'shipyard_turn_seconds_count{{action="deploy_site",outcome="success",site="{name}"}}'
            assert turns in measured

        sites["rome"].write(installation.sites)
        installation.reload()
        installation.wait_for("/sites/rome/health/ready")
        sites["rome"].commit(design("rome"))
        assert sites["rome"].wait(sites["rome"].deploy_site())["verdict"] == "success"
        assert deployed(sites["rome"]) == once("rome")

        pool = installation.processes["pool"]
        pool.terminate()
        until(lambda: pool.poll() is not None, lambda: installation.log("pool"), every=0.1)
        assert pool.poll() == 0
        log = installation.log("pool")
    assert log.count('"site cannot be visited"') == 1
    assert "riga" in log
