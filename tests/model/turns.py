"""The world of turns: two workers that may both run turns of one action, an operator, a peer, a database, and faults.

Everything that does not depend on something else may happen in any order. What the world takes for granted is said in
``docs/explanation/the-model.md``: a request arrives within half of ``settle`` or never, at a peer without marks; no
time passes between the last look at the clock and the first byte of a request; and a database that was put back
without a sign was away for ``settle``.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.domain.actions import Control, RunState, StepState
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.step import AnyStep, Json
from shipyard_api.workflow.turn import Engine
from tests.model import runs
from tests.model.database import NAME, Database, controlled, stored
from tests.model.item_rows import released
from tests.model.machines import Machine
from tests.model.peer import Peer
from tests.model.pieces import Choices, Outside, run_piece
from tests.model.states import (
    BACK,
    CLOCK,
    PARTS,
    SETTLE,
    SNAPSHOT,
    STANDBY,
    START,
    Change,
    Clocks,
    Host,
    Place,
    Scope,
    State,
    Violated,
    alone_with,
    arrived,
    change,
    cut,
    keys_of,
    marks,
    noticed,
    passed,
    request_folds,
    taken_epochs,
    together,
    without,
)
from tests.model.steps import deploying, destroying
from tests.model.surroundings import ModelProvisioner, Surroundings

COPIED = {STANDBY: "the standby falls behind", SNAPSHOT: "the database's volume is copied", BACK: ""}


@dataclass(slots=True)
class Turns:
    """The world of turns."""

    scope: Scope
    outside: Outside = field(default_factory=Outside)
    engine: Engine = field(init=False)
    step: AnyStep = field(init=False)
    _first: Json = field(init=False)
    _known: dict[Hashable, tuple[tuple[str, Change], ...]] = field(default_factory=dict)
    _touched: dict[Place | None, list[tuple[str, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        provisioner: Any = ModelProvisioner(self.outside, self.scope)
        store: Any = self.outside
        if self.scope.items:
            teardown = destroying(store, provisioner, self.scope)
            self.step = teardown
            self._first = teardown.begin(ActionInputs()).to_json()
        else:
            self.step, self._first = deploying(store, provisioner, self.scope)
        clock: Any = self.outside
        definitions = {NAME: Definition(NAME, fixed(self.step))}
        self.engine = Engine(store, definitions, clock, settle=SETTLE, worker="worker")

    def initial(self) -> State:
        memory = stored(self._first)
        database = Database(RunState.RUNNING, step=StepState.RUNNING, memory=memory, last_line=START, created_at=START)
        nodes = self.scope.nodes if self.scope.machines else ()
        peer = Peer(self.scope.marks, machines=tuple(Machine(NodeName(node)) for node in nodes))
        if self.scope.retry:
            database, peer = runs.deployed_before(self.scope, peer)
        workers: tuple[Place | None, ...] = (None,) * self.scope.workers
        hosts = tuple(Host() for _ in workers) if self.scope.clock else ()
        operator, faults = self.scope.operator, self.scope.faults
        return State(0, database, peer, workers, operator=operator, faults=faults, clocks=Clocks(hosts=hosts))

    def steps(self, state: State) -> Iterable[tuple[str, State]]:
        yield from self._workers(state)
        yield from self._runs(state)
        yield from self._peer(state)
        if not state.database.ended:
            yield from self._operator(state)
            yield from self._faults(state)
            yield from self._clocks(state)
        elif self.scope.retry:
            yield from self._next_actions(state)
        over = state.database.ended and not state.operator & runs.VERBS
        at_rest = over and not state.requests and not any(state.workers)
        if not at_rest and state.clock < self.scope.seconds:
            yield f"{self.scope.tick} s pass", passed(state, self.scope.tick)

    def _next_actions(self, state: State) -> Iterator[tuple[str, State]]:
        """Begin a new action, or retry each that has ended and that may be retried."""
        for did, verb, database in runs.next_actions(state.database, state.operator, state.now, self.step):
            operator = (state.operator - {verb}) | (self.scope.operator & {"stop"})
            yield did, state._replace(database=database, operator=operator, stopped=None)

    def _workers(self, state: State) -> Iterator[tuple[str, State]]:
        idle: set[Hashable] = set()
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
                fresh = killed._replace(knows=state.knows - {number}, ahead=state.ahead - {number})
                yield f"worker {number + 1} is killed", fresh

    def pieces(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        """Return what a worker may do next, by every choice that the world has in it.

        What comes of it depends on nothing of the others, so it is computed once for all states that differ in those.
        """
        place = state.workers[number]
        of_place = self._touched.setdefault(place, [])
        for touched in of_place:
            known = self._known.get((place, *(PARTS[part](state, number) for part in touched)))
            if known is not None:
                break
        else:
            touched, known = self._choices(state, number)
            if touched not in of_place:
                of_place.append(touched)
            self._known[(place, *(PARTS[part](state, number) for part in touched))] = known
        for did, changed in known:
            yield did, together(state, number, changed, fence=self.scope.fence)

    def _choices(self, state: State, number: int) -> tuple[tuple[str, ...], tuple[tuple[str, Change], ...]]:
        """Return what a worker may do next, and on which parts of the state that depends."""
        place, alone = state.workers[number], alone_with(state, number)
        of_action = str(state.database.number)
        units = [place.unit] if place else [of_action, "an item"] if alone.database.items else [of_action]
        done: list[tuple[str, Change]] = []
        touched: set[str] = set()
        for unit in units:
            given: tuple[int, ...] | None = ()
            while given is not None:
                choices = Choices(given)
                near = Surroundings(alone, 0, choices, self.scope, None if self.scope.forgets else taken_epochs(state))
                after = self._piece(alone, near, unit)
                given = choices.following()
                touched |= near.touched
                if after is not None:
                    done.append((near.did or "ends its turn", change(alone, after)))
        return tuple(part for part in PARTS if part in touched), tuple(done)

    def _piece(self, alone: State, near: Surroundings, unit: str) -> State | None:
        """Let the one worker go on by one piece; None if nothing comes of it."""
        before = alone.workers[0]
        log = run_piece(self.engine, self.outside, before.log if before else (), near, unit)
        if log is None:
            if before is None and near.state is alone:
                return None
            return near.state._replace(workers=(None,))
        epoch = before.epoch if before else near.state.database.epoch_of(near.unit)
        place = Place(log, tuple(seen.key for seen in log), near.unit, epoch, sends=near.sends)
        return near.state._replace(workers=(place,))

    def _runs(self, state: State) -> Iterator[tuple[str, State]]:
        """Deliver the run of an item again, as the queue does once it takes its worker for dead."""
        database = state.database
        for place, item in enumerate(database.items):
            if item.held:
                items = (*database.items[:place], released(item, state.now), *database.items[place + 1 :])
                again = state._replace(database=replace(database, items=items))
                yield f"the run that has {item.id} is delivered again", again

    def _peer(self, state: State) -> Iterator[tuple[str, State]]:
        for place, request in enumerate(state.requests):
            if request.job is None:
                yield f"{request.operation.value} arrives at the peer", arrived(state, place)
        for machine in state.peer.machines:
            if machine.busy:
                yield f"what is at work on {machine.node} ends", state._replace(peer=state.peer.settle(machine.node))
        for job in state.peer.jobs:
            if not job.ended and not state.peer.machines:
                yield f"{job.job} ends", state._replace(peer=state.peer.end(job.job))

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
                changed = noticed(state)._replace(database=after, stopped=stopped, operator=verbs - {control.value})
                yield f"the operator {did} the action", changed
        if "hold" in verbs:
            database = noticed(state).database
            held = replace(database, holds=database.holds | {NodeName(self.scope.nodes[0])})
            yield "the operator holds n1", noticed(state)._replace(operator=verbs - {"hold"}, database=held)

    def _clocks(self, state: State) -> Iterator[tuple[str, State]]:
        """Set the clock of the database's host, and let the host of a worker read it."""
        clocks = state.clocks
        if CLOCK in state.faults:
            jumped = state._replace(clocks=clocks._replace(ahead=self.scope.clock), faults=state.faults - {CLOCK})
            yield f"the database's clock is set {self.scope.clock} s ahead", jumped
        for number, host in enumerate(clocks.hosts):
            if clocks.ahead != host.ahead:
                read = state._replace(clocks=clocks.read_by(number, state.clock))
                yield f"worker {number + 1}'s host reads the database's clock", read

    def _faults(self, state: State) -> Iterator[tuple[str, State]]:
        """Keep a copy of the database, or go on with it."""
        for what in sorted(state.faults & COPIED.keys()):
            rest = state._replace(faults=state.faults - {what})
            if what == BACK and STANDBY in state.faults:
                continue
            if state.copy is None:
                yield f"{COPIED[what]}", state._replace(copy=state.database, knows=frozenset())
                continue
            lost = cut(rest._replace(database=state.copy, copy=None, turns=frozenset()))
            if what == STANDBY:
                # What the old primary has stays, and may be used again.
                old = state.database if BACK in state.faults else None
                new = lost._replace(timeline=state.timeline + 1, copy=old, knows=frozenset())
                yield "the standby becomes the primary", new
            elif what == BACK:
                back = passed(lost._replace(ahead=state.knows, timeline=state.timeline - 1), SETTLE)
                yield f"the old primary is used again, {SETTLE} s later", back
            else:
                away = passed(lost._replace(ahead=state.knows), SETTLE)
                yield f"the database goes on from its copy, {SETTLE} s later", away

    def key(self, state: State) -> Hashable:
        if self._folds:
            return min(self._mirrored(state, 0), self._mirrored(state, 1))
        workers: list[tuple[Hashable, ...]] = []
        for number, place in enumerate(state.workers):
            known = marks(state, number)
            if place is not None:
                requests = tuple(keys_of(state, number))
                workers.append((known, self._newest(state, number, place), place.key, requests, number in state.cut))
            elif any(known):
                workers.append((known,))
        return (
            state.clock,
            state.database.key,
            state.database.last_line if self.scope.forgets else None,
            state.peer,
            tuple(sorted(workers, key=hash)) if len(workers) > 1 else tuple(workers),
            tuple(sorted(keys_of(state, None))),
            state.operator,
            state.faults,
            state.timeline,
            state.copy and (state.copy.key, state.copy.last_line),
            state.stopped,
            state.clocks.ahead,
            state.listing,
            state.problem,
        )

    @property
    def _folds(self) -> bool:
        """Whether nothing distinguishes the two nodes."""
        return self.scope.items and len(self.scope.nodes) > 1 and "hold" not in self.scope.operator

    def _mirrored(self, state: State, side: int) -> int:
        """Return what distinguishes a state, or its mirror image, from others."""
        workers = []
        for number, place in enumerate(state.workers):
            known = marks(state, number)
            if place is not None:
                requests = tuple(request_folds(key)[side] for key in keys_of(state, number))
                newest = self._newest(state, number, place)
                workers.append(hash((known, newest, place.folds[side], requests, number in state.cut)))
            elif any(known):
                workers.append(hash(known))
        late = sorted(request_folds(key)[side] for key in keys_of(state, None))
        of_site = (state.clock, state.operator, state.faults, state.timeline, state.stopped, state.problem)
        copy = state.copy and state.copy.folds[side]
        return hash((of_site, state.database.folds[side], state.peer.folds[side], *sorted(workers), *late, copy))

    @staticmethod
    def _newest(state: State, number: int, place: Place) -> tuple[bool, bool]:
        """Return whether a turn is not fenced, and whether it is the newest of its unit."""
        return place.epoch == state.database.epoch_of(place.unit), (place.unit, number) in state.turns

    def violated(self, state: State) -> Violated | None:
        if twice := state.peer.begun_twice:
            operation, node = twice
            return Violated("once", f"{operation.value} of {node} is begun twice")
        database = state.database
        if self.scope.retry and database.state is RunState.SUCCESS:
            for node, status in database.nodes:
                if status is NodeStatus.SUCCESS and not state.peer.is_deployed(node):
                    return Violated("deployed", f"the action has succeeded, and {node} is not deployed")
        if database.ended and database.lost_after is None:
            unknown = [job.job for job in state.peer.jobs if job.job not in database.jobs]
            if unknown:
                return Violated("known", f"the action has ended and does not know of {unknown[0]}")
        return state.problem

    def ended(self, state: State) -> bool:
        return state.database.ended

    def settled(self, state: State) -> State | None:
        """Let everything go well: requests arrive, jobs end, the operator unpauses, workers go on."""
        for _ in range(80):
            state = self._calm(state)
            if state.database.ended:
                return state
            moments = (state.database.wake_at, *(item.wake_at for item in state.database.items))
            wake_at = min(
                (moment for moment in moments if moment is not None and moment > state.now), default=state.now
            )
            state = passed(state, max(self.scope.tick, int((wake_at - state.now).total_seconds())))
        return None

    def _calm(self, state: State) -> State:
        for _ in range(60):
            before = state
            for place, request in enumerate(state.requests):
                if request.job is None:
                    state = arrived(state, place)
                    break
            for machine in state.peer.machines:
                state = state._replace(peer=state.peer.settle(machine.node))
            for job in state.peer.jobs:
                state = state._replace(peer=state.peer.end(job.job))
            database = controlled(state.database, Control.UNPAUSE, "operator", state.now)
            state = state._replace(database=database)
            state = next((after for _, after in self._runs(state) if not any(state.workers)), state)
            number = next((number for number, place in enumerate(state.workers) if place is not None), 0)
            state = next((after for _, after in self._wanted(state, number)), state)
            if state == before:
                return state
        return state

    def _wanted(self, state: State, number: int) -> Iterator[tuple[str, State]]:
        """Return what a worker does next: items that are due come before a turn of their action, which they wake."""
        due = any(item.wake_at is not None and item.wake_at <= state.now for item in state.database.items)
        for did, after in self.pieces(state, number):
            place = after.workers[number]
            if state.workers[number] is not None or not due or (place is not None and not place.unit.isdecimal()):
                yield did, after
