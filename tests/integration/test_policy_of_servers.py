"""A rollout policy binds every action that takes nodes: the records of the simulated peers say when work began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from shipyard_api.domain.actions import Control, RunState
from shipyard_api.domain.node_operations import NodeOperation
from tests.combinations.model import OPTIONS
from tests.combinations.operations import call
from tests.combinations.site import NODES, TEMPLATE, Site
from tests.integration.test_policy_on_simulators import PolicySite
from tests.simulated_peers import time_of

SHORT = {"prepare": 1, "deploy": 1}
"""The seconds that the policy expects of a server: any open window is long enough."""

ONE_AWAY = {"budgets": [{"name": "site", "max_unavailable": 1}]}
ONE_A_RACK = {"budgets": [{"name": "racks", "by": "rack", "max_unavailable": 1}]}
MINUTES = 1


class ServerSite(PolicySite):
    """Three servers of a cluster, in two racks; they are deployed before the site has a policy."""

    def __init__(self, url: str, provisioner: str) -> None:
        self.policy: Mapping[str, Any] = {}
        plain = {name: values[0] for name, values in OPTIONS.items()}
        Site.__init__(self, url, {**plain, "provisioner": provisioner})
        self.keep_template()
        self.begin()
        self.run()
        assert self.state() is RunState.SUCCESS, self.journal()
        self.populate()

    def run(self, controls: Any = None) -> None:
        """Deliver turns and items until the action has ended."""
        Site.run(self, controls)

    def turn(self) -> None:
        """Deliver a turn and the items that are due, and stay at that time."""
        self.engine.run(self.action)
        self.engine.items.run(self.action, "run-1")

    def opens_in_an_hour(self, **policy: Any) -> datetime:
        """Commit a policy whose window opens in an hour, for a minute each day; return when."""
        opens = (self.clock.now() + timedelta(hours=1)).replace(second=0, microsecond=0)
        at = {"zone": "UTC", "start": f"{opens:%H:%M}", "minutes": MINUTES}
        self.bound_by({"windows": {"open": [at], "durations": SHORT}, **policy})
        return opens

    def bound_by(self, policy: Mapping[str, Any]) -> None:
        """Commit a policy, as the last site action had deployed it."""
        self.policy = policy
        self.commit()
        self.clock.advance(60)

    def cordoned(self) -> dict[str, datetime]:
        """Return when each node was first cordoned since the last action was created, by the API server's record."""
        changes = [one for one in self.cluster_events() if one["event"] == "node_changed" and one["cordoned"]]
        first: dict[str, datetime] = {}
        for one in changes:
            if time_of(one) >= self.since:
                first.setdefault(one["node"], time_of(one))
        return first

    def ended(self, *phases: str) -> dict[str, datetime]:
        """Return when the provisioner ended a phase with each node since then, by its own record."""
        return {one.node: one.at for one in self.peer.ended() if one.phase in phases and one.at >= self.since}

    def ask_for(self, name: str, **parameters: Any) -> Any:
        """Create an action."""
        self.since = self.clock.now()
        answer = self.create(name, parameters)
        assert answer.status_code == 201, answer.text
        return answer.json


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[ServerSite]:
    with closing(ServerSite(module_database_url, request.param)) as found:
        yield found


on_ironic = pytest.mark.parametrize("site", ["ironic"], indirect=True)


@pytest.mark.parametrize(
    ("site", "name"), [("ironic", "redeploy_server"), ("maas", "remove_server")], indirect=["site"]
)
def test_a_server_begins_only_while_a_window_is_open_and_comes_back_after_its_close(
    site: ServerSite, name: str
) -> None:
    opens = site.opens_in_an_hour()
    body = {"name": name, "parameters": {"target_nodes": "n1,n2"}}
    planned = [finding["message"] for finding in site.plan(body)["findings"]]
    answer = site.ask_for(name, target_nodes="n1,n2")
    for _ in range(4):
        site.turn()
        site.clock.advance(20)

    waits = f"windows: closed until {opens:%Y-%m-%dT%H:%M:%SZ}"
    assert any(waits.removeprefix("windows: ") in message for message in planned), planned
    assert any("maintenance window" in warning["message"] for warning in answer["warnings"])
    assert site.waits_for() == f"the rollout policy: {waits}"
    shown = site.get(f"/actions/{site.action}/overview")["policy"]["windows"]
    assert f"T{opens:%H:%M:%S}" in shown[0]["begins"]  # the API's clock is not the site's here

    site.run()
    close, tomorrow = opens + timedelta(minutes=MINUTES), opens + timedelta(days=1)
    began = site.cordoned()
    assert site.state() is RunState.SUCCESS, site.journal()
    assert opens <= began["n1"] < close
    assert tomorrow <= began["n2"] < tomorrow + timedelta(minutes=MINUTES)
    destroyed = {one.node: one.at for one in site.peer.destroyed() if one.at >= site.since}
    assert opens < destroyed["n1"] < tomorrow < destroyed["n2"]
    if name == "redeploy_server":
        assert close < site.ended("deploy")["n1"] < tomorrow


