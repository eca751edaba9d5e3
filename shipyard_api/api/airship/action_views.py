"""Actions and their steps as they are shown (contract: shipyard-rest, 6.1 and 7.1)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from shipyard_api.api.airship.notes import shown as shown_notes
from shipyard_api.api.airship.times import with_offset, without_zone
from shipyard_api.api.entities.actions import ActionSummary, Case, Teardown, WaitingFor
from shipyard_api.api.entities.types import zulu
from shipyard_api.domain import waiting as waits
from shipyard_api.domain.actions import BARE_GROUPS, ENDED, RunState, StepState, group_state, lifecycle
from shipyard_api.domain.facts.cases import open_cases, why_unknown
from shipyard_api.domain.facts.fact import JournalEntry, JournalFact
from shipyard_api.domain.notes import Note
from shipyard_api.domain.remedies import retry
from shipyard_api.domain.teardown_progress import teardowns
from shipyard_api.ports.state.actions import ActionRecord, CommandRecord, StepRecord
from shipyard_api.usecases.actions.describe import ActionWithSteps

MOST_WAITS = 5
_FIRST_TURN = "the first turn of the action"
Summary = TypeVar("Summary", bound=ActionSummary)


class ShownStep(Struct, frozen=True):
    """A step as it is listed: a real one, or the bare id of a group of steps."""

    id: str
    index: int
    state: StepState | None
    started_at: datetime | None
    ended_at: datetime | None


def shown_steps(records: Sequence[StepRecord]) -> list[ShownStep]:
    """Return the steps in order, each bare group id before the first step of its group."""
    listed: list[ShownStep] = []
    for record in records:
        group = record.id.partition(".")[0]
        if group in BARE_GROUPS and group not in [shown.id for shown in listed]:
            members = [step for step in records if step.id.startswith(f"{group}.")]
            state = group_state(member.state for member in members)
            begun = [member.started_at for member in members if member.started_at]
            ended = [member.ended_at for member in members if member.ended_at]
            last = max(ended) if len(ended) == len(members) else None
            listed.append(ShownStep(group, len(listed) + 1, state, min(begun, default=None), last))
        listed.append(ShownStep(record.id, len(listed) + 1, record.state, record.started_at, record.ended_at))
    return listed


def entity(described: ActionWithSteps, notes: Sequence[Note]) -> dict[str, Any]:
    """Return an action as it is listed, with its steps; notes of steps stand with their step."""
    action: ActionRecord = described.action
    by_step: defaultdict[str | None, list[Note]] = defaultdict(list)
    for note in notes:
        by_step[note.step].append(note)
    return {
        "id": action.id,
        "name": action.name,
        "parameters": dict(action.parameters),
        "dag_id": action.name,
        "dag_execution_date": zulu(action.created_at),
        "user": action.user,
        "context_marker": action.context_marker,
        "datetime": with_offset(action.created_at),
        "dag_status": action.state.value,
        "action_lifecycle": lifecycle(action.state),
        "steps": [
            {
                "url": f"/actions/{action.id}/steps/{step.id}",
                "state": step.state.value if step.state else None,
                "id": step.id,
                "index": step.index,
                "notes": shown_notes(by_step[step.id]),
            }
            for step in shown_steps(described.steps)
        ],
        "notes": shown_notes(by_step[None]),
    }


def posted(action: ActionRecord) -> dict[str, Any]:
    """Return an action as it was when it was created: what an engine would have been given (6.1, column POST)."""
    return {
        "id": action.id,
        "name": action.name,
        "parameters": dict(action.parameters),
        "user": action.user,
        "timestamp": without_zone(action.created_at),
        "context_marker": action.context_marker,
        "dag_id": action.name,
        "committed_rev_id": action.revision,
        "allow_intermediate_commits": action.allow_intermediate_commits,
    }


def summary(kind: type[Summary], action: ActionRecord, **more: object) -> Summary:
    """Return an action without its steps, as the report and the overview show it."""
    return kind.of(action, action_lifecycle=lifecycle(action.state), waiting_for=waiting(action), **more)


def verdict(state: RunState) -> str | None:
    """Return how an action ended; None while it goes on."""
    return state.value if state in ENDED else None


def waiting(action: ActionRecord) -> WaitingFor | None:
    """Return what an action waits for; None once it has ended."""
    if action.state in ENDED:
        return None
    return WaitingFor.of(action.waiting_for or waits.WaitingFor("worker", _FIRST_TURN, action.created_at))


def cases(action: ActionRecord, facts: Iterable[JournalFact]) -> dict[str, Any]:
    """Return the members about the cases of an action: none without any, unless the search has no answer.

    Once the action has ended, all that is left to do is to go on where it failed.
    """
    known = list(facts)
    next_command = {"command": retry(action.id)} if action.state in ENDED else {}
    shown, why = [Case.of(case, **next_command) for case in open_cases(known)], why_unknown(known)
    return {**({"cases": shown} if shown else {}), **({"cases_unknown": why} if why else {})}


def teardown_entities(action: ActionRecord, entries: Sequence[JournalEntry]) -> dict[str, Any]:
    """Return the member with the teardown operations under way; nothing without any."""
    at_work = () if action.state in ENDED else teardowns(entries)
    shown = [
        Teardown.of(teardown, waits_for=teardown.waits_for[:MOST_WAITS], waits=len(teardown.waits_for))
        for teardown in at_work
    ]
    return {"teardowns": shown} if shown else {}


def command_entity(command: CommandRecord) -> dict[str, Any]:
    """Return one line of the command audit."""
    return {
        "id": command.id,
        "action_id": command.action,
        "command": command.command,
        "user": command.user,
        "datetime": with_offset(command.at),
    }


def operator(step: str) -> str:
    """Return a class name of the form that clients print, ``DrydockBuildVerifySiteOperator``."""
    return "".join(word.capitalize() for word in step.replace(".", "_").split("_")) + "Operator"


def seconds(begun: datetime | None, ended: datetime | None) -> float | None:
    """Return a duration; None until it has ended."""
    return (ended - begun).total_seconds() if begun and ended else None
