"""A rollout policy through the API and a worker, before simulated provisioners: their own logs tell who was sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import cycle
from typing import Any

import pytest

from shipyard_api.domain.actions import ENDED, ActionId, Control, RunState
from shipyard_api.wiring import parts
from shipyard_api.workflow.turn import Engine
from tests.combinations.model import OPTIONS, Row
from tests.combinations.site import NODES, Site, reason_of
from tests.factories import document, group_entry, layering_policy, node_document, strategy_document
from tests.integration.api.description import check
from tests.one_action import seconds_until_due
from tests.simulated_peers import PEERS
from tests.world import SETTLE

PLAIN: Row = {name: values[0] for name, values in OPTIONS.items()} | {"action": "deploy_site", "cluster": "none"}
RACKS = {"n1": "r1", "n2": "r1", "n3": "r2"}
CANARY = {"name": "canary", "nodes": 1}
GATED = {"waves": [{**CANARY, "gates": [{"approval": True}]}]}
RULE = "wave canary of group all"
LASTS = {"prepare": 1400, "deploy": 1400}
ONE_A_RACK = {"budgets": [{"name": "racks", "by": "rack", "max_unavailable": 1}]}
DONE = ("success", None)


def window(start: str, minutes: int, **others: Any) -> dict[str, Any]:
    return {"zone": "UTC", "start": start, "minutes": minutes, **others}


class PolicySite(Site):
    """Three nodes in two racks, and a group of all of them."""

    def __init__(self, url: str, provisioner: str, policy: Mapping[str, Any], phase: str = "deploy") -> None:
        self.policy = policy
        super().__init__(url, {**PLAIN, "provisioner": provisioner, "phase": phase})

    def documents(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the documents of the design."""
        wanted = {"percent_successful_nodes": 100}
        groups = [
            group_entry(name, critical=True, selectors=[{"node_names": nodes}], success_criteria=wanted)
            for name, nodes in self.groups().items()
        ]
        return [
            layering_policy(),
            *(node_document(name, rack=rack, labels=labels) for name, rack in RACKS.items()),
            strategy_document(*groups),
            document(
                "shipyard/DeploymentConfiguration/v1",
                "deployment-configuration",
                {"armada": {"manifest": "full-site"}, "physical_provisioner": self.section()},
            ),
        ]

    def groups(self) -> Mapping[str, list[str]]:
        """Return the nodes of each group."""
        return {"all": list(NODES)}

    def section(self) -> Mapping[str, Any]:
        """Return the section of the provisioner in the deployment configuration."""
        return {"policy": self.policy}

    def begin(self) -> None:
        """Commit the design and create the action."""
        self.commit()
        assert self.create("deploy_site", {}).status_code == 201

    def follow(self, action: str) -> None:
        """Let ``run`` work on an action that was created otherwise."""
        self.actions.append(ActionId(action))
        self._make_due()

    def turn(self) -> None:
        """Deliver one turn, when it is due."""
        self.engine.run(self.action)
        self.clock.advance(seconds_until_due(self.database, self.action, self.clock.now()))

    def run(self, controls: Mapping[int, Control | str] | None = None) -> None:
        """Deliver turns until the action has ended; it has no work items, and no cluster that nodes join."""
        assert not controls
        self.turns(lambda: self.state() in ENDED)

    def turns(self, until: Callable[[], bool]) -> None:
        """Deliver turns until something is so."""
        for _ in range(500):
            if until():
                return
            self.turn()
        raise AssertionError(f"it never comes to that\n{self.journal()}")

    def new_worker(self) -> Engine:
        """Return a worker that knows nothing of what another one did."""
        return Engine(self.store, parts.definitions(self.made), self.clock, settle=SETTLE, worker="another")

    def waits_for(self) -> str:
        """Return what the action waits for, and for whom."""
        waiting = self.get(f"/actions/{self.action}")["waiting_for"] or {}
        return f"{waiting.get('who')}: {waiting.get('what')}"

    def answer(self, *, approve: bool) -> None:
        """Give or refuse the approval that the action waits for."""
        body = {"approve": approve, "reason": "fans"}
        self.ask("POST", f"/actions/{self.action}/approvals", body, expect=200)
        self._make_due()

    def sent(self) -> list[str]:
        """Return what the peer began, by its own log: a line for all of one phase that follow each other."""
        lines: list[tuple[str, set[str]]] = []
        for one in sorted(self.peer.begun(), key=lambda one: one.at):
            if not lines or lines[-1][0] != one.phase:
                lines.append((one.phase, set()))
            lines[-1][1].add(one.node)
        return [f"{phase} {' '.join(sorted(nodes))}" for phase, nodes in lines]

    def nodes(self) -> dict[str, tuple[str, str | None]]:
        """Return the status of each node, and the reason."""
        return {one["name"]: (one["status"], one["reason"]) for one in self._rows()}

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return self.get(f"/actions/{self.action}/nodes")["nodes"]  # type: ignore[no-any-return]  # as answered

    def stopped_by(self) -> set[str]:
        """Return the details of the nodes that the policy has stopped."""
        return {one["detail"] for one in self._rows() if one["reason"] == "policy"}

    def shown(self) -> list[str]:
        """Return the waves with their gates, as the overview shows them."""
        answer = self.ask("GET", f"/actions/{self.action}/overview", expect=200)
        check("GET", f"/api/v1.0/actions/{self.action}/overview", answer)
        waves = answer.json["policy"]["waves"]
        return [
            " ".join(
                [
                    *(one["name"], one["state"], f"{one['nodes']['success']}/{one['nodes']['total']}"),
                    *(gate["state"] for gate in one["gates"]),
                ]
            )
            for one in waves
        ]

    def said(self) -> str:
        """Return the notes of the action and its report."""
        entity = self.get(f"/actions/{self.action}?verbosity=5")
        notes = [note.get("note_val", "") for part in (entity, *entity["steps"]) for note in part["notes"]]
        return "\n".join([*notes, str(self.get(f"/actions/{self.action}/report"))])


