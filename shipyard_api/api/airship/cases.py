"""Cases as they are shown: in an action, its report and its overview, and in the comparison of a site."""

from collections.abc import Iterable
from typing import Any

from shipyard_api.api.entities.types import zulu
from shipyard_api.domain.actions import ENDED
from shipyard_api.domain.cases.case import Case
from shipyard_api.domain.facts.cases import open_cases, why_unknown
from shipyard_api.domain.facts.fact import JournalFact
from shipyard_api.domain.remedies import retry
from shipyard_api.ports.state.actions import ActionRecord


def cases_entity(action: ActionRecord, facts: Iterable[JournalFact]) -> dict[str, Any]:
    """Return the members about the cases of an action: none without any, unless the search has no answer.

    Once the action has ended, all that is left to do is to go on where it failed.
    """
    known = list(facts)
    command = retry(action.id) if action.state in ENDED else None
    cases, why = [case_entity(case, command) for case in open_cases(known)], why_unknown(known)
    return {**({"cases": cases} if cases else {}), **({"cases_unknown": why} if why else {})}


def case_entity(case: Case, command: str | None = None) -> dict[str, Any]:
    """Return a case. ``command``: the one to show in place of that of the case."""
    earlier = case.earlier
    return {
        "kind": case.kind.value,
        "feature": case.feature,
        "value": case.value,
        "sentence": case.sentence,
        "nodes": list(case.nodes),
        "affected": case.affected,
        "unknown": case.unknown,
        "others": case.others,
        "others_with": case.others_with,
        "since": zulu(case.since),
        "words": case.words,
        "also": [{"feature": tie.feature, "value": tie.value} for tie in case.also],
        "rest": case.rest,
        "command": case.command if command is None else command,
        "earlier": earlier
        and {"times": earlier.times, "first_at": zulu(earlier.first_at), "action_id": earlier.action},
    }
