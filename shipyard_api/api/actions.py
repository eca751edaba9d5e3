"""Actions and their steps (contract: shipyard-rest, chapters 6 and 7)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import falcon

from shipyard_api.api.auth import Policy
from shipyard_api.api.errors import InvalidFormat
from shipyard_api.api.notes import shown as shown_notes
from shipyard_api.api.reading import boolean, read_json
from shipyard_api.api.times import with_offset, zulu
from shipyard_api.domain.actions import ENDED, RunState, StepState, group_state, lifecycle
from shipyard_api.domain.actions import Control as Verb
from shipyard_api.domain.errors import NotFound
from shipyard_api.domain.notes import Note
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.store import ActionRecord, CommandRecord, StepRecord
from shipyard_api.usecases.control_action import ControlAction
from shipyard_api.usecases.create_action import ActionRequest, CreateAction
from shipyard_api.usecases.describe_action import ActionWithSteps, DescribeAction
from shipyard_api.usecases.read_notes import ReadNotes

# Bare ids that field scripts compare although nothing runs under them (product, section 5).
BARE_GROUPS = ("preflight", "drydock_build")


class Actions:
    """``/actions``: every action; a new one."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:list_actions",
        "POST": "workflow_orchestrator:create_action",
    }

    def __init__(
        self, create: CreateAction, describe: DescribeAction, notes: ReadNotes, schemas: Schemas, limit: int
    ) -> None:
        self._create = create
        self._describe = describe
        self._notes = notes
        self._schemas = schemas
        self._limit = limit

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all actions, in order of creation, each with its own notes."""
        actions = self._describe.all()
        notes = self._notes.of_actions([one.action for one in actions], req.context.verbosity)
        resp.media = [_entity(one, notes[one.action.id]) for one in actions]

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Create an action and answer with it, queued."""
        body = read_json(req, self._limit)
        wrong = self._schemas.check("action_v1", body)
        if wrong:
            raise InvalidFormat(
                f"JSON validation failed: {wrong[0].message}", f"Failed validator: {wrong[0].diagnostic}", wrong
            )
        allowed = boolean(req, "allow-intermediate-commits", default=None)
        request = ActionRequest(body["name"], body.get("parameters") or {}, allowed)
        action = self._create(request, req.context.caller)
        _created(resp, action, body)


class Action:
    """``/actions/{action_id}``: one action."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, describe: DescribeAction, notes: ReadNotes) -> None:
        self._describe = describe
        self._notes = notes

    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Answer with the action, its steps and who commanded what; of the steps' notes only what sums them up."""
        action, commands = self._describe.one(action_id)
        resp.media = {
            **_entity(action, self._notes.of_action(action.action, req.context.verbosity)),
            "verdict": _verdict(action.action.state),
            "validations": [],
            "command_audit": [_command(command) for command in commands],
        }


class Control:
    """``/actions/{action_id}/control/{control_verb}``: pause, unpause, stop; and retry, which is ours (6.7)."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:invoke_action_control"}

    def __init__(self, control: ControlAction) -> None:
        self._control = control

    def on_post(self, req: falcon.Request, resp: falcon.Response, action_id: str, control_verb: str) -> None:
        """Accept the command with 202; a retry is a new action, answered as one that was just created."""
        verb = next((verb for verb in Verb if verb.value == control_verb), None)
        if verb is None:
            raise NotFound("Control not supported", f"Unknown control {control_verb}")
        if verb is Verb.RETRY:
            force = bool(boolean(req, "force", default=False))
            _created(resp, self._control.retry(action_id, req.context.caller, force=force), {})
            return
        self._control(action_id, verb, req.context.caller)
        resp.status = falcon.HTTP_202


class Step:
    """``/actions/{action_id}/steps/{step_id}``: one step."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action_step"}

    def __init__(self, describe: DescribeAction, notes: ReadNotes) -> None:
        self._describe = describe
        self._notes = notes

    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str, step_id: str) -> None:
        """Answer with the step's record; the fields are the ones that clients of the engine's record read."""
        action, record = self._describe.step(action_id, step_id)
        shown = next((step for step in _steps(action.steps) if step.id == step_id), None)
        if shown is None:
            raise NotFound("Step not found", f"Unknown step {step_id}")
        notes = self._notes.of_step(action.action, record.id, req.context.verbosity) if record else ()
        resp.media = {
            "task_id": shown.id,
            "index": shown.index,
            "state": shown.state.value if shown.state else None,
            "dag_id": action.action.name.value,
            "execution_date": zulu(action.action.created_at),
            "run_id": action.action.id,
            "start_date": zulu(shown.started_at),
            "end_date": zulu(shown.ended_at),
            "duration": _seconds(shown.started_at, shown.ended_at),
            "try_number": 1,
            "max_tries": 0,
            "operator": _operator(shown.id),
            "detail": record.detail if record else "",
            "notes": shown_notes(notes),
        }