@pytest.fixture
def site(request: pytest.FixtureRequest, module_database_url: str) -> Iterator[PolicySite]:
    with closing(PolicySite(module_database_url, *request.param)) as found:
        yield found


@dataclass(frozen=True)
class Case:
    """``fails``: the phase in which the first node fails. ``stopped``: the rule that stops nodes, and why."""

    policy: Mapping[str, Any]
    sent: Sequence[str]
    nodes: Mapping[str, tuple[str, str | None]] = field(default_factory=lambda: dict.fromkeys(NODES, DONE))
    fails: str = ""
    approve: bool | None = None
    stopped: str = ""
    begins: datetime | None = None
    rest_begins: datetime | None = None


HELD_BACK = dict.fromkeys(("n2", "n3"), ("not_started", "policy"))
IN_WAVES = ["prepare n1", "deploy n1", "prepare n2 n3", "deploy n2 n3"]
CASES = {
    "a canary that fails its preparation": Case(
        {"waves": [CANARY]},
        ["prepare n1"],
        {"n1": ("failure", "prepare"), **HELD_BACK},
        fails="prepare",
        stopped=f"{RULE}: maximum_failed_nodes is 1, at most 0 needed",
    ),
    "a canary that fails its deployment": Case(
        {"waves": [CANARY]},
        ["prepare n1", "deploy n1"],
        {"n1": ("failure", "deploy"), **HELD_BACK},
        fails="deploy",
        stopped=f"{RULE}: maximum_failed_nodes is 1, at most 0 needed",
    ),
    "one node a rack": Case(ONE_A_RACK, ["prepare n1 n3", "deploy n1 n3", "prepare n2", "deploy n2"]),
    "an approval that is refused": Case(
        GATED,
        IN_WAVES[:2],
        {"n1": DONE, **HELD_BACK},
        approve=False,
        stopped=f"{RULE}: approval was refused by tester: fans",
    ),
    "a window that opens in the evening": Case(
        {"windows": {"open": [window("22:00", 300)], "durations": LASTS}},
        ["prepare n1 n2 n3", "deploy n1 n2 n3"],
        begins=datetime.fromisoformat("2026-03-02T22:00:00+00:00"),
    ),
    "a window that is too short for the rest": Case(
        {"waves": [CANARY], "windows": {"open": [window("08:50", 58)], "fits": "wave", "durations": LASTS}},
        IN_WAVES,
        rest_begins=datetime.fromisoformat("2026-03-03T08:50:00+00:00"),
    ),
}
PEERS_OF = {name: [peer] for name, peer in zip(CASES, cycle(PEERS))}
# How a deployment fails, and what a retry makes of it, differs most between these two.
PEERS_OF["a canary that fails its deployment"] = ["drydock", "ironic"]


