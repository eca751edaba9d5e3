"""Actions: list, creation, details and control (contract: shipyard-rest, chapter 6)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.action_views import (
    cases,
    command_entity,
    entity,
    posted,
    teardown_entities,
    verdict,
    waiting,
)
from shipyard_api.api.airship.errors import ControlNotFound, InvalidKey, UnknownAction
from shipyard_api.api.airship.holds import may_override, may_pass_policy
from shipyard_api.api.airship.parameters import action_name, link_next, parameters, wanted_actions
from shipyard_api.api.airship.rendered_actions import RenderedActions, listed
from shipyard_api.api.airship.statuses import messages
from shipyard_api.api.airship.stored_plans import agreement
from shipyard_api.api.airship.times import since
from shipyard_api.api.airship.validations import entity as validation_entity
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy, require
from shipyard_api.api.http.entity_tags import holds
from shipyard_api.api.http.reading import boolean, parse_checked, single, threaded_json
from shipyard_api.api.http.request_context import note_created
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.actions import ActionId, ActionName, is_listed
from shipyard_api.domain.actions import Control as Verb
from shipyard_api.domain.error_kinds import NotFound
from shipyard_api.domain.findings import hidden_character
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.notes import SUMMARY
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.state.actions import ActionRecord, DescribedAction
from shipyard_api.usecases.actions import request
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.describe import ActionWithSteps, DescribeAction, ListActions
from shipyard_api.usecases.actions.request import ActionRequest, Idempotency
from shipyard_api.usecases.actions.retry import RetryAction
from shipyard_api.usecases.journal.notes import ReadNotes
from shipyard_api.usecases.journal.validations import validations

_LONGEST_KEY = 255
_LONGEST_REASON = 300  # of four bytes each, percent-encoded, they still fit into a request line


class Actions:
    """``/actions``: every action; a new one."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:list_actions",
        "POST": "workflow_orchestrator:create_action",
    }

    def __init__(
        self,
        create: CreateAction,
        actions: ListActions,
        notes: ReadNotes,
        schemas: Schemas,
        rendered: RenderedActions,
        limit: int,
    ) -> None:
        self._create = create
        self._rendered = rendered
        self._actions = actions
        self._notes = notes
        self._schemas = schemas
        self.limit = limit

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.asgi.Response) -> None:
        """Answer with all actions, or with those that are asked for, in order of creation, each with its own notes."""
        versions, is_cut = self._actions.versions(wanted_actions(req, _since(req)))
        link_next(req, resp, versions[-1][0] if versions else None, is_cut=is_cut)
        verbosity = min(req.context.verbosity, SUMMARY)  # above that, nothing more is shown here
        if holds(req, resp, verbosity, is_cut, versions):
            return
        bodies = self._rendered.many(versions, ("listed", verbosity), lambda ids: self._entities(ids, verbosity))
        resp.stream, resp.content_length = listed(bodies)
        resp.content_type = falcon.MEDIA_JSON

    def _entities(self, ids: Sequence[ActionId], verbosity: int) -> Iterator[tuple[ActionId, dict[str, Any]]]:
        actions = self._actions.by_ids(ids)
        notes = self._notes.of_actions([record.action for record in actions], verbosity)
        return ((record.action.id, entity(record, notes[record.action.id])) for record in actions)

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        """Create an action and answer with it, queued."""
        body = parse_checked(req.path, sent, self._schemas, "action_v1")
        name = action_name(body["name"])
        _require_for(req, name, body.get("parameters") or {})
        request = ActionRequest(
            name,
            parameters(name, body),
            boolean(req, "allow-intermediate-commits", default=None),
            strict=bool(boolean(req, "strict", default=False)),
            idempotency=_idempotency(req, body),
            may_override_holds=may_override(req),
            may_pass_policy=may_pass_policy(req),
            agreement=agreement(req),
            further={key: value for key, value in body.items() if key not in ("name", "parameters")},
        )
        created = self._create(request, req.context.caller)
        _created(req, resp, created.action, body)
        if created.warnings:
            resp.media["warnings"] = messages(created.warnings)
        if created.replayed:
            resp.set_header("Idempotency-Replayed", "true")


def _since(req: falcon.Request) -> datetime | timedelta | None:
    written = single(req, "since")
    moment = since(written) if written else None
    if written and moment is None:
        raise falcon.HTTPInvalidParam("The value is a date, a time or a duration of ISO 8601.", "since")
    return moment


