"""Names and states of actions and steps."""

from itertools import product

from shipyard_api.domain.actions import CONTROLLABLE, ActionState, Control, RunState, StepState, group_state, lifecycle
from tests.unit.tables import every_row

RUNNING, SUCCESS, FAILED, UPSTREAM = (
    StepState.RUNNING,
    StepState.SUCCESS,
    StepState.FAILED,
    StepState.UPSTREAM_FAILED,
)


@every_row(
    [
        (RunState.QUEUED, "Pending"),
        (RunState.RUNNING, "Processing"),
        (RunState.PAUSED, "Paused"),
        (RunState.SUCCESS, "Complete"),
        (RunState.FAILED, "Failed"),
    ],
)
def test_every_state_of_an_action_has_its_word(state: RunState, word: str) -> None:
    assert lifecycle(state) == word


def test_what_runs_can_be_paused_and_stopped_and_every_pause_and_failure_has_a_way_out() -> None:
    allowed = {state: {verb for verb, states in CONTROLLABLE.items() if state in states} for state in RunState}

    assert allowed == {
        RunState.QUEUED: set(),
        RunState.RUNNING: {Control.PAUSE, Control.STOP},
        RunState.PAUSED: {Control.UNPAUSE, Control.STOP},
        RunState.SUCCESS: set(),
        RunState.FAILED: {Control.RETRY, Control.ACKNOWLEDGE},
    }


@every_row(product(list(Control), list(RunState)))
def test_a_refusal_says_what_is_needed_and_what_there_is(verb: Control, state: RunState) -> None:
    allowed = CONTROLLABLE[verb]

    refusal = ActionState(state).refusal(verb)

    assert refusal == (None if state in allowed else (allowed[0].value, state.value))


@every_row(
    [
        (RunState.RUNNING, Control.PAUSE, ("running", "being stopped")),
        (RunState.RUNNING, Control.STOP, ("running", "being stopped")),
        (RunState.RUNNING, Control.UNPAUSE, ("paused", "running")),
        (RunState.PAUSED, Control.STOP, ("running", "being stopped")),
        (RunState.PAUSED, Control.UNPAUSE, None),
        (RunState.FAILED, Control.RETRY, None),
        (RunState.FAILED, Control.STOP, ("running", "failed")),
    ],
)
def test_a_stop_is_not_taken_back_and_not_repeated(
    state: RunState, verb: Control, refusal: tuple[str, str] | None
) -> None:
    assert ActionState(state, stopped=True).refusal(verb) == refusal


def test_a_success_with_nodes_that_did_not_succeed_can_be_retried() -> None:
    assert ActionState(RunState.SUCCESS, tolerated=True).refusal(Control.RETRY) is None
    assert ActionState(RunState.RUNNING, tolerated=True).refusal(Control.RETRY) == ("failed", "running")


@every_row(
    {
        "nothing has begun": ([None, None], None),
        "the first step runs": ([RUNNING, None], RUNNING),
        "between two steps": ([SUCCESS, None], RUNNING),
        "the last step failed": ([SUCCESS, FAILED], FAILED),
        "a step failed and the next was not tried": ([FAILED, UPSTREAM], FAILED),
        "something beside the group failed while it was under way": ([SUCCESS, UPSTREAM], UPSTREAM),
        "a step still runs": ([RUNNING, UPSTREAM], RUNNING),
        "a group without steps": ([], None),
    },
)
def test_the_state_of_a_bare_group_id_follows_from_its_steps(
    steps: list[StepState | None], expected: StepState | None
) -> None:
    assert group_state(steps) is expected