@pytest.mark.parametrize(
    ("site", "case"),
    [
        pytest.param((peer, case.policy, case.fails or "deploy"), case, id=f"{name} on {peer}")
        for name, case in CASES.items()
        for peer in PEERS_OF[name]
    ],
    indirect=["site"],
)
def test_only_what_the_policy_lets_begin_is_sent(site: PolicySite, case: Case) -> None:
    site.begin()
    site.fail(NODES[:1] if case.fails else ())
    if case.approve is not None:
        site.turns(lambda: site.waits_for().startswith("operator"))
        assert site.sent() == case.sent[:2]
        site.answer(approve=case.approve)
    site.run()

    assert site.sent() == case.sent, site.journal()
    assert site.nodes() == case.nodes
    assert site.stopped_by() == ({case.stopped} if case.stopped else set())
    assert case.stopped in site.said()
    assert site.state() is (RunState.SUCCESS if set(case.nodes.values()) == {DONE} else RunState.FAILED)
    if case.begins:
        assert min(one.at for one in site.peer.begun()) >= case.begins
    if case.rest_begins:
        assert min(one.at for one in site.peer.begun() if one.node != "n1") >= case.rest_begins
    if case.fails:
        assert reason_of("n1") in site.said()
        _goes_on(site, case.fails)


def _goes_on(site: PolicySite, fails: str) -> None:
    """After the cause is mended, a retry deploys the canary and then the rest; nothing that was not begun is lost."""
    before = len(site.peer.begun())
    site.cure()
    # Drydock needs one retry to release a machine whose deployment has failed, and one to deploy it.
    for _ in range(2 if (site.row["provisioner"], fails) == ("drydock", "deploy") else 1):
        assert {one.node for one in site.peer.begun()[before:]} <= {"n1"}
        site.settle()
        assert site.retry().status_code == 201
        site.run()
    order = [one.node for one in sorted(site.peer.begun()[before:], key=lambda one: one.at)]
    assert order.index("n2") > max(place for place, node in enumerate(order) if node == "n1"), site.journal()
    assert (site.state(), site.nodes()) == (RunState.SUCCESS, dict.fromkeys(NODES, DONE)), site.journal()


waiting = pytest.mark.parametrize("site", [("maas", GATED)], ids=["maas"], indirect=True)


def _await_approval(site: PolicySite) -> None:
    site.begin()
    site.turns(lambda: site.waits_for().startswith("operator"))


@waiting
def test_turns_and_new_workers_change_nothing_while_an_approval_is_awaited(site: PolicySite) -> None:
    _await_approval(site)
    waits = f"waits for operator: approval after {RULE}: shipyard approve {site.action}"
    known = site.get(f"/actions/{site.action}/forecast")["not_known"]
    assert known == f"{waits}. approval has no time limit"
    before = site.events()
    for _ in range(3):
        site.engine = site.new_worker()
        for _ in range(3):
            site.turn()
    assert (site.events(), site.sent()) == (before, IN_WAVES[:2])
    assert site.shown() == ["canary good 1/1 open", "rest later 0/2"]

    site.control(Control.PAUSE)
    site.turn()
    (gate,) = site.get(f"/actions/{site.action}/approvals")["waiting"]
    assert gate["wave"] == "canary"
    site.answer(approve=True)
    for _ in range(3):
        site.turn()
    assert site.sent() == IN_WAVES[:2]

    site.control(Control.UNPAUSE)
    site.run()
    assert (site.sent(), site.state()) == (IN_WAVES, RunState.SUCCESS)
    assert site.shown() == ["canary good 1/1 passed", "rest good 2/2"]