@on_ironic
def test_a_server_that_could_not_begin_before_the_close_waits_for_the_next_window(site: ServerSite) -> None:
    """The action is paused over the open window: nothing is sent when it goes on."""
    opens = site.opens_in_an_hour()
    site.ask_for("redeploy_server", target_nodes="n1")
    for _ in range(6):
        site.turn()
    site.control(Control.PAUSE)
    site.turn()
    site.clock.advance(7200)
    site.turn()
    assert site.cordoned() == {}
    site.control(Control.UNPAUSE)
    site.run()

    assert opens + timedelta(days=1) <= site.cordoned()["n1"]


@on_ironic
def test_budgets_make_the_batches_of_a_redeployment_smaller(site: ServerSite) -> None:
    site.bound_by(ONE_A_RACK)
    body = {"name": "redeploy_server", "parameters": {"target_nodes": "n1,n2", "max_parallel_nodes": 2}}
    plan = site.plan(body)
    site.ask_for(body["name"], **body["parameters"])
    site.run()

    assert [group["sends"] for group in plan["groups"]] == [["n1"], ["n2"]]
    assert any("budget racks of rack r1" in finding["message"] for finding in plan["findings"])
    assert site.state() is RunState.SUCCESS, site.journal()
    assert site.ended("deploy")["n1"] < site.cordoned()["n2"]


@on_ironic
def test_a_budget_and_a_window_bind_a_service(site: ServerSite) -> None:
    opens = site.opens_in_an_hour(**ONE_AWAY)
    site.ask_for("service_server", template=TEMPLATE)
    site.run()

    began, served = site.cordoned(), site.ended("service")
    assert site.state() is RunState.SUCCESS, site.journal()
    for day, node in enumerate(NODES):
        assert timedelta(0) <= began[node] - (opens + timedelta(days=day)) < timedelta(minutes=MINUTES)
        assert served[node] < opens + timedelta(days=day + 1)


@on_ironic
def test_force_passes_budgets_and_windows_where_the_caller_may_and_it_is_written_down(site: ServerSite) -> None:
    opens = site.opens_in_an_hour(**ONE_A_RACK)
    parameters = {"target_nodes": "n1,n2", "max_parallel_nodes": 2, "force": True}
    tester, site.client = site.client, site.caller("other", "admin_ucp")
    site.ask_for("redeploy_server", **parameters)
    for _ in range(4):
        site.turn()
        site.clock.advance(20)
    assert site.waits_for().startswith("the rollout policy: windows: ")
    assert "you may not pass them with force" in site.said()
    site.control(Control.STOP)
    site.run()

    site.client = tester
    plan = site.plan({"name": "redeploy_server", "parameters": parameters})
    site.ask_for("redeploy_server", **parameters)
    site.run()
    assert any("is forced" in finding["message"] for finding in plan["findings"])
    assert [group["sends"] for group in plan["groups"]] == [["n1", "n2"]]
    assert site.state() is RunState.SUCCESS, site.journal()
    assert max(site.cordoned().values()) < opens
    assert "tester has forced the action past the budgets and windows of the rollout policy" in site.said()


@on_ironic
def test_a_policy_binds_the_actions_that_it_names_and_no_other(site: ServerSite) -> None:
    opens = site.opens_in_an_hour(actions=["update_software", "node_operation"])
    site.ask_for("redeploy_server", target_nodes="n1")
    site.run()
    assert site.cordoned()["n1"] < opens

    site.task_graph()
    refused = call(site, NodeOperation.DRAIN, "n2")
    assert (refused.status_code, "closed until" in refused.text) == (409, True), refused.text
    opens = site.opens_in_an_hour(actions=["update_software", "node_operation"])
    site.ask_for("update_software", **{"allow-intermediate-commits": True})
    for _ in range(4):
        site.turn()
    assert site.hosts.begun == []
    site.run()
    assert site.state() is RunState.SUCCESS, site.journal()
    assert site.clock.now() >= opens
