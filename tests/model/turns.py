"""The world of turns: two workers that may both run turns of one action, an operator, a peer, a database, and faults.

Everything that does not depend on something else may happen in any order. What the world takes for granted is said in
``docs/explanation/the-model.md``: a request arrives within half of ``settle`` or never, at a peer without marks; no
time passes between the last look at the clock and the first byte of a request; and a database that was put back
without a sign was away for ``settle``.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.rollout_messages import Members, SelectMembers
from shipyard_api.domain.actions import Control, RunState, StepState
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.modes import SERIAL, Mode
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.turn import Engine
from tests.factories import group_entry
from tests.model.database import NAME, STEP, Database, controlled, stored
from tests.model.peer import Peer
from tests.model.pieces import Choices, Outside, run_piece
from tests.model.states import (
    SETTLE,
    START,
    Place,
    Scope,
    State,
    alone_with,
    arrived,
    cut,
    intent_key,
    marks,
    noticed,
    passed,
    request_key,
    together,
    without,
)
from tests.model.surroundings import ModelProvisioner, Surroundings

POLL = 2
GROUP = GroupName("all")
STANDBY, SNAPSHOT = "standby", "snapshot"
COPIED = {STANDBY: "the standby falls behind", SNAPSHOT: "the database's volume is copied"}
_MOST_KNOWN = 100_000


@dataclass(slots=True)
class Turns:
    """The world of turns."""

    scope: Scope
    outside: Outside = field(default_factory=Outside)
    engine: Engine = field(init=False)
    _first: str = field(init=False)
    _known: dict[State, tuple[tuple[str, State], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        provisioner: Any = ModelProvisioner(self.outside, marks=self.scope.marks)
        store: Any = self.outside
        step = BaremetalNodes(STEP, store, provisioner, None, give_up_after=60, pause=POLL)
        clock: Any = self.outside
        definitions = {NAME: Definition(NAME, fixed(step))}
        self.engine = Engine(store, definitions, clock, settle=SETTLE, worker="worker")
        nodes = frozenset(map(NodeName, self.scope.nodes))
        began = step.begin(_inputs(self.scope).to_json())
        known = step.fold(began, SelectMembers(began.inputs), Members({GROUP: nodes}), START).state
        self._first = stored(known.to_json()) or ""

    def initial(self) -> State:
        row = {"memory": self._first, "last_line": START, "created_at": START}
        database = Database(RunState.RUNNING, step=StepState.RUNNING, **row)
        workers: tuple[Place | None, ...] = (None,) * self.scope.workers
        peer = Peer(self.scope.marks)
        return State(0, database, peer, workers, operator=self.scope.operator, faults=self.scope.faults)

    def steps(self, state: State) -> Iterable[tuple[str, State]]:
        yield from self._workers(state)
        yield from self._peer(state)
        if not state.database.ended:
            yield from self._operator(state)
            yield from self._faults(state)
        at_rest = state.database.ended and not state.requests and not any(state.workers)
        if not at_rest and state.clock < self.scope.seconds:
            yield f"{self.scope.tick} s pass", passed(state, self.scope.tick)

    def _workers(self, state: State) -> Iterator[tuple[str, State]]:
        idle: set[tuple[bool, ...]] = set()
        for number, place in enumerate(state.workers):
            if place is None:
                alike = marks(state, number)
                if alike in idle or state.database.ended:
                    continue
                idle.add(alike)
            for did, after in self.pieces(state, number):
                yield f"worker {number + 1} {did}", after
            if place is not None:
                killed = without(state, number)
                fresh = {"knows": state.knows - {number}, "ahead": state.ahead - {number}}
                yield f"worker {number + 1} is killed", replace(killed, **fresh)

    def pieces(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        """Return what a worker may do next, by every choice that the world has in it.

        What comes of it depends on nothing of the others, so it is computed once for all states that differ in those.
        """
        alone = alone_with(state, number)
        known = self._known.get(alone)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[alone] = tuple(self._choices(alone))
        for did, after in known:
            yield did, together(state, number, after, fence=self.scope.fence)

    def _choices(self, alone: State) -> Iterator[tuple[str, State]]:
        given: tuple[int, ...] | None = ()
        while given is not None:
            choices = Choices(given)
            after = self._piece(alone, choices)
            given = choices.following()
            if after is not None:
                yield after

    def _piece(self, alone: State, choices: Choices) -> tuple[str, State] | None:
        """Let the one worker go on by one piece; None if nothing comes of it."""
        near = Surroundings(alone, 0, choices, self.scope)
        before = alone.workers[0]
        log = run_piece(self.engine, self.outside, before.log if before else (), near)
        if log is None:
            if before is None and near.state is alone:
                return None
            return near.did or "ends its turn", without(near.state, 0)
        epoch = before.epoch if before else near.state.database.epoch
        place = Place(log, tuple(seen.key for seen in log), epoch, near.sends)
        return near.did, replace(near.state, workers=(place,))

    def _peer(self, state: State) -> Iterator[tuple[str, State]]:
        for place, request in enumerate(state.requests):
            if request.job is None:
                yield f"{request.operation.value} arrives at the peer", arrived(state, place)
        for job in state.peer.jobs:
            if not job.ended:
                yield f"{job.job} ends", replace(state, peer=state.peer.end(job.job))

    def _operator(self, state: State) -> Iterator[tuple[str, State]]:
        database, verbs = state.database, state.operator
        for control, did in (
            (Control.STOP, "stops"),
            (Control.PAUSE, "pauses"),
            (Control.UNPAUSE, "unpauses"),
        ):
            if control.value not in verbs and control is not Control.UNPAUSE:
                continue
            after = controlled(noticed(state).database, control, "operator", state.now)
            if after != noticed(state).database:
                stopped = state.clock if control is Control.STOP else state.stopped
                changed = replace(noticed(state), database=after, stopped=stopped, operator=verbs - {control.value})
                yield f"the operator {did} the action", changed
        if "hold" in verbs:
            database = noticed(state).database
            held = replace(database, holds=database.holds | {NodeName(self.scope.nodes[0])})
            yield "the operator holds n1", replace(noticed(state), operator=verbs - {"hold"}, database=held)

    def _faults(self, state: State) -> Iterator[tuple[str, State]]:
        """Keep a copy of the database, or go on with it."""
        for what in sorted(state.faults):
            rest = replace(state, faults=state.faults - {what})
            if state.copy is None:
                yield f"{COPIED[what]}", replace(state, copy=state.database, knows=frozenset())
            else:
                lost = cut(replace(rest, database=state.copy, copy=None, turn_of=None))
                if what == STANDBY:
                    yield "the standby becomes the primary", replace(lost, timeline=state.timeline + 1)
                else:
                    away = passed(replace(lost, ahead=state.knows), SETTLE)
                    yield f"the database goes on from its copy, {SETTLE} s later", away

    def key(self, state: State) -> Hashable:
        database = state.database
        unlike = {"epoch": 0, "intent": intent_key(database.intent)}
        if not self.scope.faults:
            unlike["last_line"] = None
        workers = []
        for number, place in enumerate(state.workers):
            known = marks(state, number)
            if place is not None:
                requests = tuple(request_key(request) for request in state.requests if request.owner == number)
                mine = (place.epoch == database.epoch, place.sends, place.seen, state.turn_of == number)
                workers.append((known, *mine, requests, number in state.cut))
            elif any(known):
                workers.append((known,))
        copy = None if state.copy is None else replace(state.copy, epoch=0, intent=intent_key(state.copy.intent))
        return (
            state.clock,
            replace(database, **unlike),
            state.peer,
            tuple(sorted(workers, key=hash)) if len(workers) > 1 else tuple(workers),
            tuple(sorted(request_key(request) for request in state.requests if request.owner is None)),
            state.operator,
            state.faults,
            state.timeline,
            copy,
            state.stopped,
            state.problem,
        )

    def violated(self, state: State) -> str:
        if twice := state.peer.begun_twice():
            operation, node = twice
            return f"{operation.value} of {node} is begun twice"
        database = state.database
        if database.ended and database.lost_after is None:
            unknown = [job.job for job in state.peer.jobs if job.job not in database.jobs]
            if unknown:
                return f"the action has ended and does not know of {unknown[0]}"
        return state.problem

    def ended(self, state: State) -> bool:
        return state.database.ended

    def settled(self, state: State) -> State | None:
        """Let everything go well: requests arrive, jobs end, the operator unpauses, workers go on."""
        for _ in range(80):
            state = self._calm(state)
            if state.database.ended:
                return state
            wake_at = state.database.wake_at or state.now
            state = passed(state, max(self.scope.tick, int((wake_at - state.now).total_seconds())))
        return None

    def _calm(self, state: State) -> State:
        for _ in range(60):
            before = state
            for place, request in enumerate(state.requests):
                if request.job is None:
                    state = arrived(state, place)
                    break
            for job in state.peer.jobs:
                state = replace(state, peer=state.peer.end(job.job))
            database = controlled(state.database, Control.UNPAUSE, "operator", state.now)
            state = replace(state, database=database)
            number = next((number for number, place in enumerate(state.workers) if place is not None), 0)
            state = next((after for _, after in self.pieces(state, number)), state)
            if state == before:
                return state
        return state


def _inputs(scope: Scope) -> SiteInputs:
    limits = PhaseLimits(POLL, 1000)
    mode = Mode(max_nodes_in_flight=1) if scope.window else SERIAL
    configuration = DeploymentConfiguration(
        strategy_name="", prepare_nodes=limits, deploy_nodes=limits, queue_limit=1000, join=False, mode=mode
    )
    window = {"zone": "UTC", "start": f"{START:%H:%M}", "minutes": scope.window / 60}
    policy = PolicyInputs({"windows": {"open": [window]}}, seconds={"prepare": 0.1, "deploy": 0.1})
    groups = {"groups": [group_entry(GROUP)]}
    return SiteInputs(1, configuration, "", groups, policy=policy if scope.window else None)
