"""Run the checks of an action's first steps for its plan, as the engine would run them now (product, section 13)."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.checks import Check
from shipyard_api.actions.steps.site_work import SiteWork
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.errors import FirstStepFails
from shipyard_api.domain.findings import Finding, Level, errors, warning
from shipyard_api.ports.errors import PeerError
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import Done, Failed, PeerFailure


class FirstSteps(Struct, frozen=True):
    """``refusal``: why one of the steps would fail, None if none would. ``findings``: without mere information."""

    refusal: ShipyardError | None = None
    findings: Sequence[Finding] = ()


def run_checks(definition: Definition, inputs: ActionInputs, now: datetime) -> FirstSteps:
    """Return how the checks end that run before an action works on nodes. A silent peer makes a finding."""
    findings: list[Finding] = []
    skipped: set[StepId] = set()
    for check in _checks(definition, inputs):
        if check.id in skipped:
            continue
        state, report = check.begin(inputs), _asked(check, inputs.revision)
        state = check.fold(state, state.revision, report, now).state
        found = () if isinstance(report, PeerFailure) else tuple(one for one in report if one.level is not Level.INFO)
        findings += found
        match check.decide(state, now):
            case Failed(reason):
                return FirstSteps(FirstStepFails(check.id, reason, errors(found)), findings)
            case Done(_, skips):
                skipped.update(skips)
            case _ if isinstance(report, PeerFailure):
                message = f"{check.asks()} does not say whether step {check.id} would succeed: {report.detail}"
                findings.append(warning("StepNotChecked", message))
    return FirstSteps(None, findings)


def _checks(definition: Definition, inputs: ActionInputs) -> Iterator[Check]:
    """Return the planned checks before the first step that works on nodes."""
    for step in definition.steps(inputs).values():
        if isinstance(step, Check):
            if step.planned:
                yield step
        elif not isinstance(step, SiteWork):
            return


def _asked(check: Check, revision: int) -> Sequence[Finding] | PeerFailure:
    try:
        return check.ask(revision)
    except PeerError as error:
        return PeerFailure.of(error)