@dataclass(frozen=True, slots=True)
class _Shown:
    """A step as it is listed: a real one, or the bare id of a group of steps."""

    id: str
    index: int
    state: StepState | None
    started_at: datetime | None
    ended_at: datetime | None


def _steps(records: Sequence[StepRecord]) -> list[_Shown]:
    """Return the steps in order, each bare group id before the first step of its group."""
    listed: list[_Shown] = []
    for record in records:
        group = record.id.partition(".")[0]
        if group in BARE_GROUPS and group not in [shown.id for shown in listed]:
            members = [one for one in records if one.id.startswith(f"{group}.")]
            state = group_state(one.state for one in members)
            begun = [one.started_at for one in members if one.started_at]
            ended = [one.ended_at for one in members if one.ended_at]
            last = max(ended) if len(ended) == len(members) else None
            listed.append(_Shown(group, len(listed) + 1, state, min(begun, default=None), last))
        listed.append(_Shown(record.id, len(listed) + 1, record.state, record.started_at, record.ended_at))
    return listed


def _created(resp: falcon.Response, action: ActionRecord, body: Mapping[str, Any]) -> None:
    """Answer with a new action, and with any further key of what was sent."""
    resp.status = falcon.HTTP_201
    resp.location = f"/api/v1.0/actions/{action.id}"
    resp.media = {
        **body,
        "id": action.id,
        "name": action.name.value,
        "parameters": dict(action.parameters),
        "user": action.user,
        "timestamp": action.created_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f"),
        "context_marker": action.context_marker,
        "dag_id": action.name.value,
        "dag_execution_date": zulu(action.created_at),
        "dag_status": "SCHEDULED",
        "committed_rev_id": action.revision,
        "allow_intermediate_commits": action.allow_intermediate_commits,
    }


def _entity(one: ActionWithSteps, notes: Sequence[Note]) -> dict[str, Any]:
    action: ActionRecord = one.action
    by_step: defaultdict[str | None, list[Note]] = defaultdict(list)
    for note in notes:
        by_step[note.step].append(note)
    return {
        "id": action.id,
        "name": action.name.value,
        "parameters": dict(action.parameters),
        "dag_id": action.name.value,
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
            for step in _steps(one.steps)
        ],
        "notes": shown_notes(by_step[None]),
    }


def _verdict(state: RunState) -> str | None:
    return state.value if state in ENDED else None


def _command(command: CommandRecord) -> dict[str, Any]:
    return {
        "id": command.id,
        "action_id": command.action,
        "command": command.command,
        "user": command.user,
        "datetime": with_offset(command.at),
    }


def _operator(step: str) -> str:
    """Return a class name of the form that clients print, ``DrydockBuildVerifySiteOperator``."""
    return "".join(word.capitalize() for word in step.replace(".", "_").split("_")) + "Operator"


def _seconds(begun: datetime | None, ended: datetime | None) -> float | None:
    return (ended - begun).total_seconds() if begun and ended else None
