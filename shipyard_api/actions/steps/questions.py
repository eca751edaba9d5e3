"""Steps that ask one question and are done with the answer: is the peer well, is the design sound.

The answer is a list of findings; an Info finding is how a step tells what it saw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.facts.steps import AttemptFailed
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.workflow.step import Decision, Done, Failed, Folded, Json, Look, Trouble


@dataclass(frozen=True, slots=True)
class Question:
    """Asks until it has an answer or ``patience`` seconds are over; an error among the findings fails the step.

    ``ask`` gets the revision. ``pause``: seconds between two attempts at a peer that does not answer. ``spares``: where
    the action was asked to continue on a failure, this step does not fail, and these later ones do not run; None if it
    fails all the same.
    """

    id: StepId
    ask: Callable[[int], Sequence[Finding]]
    patience: float
    pause: float
    spares: tuple[StepId, ...] | None = None
    always: bool = False

    def begin(self, inputs: Json) -> Json:
        """Start without an answer."""
        continues = bool(inputs.get("continue_on_fail")) and self.spares is not None
        state = {"v": 1, "revision": inputs["revision"], "since": None, "failed": None, "done": None}
        return {**state, "continues": continues}

    def decide(self, state: Json, now: datetime) -> Decision:  # the port's signature
        """Ask, or end with the answer."""
        if state["failed"] is not None and state["continues"]:
            return Done(f"went on, as continue-on-fail asks: {state['failed']}", self.spares or ())
        if state["failed"] is not None:
            return Failed(state["failed"])
        if state["done"] is not None:
            return Done(state["done"])
        return Look(state["revision"])

    def look(self, effect: object) -> object:
        """Ask."""
        if not isinstance(effect, int):
            raise TypeError(f"{self.id} asks about a revision, not about {effect!r}")
        return tuple(self.ask(effect))

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Keep the answer, or remember since when there has been none."""
        if isinstance(report, Trouble):
            return self._no_answer(state, report, now)
        if not isinstance(report, tuple):
            raise TypeError(f"{self.id} was answered with {type(report).__name__}")
        findings: tuple[Finding, ...] = report
        wrong = errors(findings)
        if wrong:
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            answer = {"failed": f"{wrong[0].message}{more}"}
        else:
            answer = {"done": _sentence(findings)}
        return Folded({**state, **answer}, tuple(map(FindingReported, findings)))

    def _no_answer(self, state: Json, trouble: Trouble, now: datetime) -> Folded:
        since = datetime.fromisoformat(state["since"]) if state["since"] else now
        waited = now - since >= timedelta(seconds=self.patience)
        if trouble.refused or waited:
            return Folded({**state, "failed": trouble.detail})
        attempt = state.get("attempts", 0) + 1
        return Folded(
            {**state, "since": since.isoformat(), "attempts": attempt},
            (AttemptFailed(attempt, trouble.detail, self.pause),),
            wait_until=now + timedelta(seconds=self.pause),
        )


def _sentence(findings: Sequence[Finding]) -> str:
    if len(findings) == 1:
        return findings[0].message
    return f"{len(findings)} messages, none of them an error" if findings else "fine"
