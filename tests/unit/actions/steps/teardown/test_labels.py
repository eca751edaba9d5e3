"""Labels are cleared until a node is calm: no label and no pod of one is left, in two looks with a pause between."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from shipyard_api.actions.steps.teardown.labels import SETTLE_SECONDS, ClearLabels, LabelsReport
from shipyard_api.actions.steps.teardown.part import Request
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.teardown import LabelsCleared
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.labels import CORDONED_KEY
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import Operation, Outcome, Teardown
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 30, tzinfo=UTC)
N1, ACTION, CLEAR = NodeName("n1"), ActionId("a"), Operation.CLEAR_LABELS
LIMITS = TeardownLimits(clear_labels=600)
LABEL, POD = "label etcd is still on the node", "pod default/etcd-1 has yet to leave after its label was removed"
CALM, HELD = LabelsReport(is_known=True), LabelsReport(True, ("etcd",), ("default/etcd-1",))


@every_row(
    [
        # seconds for which the node is calm, a look, after how many; outcome, why, what it waits for, for how long
        (None, HELD, 599, Outcome.RUNNING, "", (LABEL, POD), 5),
        (3, HELD, 0, Outcome.RUNNING, "", (LABEL, POD), 5),
        (None, HELD, 600, Outcome.FAILED, f"{LABEL}; {POD}", (), None),
        (None, CALM, 0, Outcome.RUNNING, "", (), SETTLE_SECONDS),
        (SETTLE_SECONDS - 1, CALM, 0, Outcome.RUNNING, "", (), 1),
        (SETTLE_SECONDS, CALM, 0, Outcome.DONE, "", (), None),
        (SETTLE_SECONDS, CALM, 700, Outcome.DONE, "", (), None),
    ]
)
def test_labels_are_cleared_once_nothing_was_left_in_two_looks(
    calm: float | None, report: LabelsReport, after: int, outcome: Outcome, why: str, waits: tuple[str, ...], again: Any
) -> None:
    now = NOW + timedelta(seconds=after)
    since = None if calm is None else now - timedelta(seconds=calm)
    task = TeardownTask(N1, ACTION, 3, (CLEAR,), LIMITS)
    state = NodeState(task, order=Teardown((CLEAR,)).begin(CLEAR), limits=LIMITS, since=NOW, calm_since=since)

    folded = ClearLabels(cast(Any, None), cast(Any, None)).fold(state, Request(CLEAR, N1, ACTION, 3, now), report, now)

    teardown = folded.state.teardown
    assert (teardown.outcomes[CLEAR], teardown.messages.get(CLEAR, ""), folded.state.waits) == (outcome, why, waits)
    assert folded.wait_until == (None if again is None else now + timedelta(seconds=again))
    if waits:
        assert folded.state.calm_since is None


def test_what_was_cleared_is_told_but_for_the_mark_of_a_cordon() -> None:
    task = TeardownTask(N1, ACTION, 3, (CLEAR,), LIMITS)
    state = NodeState(task, order=Teardown((CLEAR,)).begin(CLEAR), limits=LIMITS, since=NOW)
    report = LabelsReport(is_known=True, cleared=("etcd", CORDONED_KEY))
    folded = ClearLabels(cast(Any, None), cast(Any, None)).fold(state, Request(CLEAR, N1, ACTION, 3, NOW), report, NOW)
    assert folded.facts == (LabelsCleared(N1, ("etcd",)),)
