"""Burn-in before a server's first deployment, through the API and a worker, by the log of a simulated Ironic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from shipyard_api.domain.actions import RunState
from tests.combinations.site import NODES
from tests.integration.test_policy_on_simulators import DONE, PolicySite
from tests.runbooks import call

BURN_IN = {"memory": 60, "cpu": 120}
TESTS = ["deploy.burnin_cpu", "deploy.burnin_memory"]
WHOLE = [*TESTS, "active"]
REASON = "stress-ng (cpu) failed"


class BurnInSite(PolicySite):
    """Three nodes that are burned in."""

    def __init__(self, url: str, provisioner: str = "ironic") -> None:
        super().__init__(url, provisioner, {})

    def section(self) -> Mapping[str, Any]:
        """Return the section of the provisioner in the deployment configuration."""
        return {"burn_in": BURN_IN}

    def tested(self) -> dict[str, list[str]]:
        """Return what was tested on which node, and when it was deployed, by the log of Ironic."""
        found: dict[str, list[str]] = {}
        for one in self.peer.events():
            if one.get("kind") == "manual clean":
                found.setdefault(one["node"], []).append(one["step"])
            elif one.get("verb") == "active":
                found.setdefault(one["node"], []).append("active")
        return found


@pytest.fixture
def site(module_database_url: str) -> Iterator[BurnInSite]:
    with closing(BurnInSite(module_database_url)) as found:
        yield found


def test_servers_pass_their_burn_in_before_they_are_deployed(site: BurnInSite) -> None:
    site.begin()
    plan = site.ask("POST", "/plans", {"name": "deploy_site"}, expect=200).json
    forecast = site.ask("POST", "/forecasts", {"name": "deploy_site"}, expect=200).json
    site.run()

    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE)), site.journal()
    assert site.tested() == dict.fromkeys(NODES, WHOLE)
    options = call(site.peer.url, "GET", "/v1/nodes/n1")["driver_info"]
    assert (options["agent_burnin_cpu_timeout"], options["agent_burnin_vm_timeout"]) == (120, 60)
    (planned,) = plan["clean_steps"]
    assert planned["nodes"] == list(NODES)
    assert [(f"deploy.{one['step']}", one["args"], one["template"]) for one in planned["steps"]] == [
        (TESTS[0], {"seconds": 120}, "burn_in"),
        (TESTS[1], {"seconds": 60}, "burn_in"),
    ]
    assert forecast["seconds"]["p10"] > 180


def test_a_server_that_fails_is_not_deployed_and_a_retry_repeats_only_its_burn_in(site: BurnInSite) -> None:
    site.begin()
    site.play({"n1": {"steps": "fail", "reason": REASON}})
    site.run()

    assert site.state() is RunState.FAILED
    assert site.nodes() == {"n1": ("failure", "prepare"), **dict.fromkeys(("n2", "n3"), ("prepared", None))}
    assert site.tested() == dict.fromkeys(NODES, TESTS)
    assert REASON in site.said()
    site.play({})
    assert site.retry().status_code == 201
    site.run()

    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE)), site.journal()
    assert site.tested() == {"n1": [*TESTS, *TESTS, "active"], "n2": WHOLE, "n3": WHOLE}


def test_a_failed_deployment_repeats_no_burn_in_and_neither_does_a_new_action(site: BurnInSite) -> None:
    site.begin()
    site.play({"n1": {"deploy": "fail", "times": 1}})
    site.run()
    assert site.nodes()["n1"] == ("failure", "deploy")
    assert site.create("deploy_site", {}).status_code == 201
    site.run()

    assert site.nodes() == dict.fromkeys(NODES, DONE), site.journal()
    assert site.tested() == {"n1": [*TESTS, "active", "active"], "n2": WHOLE, "n3": WHOLE}


def test_a_provisioner_without_burn_in_is_refused_at_commit(module_database_url: str) -> None:
    with closing(BurnInSite(module_database_url, "maas")) as site:
        with pytest.raises(AssertionError, match="NoBurnIn"):
            site.begin()
        assert site.peer.begun() == []