class OneAndTwo(PolicySite):
    """A group of one node, after which nothing waits for a gate, and a group of two."""

    def groups(self) -> Mapping[str, list[str]]:
        """Return the nodes of each group."""
        return {"one": ["n1"], "two": ["n2", "n3"]}


def test_the_page_asks_for_the_approval_that_the_engine_waits_for(module_database_url: str) -> None:
    with closing(OneAndTwo(module_database_url, "maas", GATED)) as site:
        _await_approval(site)
        policy = site.ask("GET", f"/actions/{site.action}/overview", expect=200).json["policy"]
        waiting = site.get(f"/actions/{site.action}/approvals")["waiting"]
        (asked,) = policy["waits_for"]
        asking = [wave["group"] for wave in policy["waves"] for gate in wave["gates"] if gate["asks_person"]]
        assert (waiting, asked["group"], asked["wave"], asking) == ([asked], "two", "canary", ["two"])

        answer = {"approve": True, "group": asked["group"], "wave": asked["wave"]}
        left = site.ask("POST", f"/actions/{site.action}/approvals", answer, expect=200).json["waiting"]
        assert left == site.ask("GET", f"/actions/{site.action}/overview", expect=200).json["policy"]["waits_for"] == []


@waiting
def test_a_stop_while_an_approval_is_awaited_ends_the_action_and_a_retry_asks_again(site: PolicySite) -> None:
    _await_approval(site)
    site.control(Control.PAUSE)
    site.turn()
    site.control(Control.STOP)
    site.run()
    assert (site.sent(), site.state()) == (IN_WAVES[:2], RunState.FAILED)
    assert site.nodes() == {"n1": DONE, **dict.fromkeys(("n2", "n3"), ("not_started", None))}
    assert site.get(f"/actions/{site.action}/approvals")["waiting"] == []

    assert site.retry().status_code == 201
    site.turns(lambda: site.waits_for().startswith("operator"))
    site.control(Control.STOP)
    site.run()
    assert (site.sent(), site.state()) == (IN_WAVES[:2], RunState.FAILED)

    assert site.retry().status_code == 201
    site.turns(lambda: site.waits_for().startswith("operator"))
    site.answer(approve=True)
    site.run()
    assert (site.sent(), site.state()) == (IN_WAVES, RunState.SUCCESS)


@pytest.mark.parametrize("site", [("maas", {"waves": [CANARY]})], indirect=True)
def test_an_action_from_a_stored_plan_does_what_the_plan_says(site: PolicySite) -> None:
    site.commit()
    body = {"name": "deploy_site"}
    plan = site.ask("POST", "/plans?store=true", body, expect=201).json
    made = site.ask("POST", f"/actions?plan={plan['id']}", body, expect=201).json
    site.follow(made["id"])
    site.run()

    waves = {wave["name"]: wave["nodes"] for wave in plan["plan"]["groups"][0]["waves"]}
    assert waves == {"canary": ["n1"], "rest": ["n2", "n3"]}
    assert (site.sent(), site.state()) == (IN_WAVES, RunState.SUCCESS)
    assert f"plan {plan['id']}" in site.said()


@pytest.mark.parametrize("site", [("ironic", {"windows": {"open": [window("22:00", 300)]}})], indirect=True)
def test_a_window_that_opens_while_the_action_is_paused_lets_nothing_begin(site: PolicySite) -> None:
    site.begin()
    site.turns(lambda: site.waits_for().startswith("the rollout policy"))
    assert site.waits_for().startswith("the rollout policy: windows: ")
    site.control(Control.PAUSE)
    for _ in range(3):
        site.turn()
    site.clock.advance(14 * 3600)
    for _ in range(3):
        site.turn()
    assert site.sent() == []

    site.control(Control.UNPAUSE)
    site.run()
    assert site.sent() == ["prepare n1 n2 n3", "deploy n1 n2 n3"]
