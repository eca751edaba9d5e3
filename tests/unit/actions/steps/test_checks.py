"""Steps that check: what an answer means, how long a peer may give none, and what continue-on-fail changes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.checks import Check, CheckState
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.steps import AttemptFailed
from shipyard_api.domain.findings import Finding, error, info, warning
from shipyard_api.workflow.step import Done, Failed, Folded, Look, PeerFailure
from tests.unit.actions.steps.instants import T0, at
from tests.unit.tables import every_row

LATER = (StepId("build"), StepId("deploy"))
GOOD, DOUBT = info("Good", "all is well"), warning("Doubt", "have a look")
BAD, WORSE = error("Bad", "no such thing"), error("Worse", "nor this")
SILENCE = PeerFailure("503 no answer", refused=False)
REFUSAL = PeerFailure("403 forbidden", refused=True)


def check(spares: tuple[StepId, ...] | None = None, findings: Sequence[Finding] = (GOOD,)) -> Check:
    return Check(StepId("check"), lambda _revision: findings, give_up_after=60, pause=10, spares=spares)


def state(**fields: Any) -> CheckState:
    return CheckState(**{"revision": 7, "continues": False, **fields})


@every_row(
    {
        "plain": (None, {}, False),
        "asked-for-but-spares-nothing": (None, {"continue_on_fail": True}, False),
        "asked-for-and-skips-no-step": ((), {"continue_on_fail": True}, True),
        "asked-for": (LATER, {"continue_on_fail": True}, True),
        "not-asked-for": (LATER, {"continue_on_fail": False}, False),
        "not-mentioned": (LATER, {}, False),
    },
)
def test_a_check_goes_on_after_a_failure_only_where_it_may_and_is_asked_to(
    spares: tuple[StepId, ...] | None, inputs: dict[str, Any], continues: bool
) -> None:
    assert check(spares).begin(ActionInputs.from_json({"revision": 7, **inputs})) == state(continues=continues)


@every_row(
    {
        "asks": (None, state(), Look(7)),
        "done": (None, state(done="fine"), Done("fine")),
        "failed": (None, state(failed="no such thing"), Failed("no such thing")),
        "goes-on-and-skips": (
            LATER,
            state(failed="no such thing", continues=True),
            Done("went on, as continue-on-fail asks: no such thing", LATER),
        ),
        "goes-on": (
            (),
            state(failed="no such thing", continues=True),
            Done("went on, as continue-on-fail asks: no such thing", ()),
        ),
        "goes-on-as-an-earlier-release-decided": (
            None,
            state(failed="no such thing", continues=True),
            Done("went on, as continue-on-fail asks: no such thing", ()),
        ),
        "done-skips-nothing": (LATER, state(done="fine", continues=True), Done("fine")),
    },
)
def test_what_comes_next(
    spares: tuple[StepId, ...] | None, of: CheckState, expected: Look[int] | Done | Failed
) -> None:
    assert check(spares).decide(of, at(5)) == expected


@every_row(
    {
        "none": ((), state(done="fine")),
        "one": ((GOOD,), state(done="all is well")),
        "a-warning-fails-nothing": ((DOUBT,), state(done="have a look")),
        "two": ((GOOD, DOUBT), state(done="2 messages, none of them an error")),
        "an-error": ((BAD,), state(failed="no such thing")),
        "an-error-among-others": ((GOOD, BAD), state(failed="no such thing")),
        "two-errors": ((WORSE, BAD), state(failed="nor this (and 1 more)")),
    },
)
def test_what_findings_mean(findings: tuple[Finding, ...], expected: CheckState) -> None:
    facts = tuple(FindingReported(one) for one in findings)
    assert check().fold(state(), 7, findings, T0) == Folded(expected, facts)


def again(since: datetime, attempts: int, now: datetime) -> Folded[CheckState]:
    waits = (AttemptFailed(attempts, "503 no answer", 10),)
    return Folded(state(since=since, attempts=attempts), waits, wait_until=now + (at(10) - T0))


@every_row(
    {
        "first": (state(), SILENCE, T0, again(T0, 1, T0)),
        "at-the-limit": (
            state(since=T0, attempts=6),
            SILENCE,
            at(60),
            Folded(state(since=T0, attempts=6, failed="503 no answer")),
        ),
        "refused-at-once": (state(), REFUSAL, T0, Folded(state(failed="403 forbidden"))),
    },
)
def test_how_long_a_peer_may_give_no_answer(
    of: CheckState, trouble: PeerFailure, now: datetime, expected: Folded[CheckState]
) -> None:
    assert check().fold(of, 7, trouble, now) == expected


def test_the_check_gets_the_revision() -> None:
    asked: list[int] = []

    def ask_about(revision: int) -> list[Finding]:
        asked.append(revision)
        return [GOOD, BAD]

    step = Check(StepId("check"), ask_about, give_up_after=60, pause=10)
    assert step.ask(7) == (GOOD, BAD)
    assert asked == [7]
