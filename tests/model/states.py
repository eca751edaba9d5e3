"""The state of the world of turns, a value, and what happens to it."""

import json
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from shipyard_api.domain.histories import HistoryIdentity, difference
from tests.model.database import BEGAN, SKIPPED, Database, stored
from tests.model.peer import Peer, Request
from tests.model.pieces import Log

START = BEGAN
SETTLE = 4


@dataclass(frozen=True, slots=True)
class Scope:
    """What a world has in it. ``ticks``: how often the clock moves by ``tick`` seconds.

    ``operator``: what the operator does, each once at most. ``faults``: what goes wrong, each once at most, beside
    kills, freezes, lost requests and lost answers, which are always possible. ``lock``: seconds that a lock is waited
    for at most. ``window``: after so many seconds the maintenance window closes, for nodes that go one by one.
    ``fence``: turns that a later one has fenced, and that send nothing, are taken for ended.
    """

    name: str
    marks: bool = False
    workers: int = 2
    nodes: tuple[str, ...] = ("n1",)
    ticks: int = 5
    tick: int = 2
    operator: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    lock: int = 0
    window: int = 0
    fence: bool = True

    @property
    def seconds(self) -> int:
        """How long the world lasts."""
        return self.ticks * self.tick


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker is in a turn: what it has seen, the epoch of its turn, whether it may send something next.

    ``seen``: what distinguishes the log from others.
    """

    log: Log = field(compare=False, repr=False)
    seen: tuple[Hashable, ...]
    epoch: int
    sends: bool


@dataclass(frozen=True, slots=True)
class State:
    """Everything. ``cut``: workers whose connection to the database is gone. ``copy``: a database that was kept.

    ``turn_of``: the worker with the newest turn. ``knows``: workers whose process has seen more than the copy has;
    ``ahead``: those that have seen more than the database has now.
    """

    clock: int
    database: Database
    peer: Peer
    workers: tuple[Place | None, ...]
    requests: tuple[Request, ...] = ()
    cut: frozenset[int] = frozenset()
    operator: frozenset[str] = frozenset()
    faults: frozenset[str] = frozenset()
    timeline: int = 1
    copy: Database | None = None
    knows: frozenset[int] = frozenset()
    ahead: frozenset[int] = frozenset()
    stopped: int | None = None
    turn_of: int | None = None
    problem: str = ""

    @property
    def now(self) -> datetime:
        """The time."""
        return START + timedelta(seconds=self.clock)


def marks(state: State, number: int) -> tuple[bool, ...]:
    """Return what distinguishes a worker's process from a new one."""
    return number in state.knows, number in state.ahead


def _only(numbers: frozenset[int], number: int) -> frozenset[int]:
    return frozenset((0,)) if number in numbers else frozenset()


def _again(numbers: frozenset[int], number: int, after: frozenset[int]) -> frozenset[int]:
    return numbers | {number} if 0 in after else numbers - {number}


def alone_with(state: State, number: int) -> State:
    """Return what of a state concerns the next piece of one worker, which has the number 0 there."""
    return replace(
        state,
        workers=(state.workers[number],),
        requests=tuple(replace(request, owner=0) for request in state.requests if request.owner == number),
        cut=_only(state.cut, number),
        knows=_only(state.knows, number),
        ahead=_only(state.ahead, number),
        turn_of=0 if state.turn_of == number else None,
        operator=state.operator & {"hold"},
        faults=frozenset(),
        copy=state.database if state.copy else None,
    )


def together(state: State, number: int, alone: State, *, fence: bool) -> State:
    """Return the state after one worker has gone on by a piece."""
    others = tuple(request for request in state.requests if request.owner != number)
    mine = tuple(replace(request, owner=number if request.owner == 0 else None) for request in alone.requests)
    after = replace(
        alone,
        workers=with_place(state.workers, number, alone.workers[0]),
        requests=(*others, *mine),
        cut=_again(state.cut, number, alone.cut),
        knows=_again(state.knows, number, alone.knows),
        # One process that notices a loss does so for all.
        ahead=frozenset() if number in state.ahead and 0 not in alone.ahead else state.ahead,
        turn_of=number if alone.turn_of == 0 else state.turn_of,
        operator=(state.operator - {"hold"}) | alone.operator,
        faults=state.faults,
        copy=state.copy,
    )
    after = passed(after, 0)
    return only_what_counts(after) if fence else after


def noticed(state: State, worker: int | None = None) -> State:
    """Return the state after a new connection has looked whether the database tells another history.

    It compares the server's timeline with the newest stored one, and a worker its own memory with what the server has.
    """
    database = state.database
    before, now = (HistoryIdentity(1, timeline, 1, 1) for timeline in (database.timeline, state.timeline))
    if not difference(before, now) and worker not in state.ahead:
        return state
    values: dict[str, Any] = {"timeline": state.timeline, "epoch": database.epoch + SKIPPED, "noticed": None}
    lost_after = database.lost_after or database.last_line or database.created_at
    return replace(state, database=replace(database, lost_after=lost_after, **values), ahead=frozenset())


def cut(state: State) -> State:
    """Return the state after every connection to the database has ended."""
    busy = frozenset(number for number, place in enumerate(state.workers) if place is not None)
    return replace(state, cut=busy)


def passed(state: State, seconds: int) -> State:
    """Return the state after this time; a peer without marks never gets what was under way for half of settle."""
    after = replace(state, clock=state.clock + seconds)
    if state.peer.marks:
        return after
    late = after.now - timedelta(seconds=SETTLE / 2)
    return replace(after, requests=tuple(request for request in state.requests if request.job or request.left > late))


def arrived(state: State, place: int) -> State:
    """Return the state after a request has arrived; the answer to a worker that is gone is gone too."""
    request = state.requests[place]
    peer, job = state.peer.accept(request, state.now)
    answered = () if request.owner is None else (replace(request, job=job),)
    return replace(state, peer=peer, requests=(*state.requests[:place], *answered, *state.requests[place + 1 :]))


def without_owner(state: State, worker: int) -> State:
    """Return the state after a worker has stopped waiting for its request, which goes on if it has not arrived."""
    requests = (
        replace(request, owner=None) if request.owner == worker else request
        for request in state.requests
        if request.owner != worker or request.job is None
    )
    return replace(state, requests=tuple(requests))


def with_place(workers: tuple[Place | None, ...], number: int, place: Place | None) -> tuple[Place | None, ...]:
    """Return the workers with another place of one."""
    return (*workers[:number], place, *workers[number + 1 :])


def without(state: State, worker: int) -> State:
    """Return the state after a worker has left its turn, however that was."""
    state = without_owner(state, worker)
    return replace(state, workers=with_place(state.workers, worker, None), cut=state.cut - {worker})


def only_what_counts(state: State) -> State:
    """Return the state without the turns that a later turn has fenced and that send nothing: all they can do is end."""
    for number, place in enumerate(state.workers):
        if place is not None and place.epoch != state.database.epoch and not place.sends:
            state = without(state, number)
    return state


def request_key(request: Request) -> tuple[Any, ...]:
    return (request.marker, request.operation.value, request.nodes, request.left, request.job or "")


def intent_key(intent: str | None) -> str | None:
    """Return what distinguishes an intent: of its attempts, whether there was more than one."""
    if intent is None:
        return None
    value = json.loads(intent)
    return stored({**value, "attempts": min(value["attempts"], 2)})
