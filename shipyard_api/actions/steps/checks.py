"""Steps that check something and change nothing: a function of the revision, repeated until a peer answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Never

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.steps import AttemptFailed
from shipyard_api.domain.findings import Finding, errors, messages_in_short
from shipyard_api.domain.stored import ByFields
from shipyard_api.domain.waiting import Awaited
from shipyard_api.workflow.step import Done, Failed, Folded, Look, PeerFailure, Step

Findings = Sequence[Finding]


class CheckState(ByFields, Struct, frozen=True):
    """``since``: when a peer first gave no answer. ``done`` or ``failed`` is the sentence that ends the step.

    ``continues``: a failure does not fail the step, since the action was created with continue-on-fail.
    """

    STORED_VERSION: ClassVar = 1
    FIRST: ClassVar = ("revision", "since", "failed", "done", "continues")
    OPTIONAL: ClassVar = frozenset({"attempts"})

    revision: int
    continues: bool
    since: datetime | None = None
    attempts: int = 0
    failed: str | None = None
    done: str | None = None


def _ourselves() -> str:
    return "Shipyard"


@dataclass(frozen=True, slots=True)
class Check(Step[CheckState, int, Never, Findings]):
    """Asks until it has an answer or ``give_up_after`` seconds are over; an error among the findings fails the step.

    ``ask`` gets the revision. ``pause``: seconds between two attempts at a peer that does not answer. ``spares``: with
    continue-on-fail this step does not fail, and these later steps are skipped; None if it fails all the same.
    ``asks`` returns whose answer the check needs. ``planned``: a plan runs it, too; not what the admission of the
    action has judged already, nor what is about the running action itself.
    """

    id: StepId
    ask_about: Callable[[int], Findings]
    give_up_after: float
    pause: float
    spares: tuple[StepId, ...] | None = None
    asks: Callable[[], str] = _ourselves
    always: bool = False
    planned: bool = True

    def begin(self, inputs: ActionInputs) -> CheckState:
        """Start without an answer."""
        continues = inputs.continue_on_fail and self.spares is not None
        return CheckState(inputs.revision, continues)

    load_state = staticmethod(CheckState.from_json)

    def decide(self, state: CheckState, now: datetime) -> Look[int] | Done | Failed:
        """Ask, or end with the answer."""
        if state.failed is not None and state.continues:
            return Done(f"went on, as continue-on-fail asks: {state.failed}", self.spares or ())
        if state.failed is not None:
            return Failed(state.failed)
        if state.done is not None:
            return Done(state.done)
        return Look(state.revision)

    def ask(self, question: int) -> Findings:
        """Run the check."""
        return tuple(self.ask_about(question))

    def awaits(self, state: CheckState, asked: int) -> Awaited:
        """Return the peer that is asked."""
        return Awaited(self.asks(), str(self.id))

    def fold(self, state: CheckState, asked: int, report: Findings | PeerFailure, now: datetime) -> Folded[CheckState]:
        """Keep the answer, or remember since when there has been none."""
        if isinstance(report, PeerFailure):
            return self._no_answer(state, report, now)
        if findings := errors(report):
            state = replace(state, failed=messages_in_short(findings))
        else:
            state = replace(state, done=_summary(report))
        return Folded(state, tuple(map(FindingReported, report)))

    def _no_answer(self, state: CheckState, trouble: PeerFailure, now: datetime) -> Folded[CheckState]:
        since = state.since or now
        if trouble.refused or now - since >= timedelta(seconds=self.give_up_after):
            return Folded(replace(state, failed=trouble.detail))
        attempts = state.attempts + 1
        return Folded(
            replace(state, since=since, attempts=attempts),
            (AttemptFailed(attempts, trouble.detail, self.pause),),
            wait_until=now + timedelta(seconds=max(self.pause, trouble.retry_after)),
            awaited=Awaited(
                self.asks(),
                str(self.id),
                trouble.detail,
                deadline=since + timedelta(seconds=self.give_up_after),
            ),
        )


def _summary(findings: Findings) -> str:
    if len(findings) == 1:
        return findings[0].message
    return f"{len(findings)} messages, none of them an error" if findings else "fine"
