"""What a hold of each class keeps from its node, and what each action does to nodes."""

from datetime import UTC, datetime
from itertools import chain, combinations

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.holds import Hold, HoldClass, HoldId, HoldKind, NodeWork, work_on
from shipyard_api.domain.nodes import NodeName
from tests.unit.tables import every_row

ANY = [set(works) for works in chain.from_iterable(combinations(NodeWork, size) for size in range(4))]


@every_row(ANY)
def test_a_class_forbids_its_own_work_alone_and_the_usual_one_forbids_everything(works: set[NodeWork]) -> None:
    assert {one for one in HoldClass if one.forbids(works)} == {
        HoldClass.ALL,
        *([HoldClass.NO_DEPLOYMENT] if works & {NodeWork.DEPLOYMENT, NodeWork.PREPARATION} else []),
        *([HoldClass.NO_TEARDOWN] if works & {NodeWork.TEARDOWN, NodeWork.PREPARATION} else []),
    }


def test_a_preparation_is_a_teardown_only_of_a_node_that_has_failed() -> None:
    assert work_on(NodeWork.PREPARATION, has_failed=True) is NodeWork.PREPARATION
    assert work_on(NodeWork.PREPARATION, has_failed=False) is NodeWork.DEPLOYMENT
    assert [work_on(one, has_failed=True) for one in NodeWork] == list(NodeWork)


@every_row(
    [
        ("deploy_site", ["all", "no_deployment"]),
        ("redeploy_server", ["all", "no_deployment", "no_teardown"]),
        ("remove_server", ["all", "no_teardown"]),
        ("service_server", ["all", "no_deployment", "no_teardown"]),
        ("power_cycle", ["all", "no_deployment", "no_teardown"]),
        ("relabel_nodes", ["all"]),
    ],
)
def test_which_classes_keep_an_action_from_a_node(name: str, forbidden_by: list[str]) -> None:
    works = ACTIONS[ActionName(name)].work

    assert [one.value for one in HoldClass if one.forbids(works)] == forbidden_by


@every_row(
    [
        (HoldClass.ALL, "held (hardware) by ann: disk"),
        (HoldClass.NO_TEARDOWN, "held (hardware, no teardown) by ann: disk"),
    ],
)
def test_a_hold_names_its_class_unless_it_is_the_usual_one(hold_class: HoldClass, text: str) -> None:
    at = datetime(2026, 11, 26, tzinfo=UTC)

    assert str(Hold(HoldId("h"), NodeName("n1"), HoldKind.HARDWARE, "disk", "ann", at, hold_class=hold_class)) == text
