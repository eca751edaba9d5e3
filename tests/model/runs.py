"""The actions of a site, one after another: what the operator begins next, by the real rules of a retry."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, RunState, StepState
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.ports.provisioner import JobId, Marker, Operation
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.callers import Caller
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.step import AnyStep
from tests.model.database import BEGAN, NAME, Database, Past, action_id, changed, stored
from tests.model.peer import Accepted, Peer
from tests.model.states import Scope
from tests.model.steps import begun, inputs_of

VERBS = frozenset({"again", "retry"})
_OPERATOR = Caller("operator", frozenset({"admin"}), "context")
_LONG_BEFORE = BEGAN - timedelta(days=1)


def deployed_before(scope: Scope, peer: Peer) -> tuple[Database, Peer]:
    """Return a site whose first action has deployed its nodes, and was stopped before it had ended."""
    nodes = tuple(map(NodeName, scope.nodes))
    database = Database(
        RunState.FAILED,
        step=StepState.FAILED,
        stopped_by="operator",
        jobs=(JobId("job-1"), JobId("job-2")),
        created_at=_LONG_BEFORE,
        inputs=stored({**inputs_of(scope), "action": action_id(0)}) or "",
        nodes=tuple((node, NodeStatus.SUCCESS) for node in nodes),
    )
    jobs = tuple(
        Accepted(job, Marker(job), operation, nodes, _LONG_BEFORE, ended=True)
        for job, operation in zip(database.jobs, (Operation.PREPARE_NODES, Operation.DEPLOY_NODES), strict=True)
    )
    return database, replace(peer, jobs=jobs)


def next_actions(
    database: Database, verbs: frozenset[str], now: datetime, step: AnyStep
) -> Iterator[tuple[str, str, Database]]:
    """Return what the operator may begin after an action has ended: what it does, its verb, the database after it."""
    if "again" in verbs:
        before = json.loads(database.inputs)
        inputs = {name: value for name, value in before.items() if name not in ("kept", "retried")}
        yield f"the operator creates action {database.number + 2}", "again", _created(database, inputs, now, step)
    if "retry" in verbs:
        for old in (*database.past, _past(database)):
            kept = retried(database, old, step)
            if kept is not None:
                yield f"the operator retries action {old.number + 1}", "retry", _created(database, kept, now, step)


def retried(database: Database, old: Past, step: AnyStep) -> JsonObject | None:
    """Return the inputs of a retry of an action, by force; None if it is refused."""
    ended = (*database.past, _past(database))
    site = Ended(ended)
    control = ControlAction(_store(site), {NAME: Definition(NAME, fixed(step))}, lambda: action_id(len(ended)))
    try:
        control.retry(action_id(old.number), _OPERATOR, force=True, may_override_holds=True)
    except Conflict:
        return None
    return site.created[0].inputs


def _created(database: Database, inputs: JsonObject, now: datetime, step: AnyStep) -> Database:
    number = database.number + 1
    inputs = {**inputs, "action": action_id(number)}
    nodes = tuple((node, NodeStatus.NOT_STARTED) for node, _ in database.nodes)
    memory, facts = begun(step, inputs, frozenset(node for node, _ in nodes))
    return Database(
        RunState.RUNNING,
        step=StepState.RUNNING,
        memory=stored(memory),
        holds=database.holds,
        jobs=database.jobs,
        created_at=now,
        timeline=database.timeline,
        number=number,
        inputs=stored(inputs) or "",
        nodes=changed(nodes, facts),
        past=(*database.past, _past(database)),
    )


def _past(database: Database) -> Past:
    return Past(database.number, database.state, database.created_at, database.inputs, database.nodes)


def _store(site: "Ended") -> Store:
    """Return a store whose transactions read the actions of the site."""
    rows: Any = SimpleNamespace(
        actions=site,
        nodes=SimpleNamespace(newest_since=site.newest_since, removed_since=lambda *_: {}),
        items=SimpleNamespace(succeeded=lambda _action: {}),
        task_results=SimpleNamespace(of=lambda *_args, **_named: ()),
        holds=SimpleNamespace(active=lambda: ()),
    )

    @contextmanager
    def begin() -> Iterator[Any]:
        yield rows

    store: Any = SimpleNamespace(begin=begin)
    return store  # type: ignore[no-any-return]


@dataclass
class Ended:
    """The actions of a site, which have all ended, as ``storage.actions`` and ``storage.nodes`` show them."""

    ended: Sequence[Past]

    def __post_init__(self) -> None:
        self.created: list[NewAction] = []

    def get(self, action: ActionId) -> ActionRecord:
        old = self._of(action)
        at = old.created_at
        return ActionRecord(action, NAME, {}, "operator", "context", None, None, old.state, at, at, at, 1)

    def inputs(self, action: ActionId) -> JsonObject:
        inputs: JsonObject = json.loads(self._of(action).inputs)
        return inputs

    def nodes(self, action: ActionId, *, status: Sequence[str], **_filters: object) -> list[SimpleNamespace]:
        nodes = self._of(action).nodes
        return [SimpleNamespace(name=node) for node, now in nodes if not status or now.value in status]

    def deployed(self, action: ActionId) -> list[NodeName]:
        return self.deployed_by(self._of(action))

    @staticmethod
    def deployed_by(past: Past) -> list[NodeName]:
        """Return the nodes that an action has deployed."""
        return [node for node, status in past.nodes if status is NodeStatus.SUCCESS]

    def newest_since(
        self, moment: datetime, nodes: Sequence[NodeName]
    ) -> dict[NodeName, tuple[ActionName, NodeStatus]]:
        later = [past for past in self.ended if past.created_at > moment]
        worked_on = [(node, status) for past in later for node, status in past.nodes]
        return {
            node: (NAME, status) for node, status in worked_on if node in nodes and status is not NodeStatus.NOT_STARTED
        }

    def lock_creation(self) -> None:
        """Lock nothing: nothing else is created meanwhile."""

    def running_site_action(self, _nodes: object = None) -> None:
        """Return that none runs."""

    def node_operations(self) -> tuple[ActionRecord, ...]:
        return ()

    def create(self, new: NewAction) -> NewAction:
        self.created.append(new)
        return new

    def _of(self, action: ActionId) -> Past:
        return next(past for past in self.ended if action_id(past.number) == action)
