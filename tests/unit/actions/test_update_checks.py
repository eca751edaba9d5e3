"""The checks of an update of a site: what is done to servers that run and differ from the design."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.update_checks import changes_known, servers_removed
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.planning import StepPlan
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import InvalidDesign, NothingDrains, TooManyReinstalls
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.specification.given import LABELS, PLACEMENT, STEPS, labelled
from shipyard_api.domain.specification.impact import Impact, NodeImpact, OnChange
from shipyard_api.domain.teardown.limits import TeardownLimits
from tests.factories import group_entry, node
from tests.unit.actions.test_admission import ABLE, N1, N2, N3, SITE, case
from tests.unit.tables import every_row

INVENTORY = Inventory.of([node("n1", labels={"b": "2", "a": "1"}), node("n2"), node("n3")])
OF_SITE = replace(SITE, groups={"groups": [group_entry("a")]}, deploy_steps={N3: ("kept",)})
LIMITS = TeardownLimits(drain=60)
LEAST, REINSTALL = OnChange.LEAST, OnChange.REINSTALL
PEER = {"limits": ProvisionerLimits("Peer", relabels=True)}
RAID, BIOS = f"{STEPS}RAID", f"{STEPS}BIOS"


def desk(impacts: Mapping[NodeName, NodeImpact] | None = None, **answers: Any) -> Any:
    """Return what answers the checks. ``designs``: the machines by revision; ``given``: records; N3 is not deployed.

    The steps of a template are its name.
    """
    designs = answers.get("designs", {5: INVENTORY})
    rules = {"limits": ABLE, "drains": True, "cluster": True, "time_scale": 1.0} | answers.get("rules", {})

    def found(revision: Revision, nodes: Any, chosen: Any, *, deployed: Any, services: bool) -> Any:
        assert (revision, nodes, chosen, deployed) == (5, {N1, N2, N3}, StepPlan().chosen, {N1, N2})
        assert services is not rules["limits"].no_service
        return impacts or {}

    def steps(template: str, runbook: str, nodes: Any) -> Any:
        assert runbook == ""
        return SimpleNamespace(findings=answers.get("faults", ()), requested=dict.fromkeys(nodes, (template,)))

    records = {name: SimpleNamespace(aspects=aspects) for name, aspects in answers.get("given", {}).items()}
    worked = answers.get("worked", {})
    tx: Any = SimpleNamespace(
        software=SimpleNamespace(cluster=lambda _: answers.get("cluster")),
        specifications=SimpleNamespace(of=lambda _: records, names=lambda: [*records]),
        observations=SimpleNamespace(
            left_nodes=lambda _: [SimpleNamespace(name=name) for name in answers.get("left", ())]
        ),
        nodes=SimpleNamespace(
            teardown_history=lambda actions: SimpleNamespace(whole=[], alone=[]),
            latest=lambda names, limit, **_: [SimpleNamespace(action=ActionId(name)) for name in names[:limit]],
        ),
        actions=SimpleNamespace(
            by_ids=lambda ids: [SimpleNamespace(revision=worked[name]) for name in ids if name in worked]
        ),
    )
    return SimpleNamespace(
        rules=SimpleNamespace(**rules),
        inventory=lambda revision: designs[revision],
        plan_steps=SimpleNamespace(deployed=lambda nodes: nodes - {N3}, service=steps),
        protection=lambda _: SimpleNamespace(limits=LIMITS),
        store=SimpleNamespace(read=lambda ask: ask(tx), begin=lambda: nullcontext(tx)),
        specifications=SimpleNamespace(
            impacts=found, wanted=lambda _, names, __: {name: {PLACEMENT: f"of {name}"} for name in names}
        ),
    )


def changed(on_change: OnChange = OnChange.LEAVE, site: Any = OF_SITE, **parameters: Any) -> Any:
    return case("update_site", site, on_change=on_change, **parameters)


NEW = NodeImpact(Impact.NEW)
AWAY = {N1: NodeImpact(Impact.REINSTALL, ("image",)), N2: NodeImpact(Impact.SERVICE, (RAID, "x")), N3: NEW}
BOTH = {N1: NodeImpact(Impact.SERVICE, (RAID, BIOS)), N2: NodeImpact(Impact.SERVICE, (RAID,))}


@every_row(
    {
        # what is done about changes, the classes of nodes; the servers installed again, those serviced, the warnings
        "left": (OnChange.LEAVE, AWAY, (), (), []),
        "nothing changed": (REINSTALL, {N1: NodeImpact(Impact.UNCHANGED)}, (), (), []),
        "two templates": (LEAST, BOTH, (), (N1, N2), ["ServersServiced"]),
        "least": (LEAST, AWAY, (), (N2,), ["ServersServiced"]),
        "reinstall": (REINSTALL, AWAY, (N1,), (N2,), ["ServersReinstalled", "ServersServiced"]),
        "replace": (REINSTALL, {N2: NodeImpact(Impact.REPLACE)}, (N2,), (), ["ServersReinstalled"]),
    }
)
def test_changed_servers_are_interrupted_as_the_parameters_say(
    on_change: OnChange, impacts: Any, reinstalled: Any, serviced: Any, warnings: list[str]
) -> None:
    given = changed(on_change, max_reinstalls=1, max_parallel_nodes=2)
    after = changes_known(given, desk(impacts))
    ways, mode = after.inputs.ways, after.site.configuration.mode
    assert after.refusal is None
    assert (ways.reinstalled, ways.serviced) == (reinstalled, serviced)
    assert [finding.name for finding in after.warnings] == warnings
    if not warnings:
        assert after == given
        return
    assert (ways.at_once, ways.drain_interval, ways.drain_timeout) == (2, SITE.configuration.drain_interval, 60)
    assert ways.differs == {name: impacts[name].aspects for name in (*reinstalled, *serviced)}
    assert (mode.max_parallel_groups, after.inputs.limits, after.inputs.force) == (1, LIMITS, False)
    assert (after.inputs.wipe, after.site.policy) == (None, None)
    steps = {name: ("BIOS", "RAID") if BIOS in impacts[name].aspects else ("RAID",) for name in serviced}
    assert after.site.deploy_steps == {N3: ("kept",), **steps}
    assert after.warnings[-1].message.endswith(f": {', '.join(serviced or reinstalled)}.")


@every_row(
    {
        # the parameters, who answers; the refusal
        "too many": ({"max_reinstalls": 0}, {}, TooManyReinstalls),
        "nothing drains": ({}, {"rules": {"drains": False}}, NothingDrains),
        "nothing drains, forced": ({"force": True}, {"rules": {"drains": False}}, None),
        "steps that cannot run": ({}, {"faults": [error("Bad", "a fault")]}, InvalidDesign),
    }
)
def test_an_interruption_is_refused(parameters: dict[str, Any], answers: dict[str, Any], kind: Any) -> None:
    after = changes_known(changed(REINSTALL, **parameters), desk(AWAY, **answers))
    assert (after.refusal and after.refusal.kind) == kind
    if kind is not InvalidDesign:
        assert (after.inputs.ways.reinstalled, after.inputs.force) == (((), None) if kind else ((N1,), True))


WINDOWS = {"windows": {"open": [{"zone": "UTC", "start": "22:00", "minutes": 60}]}}


@every_row([(WINDOWS, AWAY, True), (WINDOWS, BOTH, False), ({"waves": []}, AWAY, False)])
def test_windows_know_how_long_a_teardown_takes(data: Any, impacts: Any, timed: bool) -> None:
    policy = PolicyInputs(data)
    after = changes_known(changed(REINSTALL, replace(OF_SITE, policy=policy)), desk(impacts)).site.policy
    longest = LIMITS.drain + 1800 + 1800 + 600 + 300 + SITE.configuration.destroy_nodes.timeout
    assert after is not None
    assert (max(after.seconds.values(), default=0) == longest) is timed
    assert timed or after == policy


LABELLED = {N1: NodeImpact(Impact.RELABEL, (LABELS,)), N2: NodeImpact(Impact.RELABEL, (PLACEMENT,)), N3: NEW}
OURS = {"labels": {N1: {"a": "1", "b": "2"}}, "placed": {N1: "of n1"}}
MOVED = {"moved": {N2: "of n2"}}
THEIRS = {"relabelled": {N1: labelled({"a": "1", "b": "2"})}, "placed": {N1: "of n1"}}
RENEWED = {N1: NodeImpact(Impact.REINSTALL, (LABELS, "image")), N2: NodeImpact(Impact.SERVICE, (LABELS, RAID))}


@every_row(
    {
        # the rules, what is done about changes, the classes of nodes; what is set
        "Kubernetes": ({}, OnChange.LEAVE, LABELLED, {**OURS, **MOVED}),
        "the provisioner": (PEER, OnChange.LEAVE, LABELLED, {**THEIRS, **MOVED}),
        "the provisioner alone": ({**PEER, "cluster": False}, OnChange.LEAVE, LABELLED, {**THEIRS, **MOVED}),
        "nothing": ({"cluster": False}, OnChange.LEAVE, LABELLED, MOVED),
        "servers that are left": ({}, OnChange.LEAVE, RENEWED, {}),
        "a server that is serviced": ({}, REINSTALL, RENEWED, {"labels": {N2: {}}, "placed": {N2: "of n2"}}),
        "no labels": ({}, OnChange.LEAVE, {N1: NodeImpact(Impact.SOFTWARE, ("software",))}, {}),
    }
)
def test_labels_are_set_by_whatever_can(rules: Any, on_change: OnChange, impacts: Any, expected: Any) -> None:
    inputs = changes_known(changed(on_change), desk(impacts, rules=rules)).inputs
    names = ("labels", "relabelled", "placed", "moved")
    assert {name: getattr(inputs, name) for name in names if getattr(inputs, name)} == expected


@every_row(
    [
        (None, {N2: {"software": "d"}, N1: {"software": "d"}, N3: {"software": "", "image": "i"}}, (N1, N2)),
        (None, {N3: {"image": "i"}}, None),
        (SimpleNamespace(layer=SimpleNamespace(tasks=[1])), {N1: {"software": "d"}}, None),
    ]
)
def test_servers_that_ran_tasks_are_known_once_the_site_has_none(cluster: Any, given: Any, untasked: Any) -> None:
    assert changes_known(changed(), desk(cluster=cluster, given=given)).inputs.untasked == untasked


GONE = {"designs": {5: Inventory.of([node("n1")]), 3: INVENTORY}, "worked": {"n2": 3, "n3": 3}}
BY_RECORD = {"given": {N1: {}, N3: {}}}


@every_row(
    {
        # whether they are removed, force, who answers; the servers with their revisions, whether it is refused
        "left alone": (False, False, {**GONE, **BY_RECORD}, None, False),
        "none": (True, False, {**GONE, "given": {N1: {}}}, None, False),
        "one that was given something": (True, False, {**GONE, **BY_RECORD}, {N3: 3}, False),
        "one that was seen": (True, False, {**GONE, **BY_RECORD, "left": [N2]}, {N2: 3, N3: 3}, False),
        "one of no known design": (True, False, {**GONE, **BY_RECORD, "worked": {}}, None, False),
        "nothing drains": (True, False, {**GONE, **BY_RECORD, "rules": {"drains": False}}, None, True),
        "forced": (True, True, {**GONE, **BY_RECORD, "rules": {"drains": False}}, {N3: 3}, False),
    }
)
def test_servers_that_left_the_design_are_removed_if_that_is_asked_for(
    removes: bool, force: bool, answers: dict[str, Any], removed: Any, refused: bool
) -> None:
    given = changed(removes=removes, force=force)
    after = servers_removed(given, desk(**answers))
    assert (after.inputs.removed or None, after.refusal is not None) == (removed, refused)
    assert [finding.name for finding in after.warnings] == (["ServersRemoved"] if removed or refused else [])
    assert after.inputs.limits == (LIMITS if removed else None)
    if removed:
        assert after.warnings[0].message.startswith(f"{len(removed)} server(s) are taken down for good: ")