def _idempotency(req: falcon.Request, body: Mapping[str, Any]) -> Idempotency | None:
    """Return the Idempotency-Key with the body (draft-ietf-httpapi-idempotency-key-header); None without one."""
    key = req.get_header("Idempotency-Key")
    if key is None:
        return None
    if not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        raise InvalidKey(_LONGEST_KEY)
    return Idempotency(key, body)


class Action:
    """``/actions/{action_id}``: one action."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, describe: DescribeAction, notes: ReadNotes, rendered: RenderedActions) -> None:
        self._rendered = rendered
        self._describe = describe
        self._notes = notes

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Return the action with its steps and commands; of the steps' notes only what sums them up."""
        verbosity = min(req.context.verbosity, SUMMARY)  # above that, nothing more is shown here
        try:
            if req.get_header("If-None-Match") and holds(req, resp, verbosity, self._describe.version(action_id)):
                return
            version, resp.data = self._rendered.one(
                ActionId(action_id), ("one", verbosity), partial(self._read, action_id, verbosity)
            )
        except NotFound:
            raise UnknownAction(action_id) from None
        holds(req, resp, verbosity, version)
        resp.content_type = falcon.MEDIA_JSON

    def _read(self, action_id: str, verbosity: int, known: str) -> tuple[str, dict[str, Any] | None]:
        version, action = self._describe.one(action_id, verbosity, known)
        return version, self._entity(action, verbosity) if action else None

    def _entity(self, described: DescribedAction, verbosity: int) -> dict[str, Any]:
        action = described.action
        return {
            **entity(
                ActionWithSteps(action, described.steps), self._notes.of_action(action, described.entries, verbosity)
            ),
            "verdict": verdict(action.state),
            "waiting_for": waiting(action),
            **teardown_entities(action, described.entries),
            **cases(action, (entry.fact for entry in described.entries)),
            "validations": [validation_entity(validation) for validation in validations(action.id, described.entries)],
            "command_audit": [command_entity(command) for command in described.commands],
        }


class Control:
    """``/actions/{action_id}/control/{control_verb}``: pause, unpause, stop (6.7); our own are retry, acknowledge."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:invoke_action_control"}

    def __init__(self, control: ControlAction, retry: RetryAction) -> None:
        self._control = control
        self._retry = retry

    @threaded
    def on_post(self, req: falcon.Request, resp: falcon.Response, action_id: str, control_verb: str) -> None:
        """Accept the command with 202; a retry is a new action, answered as one that was just created."""
        verb = next((verb for verb in Verb if verb.value == control_verb), None)
        if verb is None:
            # An unknown action is reported before anything else.
            self._control.action(action_id)
            raise ControlNotFound(control_verb)
        force = bool(boolean(req, "force", default=False))
        if verb is Verb.RETRY:
            # A retry creates an action, so it needs the right to create one.
            require(req, "workflow_orchestrator:create_action")
            old = self._control.action(action_id)
            if is_listed(old.name):
                _require_for(req, old.name, old.parameters)
            may = force and may_override(req)
            new = self._retry(action_id, req.context.caller, agreement(req), force=force, may_override_holds=may)
            _created(req, resp, new, {})
            return
        if verb is Verb.ACKNOWLEDGE:
            self._control.acknowledge(action_id, req.context.caller, _reason(req))
        else:
            self._control(action_id, verb, req.context.caller)
        resp.status = falcon.HTTP_202


def _reason(req: falcon.Request) -> str:
    """Return the reason of an acknowledgement, which may be empty."""
    written = single(req, "reason") or ""
    if len(written) > _LONGEST_REASON:
        raise falcon.HTTPInvalidParam(f"The value is longer than {_LONGEST_REASON} characters.", "reason")
    if code := hidden_character(written):
        raise falcon.HTTPInvalidParam(f"The value contains {code}, which cannot be seen.", "reason")
    return written


def _require_for(req: falcon.Request, name: ActionName, written: JsonObject) -> None:
    """Raise Forbidden unless the caller satisfies the rule of the action, and of each parameter that has one."""
    for right in request.rights(name, written):
        require(req, right)


def _created(req: falcon.Request, resp: falcon.Response, action: ActionRecord, body: Mapping[str, Any]) -> None:
    """Answer with a new action, and with any further key of what was sent."""
    note_created(req, action.id)
    resp.status = falcon.HTTP_201
    resp.location = f"{req.root_path}/api/v1.0/actions/{action.id}"
    started = {"dag_execution_date": zulu(action.created_at), "dag_status": "SCHEDULED"}
    resp.media = {**body, **posted(action), **started}
