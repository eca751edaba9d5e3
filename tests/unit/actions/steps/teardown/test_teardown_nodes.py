"""The step that fans out over nodes and phases: which item begins when."""

from dataclasses import replace
from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.teardown.state import TeardownTask
from shipyard_api.actions.steps.teardown.teardown_nodes import PhaseOfTeardown, TeardownNodes, TeardownState
from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.facts.nodes import NodesGivenUp
from shipyard_api.domain.items import EndedItem, ItemId, ItemState
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.windows import ServerWindows
from shipyard_api.domain.teardown.order import Operation
from shipyard_api.workflow.step import Done, Failed, Gather
from tests.unit.actions.steps.instants import T0
from tests.unit.actions.steps.teardown.test_node_teardown import Item
from tests.unit.tables import every_row

N1, N2 = NodeName("n1"), NodeName("n2")
PHASES = (
    PhaseOfTeardown("drain", (Operation.DRAIN,)),
    PhaseOfTeardown("leave", (Operation.CLEAR_LABELS, Operation.REMOVE_ETCD), one_by_one=True),
    PhaseOfTeardown("destroy", (Operation.DESTROY_NODE,)),
)
STEP = TeardownNodes(
    StepId("destroy_nodes"),
    (N1, N2),
    PHASES,
    lambda node, operations: TeardownTask(node, ActionId("A1"), 3, operations),
    Item().kind,
)


def ended(*items: str, outcome: ItemState = ItemState.SUCCESS) -> tuple[EndedItem, ...]:
    return tuple(EndedItem(ItemId(item), outcome, "why", None) for item in items)


def after(state: TeardownState, *items: str, outcome: ItemState = ItemState.SUCCESS) -> tuple[TeardownState, list[str]]:
    folded = STEP.gather(state, ended(*items, outcome=outcome), T0)
    return STEP.load_state(folded.state.to_json()), [one.id for one in folded.items]


def test_all_nodes_go_through_a_phase_before_the_next_and_leave_etcd_one_by_one() -> None:
    state = STEP.begin(ActionInputs())
    begun = []
    for over in ([], ["n2/drain"], ["n1/drain"], [], ["n1/leave"], ["n2/leave"], ["n1/destroy", "n2/destroy"]):
        assert isinstance(STEP.decide(state, T0), Gather)
        state, new = after(state, *over)
        begun.append(new)

    assert begun == [["n1/drain", "n2/drain"], [], ["n1/leave"], [], ["n2/leave"], ["n1/destroy", "n2/destroy"], []]
    assert STEP.decide(state, T0) == Done("2 node(s): n1, n2")


@every_row([ItemState.FAILED, ItemState.STOPPED])
def test_after_a_failure_no_item_begins_and_those_at_work_are_waited_for(outcome: ItemState) -> None:
    state, _ = after(STEP.begin(ActionInputs()))
    state, new = after(state, "n1/drain", outcome=outcome)
    assert (new, isinstance(STEP.decide(state, T0), Gather)) == ([], True)

    state, new = after(state, "n2/drain")
    assert new == []
    assert STEP.decide(state, T0) == Failed("n1: why")


@every_row(
    [([], (N1, N2)), (["n1/drain", "n1/leave"], (N1, N2)), (["n1/destroy"], (N2,)), (["n1/destroy", "n2/destroy"], ())],
)
def test_a_retry_leaves_out_nodes_that_went_through_every_phase(kept: list[str], nodes: tuple[Any, ...]) -> None:
    state = STEP.begin(ActionInputs.from_json({"kept_items": {"destroy_nodes": kept}}))

    assert state.nodes == nodes
    if not nodes:
        assert STEP.decide(state, T0) == Done("nothing was left to do")


def test_nodes_that_a_failed_step_leaves_are_given_up_with_its_reason() -> None:
    state = STEP.gather(STEP.begin(ActionInputs()), (), T0).state
    first = STEP.gather(state, ended("n1/drain", outcome=ItemState.FAILED), T0)
    assert first.facts == (NodesGivenUp((N1,), "why"),)  # n2 is at work and may have a reason of its own
    last = STEP.gather(first.state, ended("n2/drain"), T0)
    assert last.facts == (NodesGivenUp((N2,), "destroy_nodes failed: n1: why"),)
    assert STEP.give_up("check_teardown failed") == (NodesGivenUp((N1, N2), "check_teardown failed"),)


def test_a_node_asks_for_its_window_in_its_first_phase_only() -> None:
    windows = ServerWindows([{"zone": "UTC", "start": "22:00", "minutes": 60}])
    step = replace(
        STEP,
        nodes=(N1,),
        task=lambda node, operations: TeardownTask(node, ActionId("A1"), 3, operations, windows=windows),
    )
    asks = []
    state = step.begin(ActionInputs())
    for over in ([], ["n1/drain"], ["n1/leave"]):
        folded = step.gather(state, ended(*over), T0)
        state = folded.state
        asks += ["windows" in item.task for item in folded.items]

    assert asks == [True, False, False]
