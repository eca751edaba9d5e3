"""Which work of earlier actions is in the way of a new one."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from shipyard_api.actions.action import Case
from shipyard_api.actions.beside import beside, holds, refuse_held, refuse_operations, refuse_stragglers
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.errors import (
    HoldsNotOverridden,
    NodeOperationRunning,
    NodesHeld,
    SiteActionRunning,
    WorkUnderWay,
)
from shipyard_api.domain.holds import Hold, HoldClass, HoldId, HoldKind
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.ports.provisioner import JobId, Operation, Work
from shipyard_api.ports.state.nodes import Straggler
from tests.factories import node
from tests.refusals import refuses
from tests.unit.tables import every_row

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))


def straggler(job: str, *nodes: NodeName) -> Straggler:
    work = Work(Operation.DEPLOY_NODES, "design/3", nodes or None)
    return Straggler(ActionId("a"), JobId(job), work, "its time was up", datetime(2026, 11, 30, tzinfo=UTC))


FIRST, SECOND, ALL = straggler("j-1", N1), straggler("j-2", N2, N3), straggler("j-3")


@every_row(
    [
        ([], {N1}, None),
        ([FIRST, SECOND], {N1}, "j-1"),
        ([FIRST, SECOND], {N2}, "j-2"),  # the first of them is on another node
        ([FIRST, SECOND], None, "j-1"),
        ([FIRST], {N2}, None),
        ([FIRST], set(), None),
        ([ALL], {N1}, "j-3"),
        ([ALL], set(), "j-3"),
    ]
)
def test_work_is_in_the_way_on_its_own_nodes(
    stragglers: list[Straggler], nodes: set[NodeName] | None, job: str | None
) -> None:
    if job is None:
        refuse_stragglers(stragglers, nodes)
        return
    with refuses(WorkUnderWay) as refused:
        refuse_stragglers(stragglers, nodes)
    assert refused.value.data["job"] == job


@every_row(
    [
        # the new action, what runs on n1, the nodes of the action; whether it is in the way
        ("deploy_site", "drain", {N1, N2}, True),
        ("deploy_site", "drain", {N2}, False),
        ("deploy_site", "drain", None, True),
        ("remove_server", "remove-etcd", {N2}, True),
        ("remove_server", "drain", {N2}, False),
    ]
)
def test_an_operation_is_in_the_way_on_its_node_and_of_teardowns_also_elsewhere(
    name: str, operation: str, nodes: Collection[NodeName] | None, refused: bool
) -> None:
    running: Any = [SimpleNamespace(id=ActionId("a"), parameters={"node": "n1", "operation": operation})]
    refuse_operations([], ACTIONS[ActionName(name)], nodes)
    if not refused:
        refuse_operations(running, ACTIONS[ActionName(name)], nodes)
        return
    with refuses(NodeOperationRunning):
        refuse_operations(running, ACTIONS[ActionName(name)], nodes)


def hold(name: NodeName, hold_class: HoldClass = HoldClass.ALL) -> Hold:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    return Hold(HoldId(f"of {name}"), name, HoldKind.OPERATOR, "a fan", "ann", at, hold_class=hold_class)


@every_row(
    [
        ([], False, False, None),
        ([hold(N1)], False, True, NodesHeld),
        ([hold(N1)], True, False, HoldsNotOverridden),
        ([hold(N1)], True, True, None),
    ]
)
def test_holds_are_overridden_with_force_by_those_who_may(
    found: Sequence[Hold], force: bool, may_override: bool, refusal: Any
) -> None:
    if refusal is None:
        assert refuse_held(found, force=force, may_override=may_override) == found
        return
    with refuses(refusal):
        refuse_held(found, force=force, may_override=may_override)


SITE = SiteInputs(5, DeploymentConfiguration(), None)
DESK: Any = SimpleNamespace(inventory=lambda _: Inventory.of([node("n1"), node("n2")]))


def case(name: str, site: SiteInputs | None = SITE, **parameters: Any) -> Case:
    action, none = ACTIONS[ActionName(name)], ()
    heads: Any = none
    inputs = ActionInputs(revision=5, site=site)
    parsed = replace(action.parsed(), **parameters)
    return Case(
        action=action, written={}, heads=heads, committed=None, allows_commits=None, inputs=inputs, parsed=parsed
    )


def transaction(active: Sequence[Hold] = (), *, running: Any = None, operation: str = "", left: bool = False) -> Any:
    """Return what runs: a site action, an operation on n1, and work that was left behind there."""
    at_work = [SimpleNamespace(id=ActionId("a"), parameters={"node": "n1", "operation": operation})]
    return SimpleNamespace(
        holds=SimpleNamespace(active=lambda: active),
        actions=SimpleNamespace(
            node_operations=lambda: at_work if operation else [], running_site_action=lambda _named: running
        ),
        stragglers=SimpleNamespace(open=lambda: [FIRST] if left else []),
    )


NO_TEARDOWN, NO_DEPLOYMENT = HoldClass.NO_TEARDOWN, HoldClass.NO_DEPLOYMENT


@every_row(
    [
        # the action, the servers that it interrupts, its targets; the holds, and the nodes whose holds are in the way
        ("deploy_site", NO_WAYS, (), [hold(N2), hold(N3), hold(N1)], [N2, N1]),
        ("deploy_site", NO_WAYS, (), [hold(N1, NO_TEARDOWN), hold(N2, NO_DEPLOYMENT)], [N2]),
        ("deploy_site", Ways(reinstalled=(N1,)), (), [hold(N1, NO_TEARDOWN), hold(N2, NO_TEARDOWN)], [N1]),
        ("redeploy_server", NO_WAYS, (N1,), [hold(N1, NO_TEARDOWN), hold(N2)], [N1]),
        ("remove_server", NO_WAYS, (N1,), [hold(N1, NO_DEPLOYMENT)], []),
    ]
)
def test_a_hold_is_in_the_way_of_what_is_done_to_its_own_node(
    name: str, ways: Ways, targets: tuple[NodeName, ...], active: Sequence[Hold], found: Sequence[NodeName]
) -> None:
    given = case(name, replace(SITE, ways=ways), targets=targets)
    assert [one.node for one in holds(given, DESK, transaction(active))] == found


RUNNING = ("deploy_site", ActionId("b"), ())


@every_row(
    [
        # the action, its parameters, what runs; the refusal
        ("deploy_site", {}, transaction(), None),
        ("deploy_site", {}, transaction(running=RUNNING), SiteActionRunning),
        ("test_site", {}, transaction(running=RUNNING, operation="drain"), None),
        ("deploy_site", {}, transaction(operation="drain"), NodeOperationRunning),
        ("redeploy_server", {"targets": (N2,)}, transaction(operation="drain"), None),
        ("deploy_site", {}, transaction(left=True), WorkUnderWay),
        ("deploy_site", {"force": True}, transaction(left=True), None),
        ("deploy_site", {}, transaction([hold(N1)]), NodesHeld),
        ("deploy_site", {}, transaction([hold(N3)]), None),
    ]
)
def test_an_action_is_refused_by_what_is_at_work_on_its_nodes(
    name: str, parameters: Any, runs: Any, refusal: Any
) -> None:
    found = beside(case(name, **parameters), DESK, runs).refusal
    assert (None if found is None else found.kind) is refusal


@pytest.mark.parametrize("may", [True, False])
def test_an_action_keeps_the_holds_that_it_overrides(may: bool) -> None:
    given = replace(case("deploy_site", force=True), may_override_holds=may)
    after = beside(given, DESK, transaction([hold(N1)]))
    assert ([one.node for one in after.held], after.refusal is None) == (([N1], True) if may else ([], False))
