"""Activities: what an observer sees at the end of the work, and that no observer costs an exception its way."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shipyard_api.observing.telemetry import Activity, Kind, observe_with, observed, of_status
from shipyard_api.workflow.observation import observed_turn
from tests.unit.tables import every_row


@pytest.fixture
def seen() -> Iterator[list[Activity]]:
    ended: list[Activity] = []

    @contextmanager
    def watch(activity: Activity) -> Iterator[None]:
        try:
            yield
        finally:
            ended.append(activity)

    remove = observe_with(watch)
    observe_with(watch)  # once is enough
    yield ended
    remove()


def test_an_observer_sees_what_the_activity_was_at_its_end(seen: list[Activity]) -> None:
    with observed(Kind.PEER, "GET Drydock", {"system": "Drydock"}) as activity:
        activity.labels["method"] = "GET"

    assert seen == [Activity(Kind.PEER, "GET Drydock", {"system": "Drydock", "method": "GET"})]


@pytest.mark.parametrize(("before", "after"), [("success", "failed"), ("no_answer", "no_answer")])
def test_an_exception_is_a_failure_unless_the_outcome_is_known(seen: list[Activity], before: str, after: str) -> None:
    def break_off() -> None:
        with observed(Kind.TURN, "turn") as activity:
            activity.outcome = before
            raise KeyError

    with pytest.raises(KeyError):
        break_off()

    assert [one.outcome for one in seen] == [after]


def test_a_turn_is_seen_with_what_it_was_about(seen: list[Activity]) -> None:
    with observed_turn(Kind.TURN, {"action": "deploy_site"}, {"step": "drydock_build", "epoch": 3}, ""):
        pass

    (turn,) = seen
    assert (turn.labels, turn.details) == ({"action": "deploy_site"}, {"step": "drydock_build", "epoch": "3"})


@every_row(
    [(200, "success"), (302, "success"), (404, "refused"), (429, "busy"), (500, "error"), (503, "error")],
)
def test_outcomes_of_http(status: int, outcome: str) -> None:
    assert of_status(status) == outcome
