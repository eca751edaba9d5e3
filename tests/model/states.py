"""The state of the world of turns, a value, and what happens to it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from shipyard_api.domain.histories import HistoryIdentity, difference
from shipyard_api.storage.clock import Anchor, step_of
from tests.model.database import BEGAN, SKIPPED, Database, Turn
from tests.model.machines import Machines
from tests.model.peer import Peer, Request
from tests.model.pieces import Log
from tests.model.symmetry import Folds, folds

START = BEGAN
STANDBY, SNAPSHOT, BACK, CLOCK = "standby", "snapshot", "back to the old primary", "clock"
SETTLE = 4
_ZERO, _NONE, _NO_FAULTS = frozenset((0,)), frozenset[int](), frozenset[str]()
_NO_TURNS = frozenset[tuple[str, int]]()
_HOLD = frozenset({"hold"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What a world has in it. ``ticks``: how often the clock moves by ``tick`` seconds.

    ``operator``: what the operator does, each once at most. ``faults``: what goes wrong, each once at most, beside
    kills, freezes, lost requests and lost answers, which are always possible. ``lock``: seconds that a lock is waited
    for at most. ``window``: after so many seconds the maintenance window closes, for nodes that go one by one.
    ``fence``: turns that a later one has fenced, and that send nothing, are taken for ended. ``items``: the action
    destroys its nodes, each in a work item, instead of deploying them. ``retry``: the world begins after an action that
    was stopped once it had deployed its nodes; the operator may begin a new action, and retry each that has ended.
    ``clock``: seconds by which the clock of the database's host is set ahead, once; each worker has a host of its own.
    ``machines``: the peer has machines and no jobs; a listing of them serves every poll for 20 seconds.
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
    items: bool = False
    retry: bool = False
    clock: int = 0
    machines: bool = False

    @property
    def forgets(self) -> bool:
        """Whether the database may lose its last writes."""
        return bool(self.faults - {CLOCK})

    @property
    def seconds(self) -> int:
        """How long the world lasts."""
        return self.ticks * self.tick


class Place:
    """Where a worker is in a turn: what it has seen, the unit and the epoch of its turn, whether it may send something.

    ``seen``: what distinguishes the log from others. ``unit``: the number of an action, or an item.
    """

    __slots__ = ("_folds", "_hash", "epoch", "key", "log", "sends", "unit")

    def __init__(self, log: Log, seen: tuple[Hashable, ...], unit: str, epoch: int, *, sends: bool) -> None:
        self.log = log
        self.unit = unit
        self.epoch = epoch
        self.sends = sends
        self.key = (unit, sends, seen)
        self._hash = hash((self.key, epoch))
        self._folds: Folds | None = None

    @property
    def folds(self) -> Folds:
        """What distinguishes the place, and its mirror image."""
        if self._folds is None:
            self._folds = folds(self.key)
        return self._folds

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.epoch == other.epoch and self.key == other.key


class Violated(NamedTuple):
    """A property that a state violates, by its name, and how."""

    name: str
    what: str


class Host(NamedTuple):
    """When a host last read the database's clock, and by how many seconds the site's time is ahead there since then."""

    read: int = 0
    ahead: int = 0


class Listing(NamedTuple):
    """The machines of the peer, as it listed them at this time."""

    at: int
    machines: Machines


class Clocks(NamedTuple):
    """By how many seconds the database's clock is ahead of the site's time, and what each worker's host has read."""

    ahead: int = 0
    hosts: tuple[Host, ...] = ()

    def of(self, worker: int) -> int:
        """Return by how many seconds the site's time is ahead on the host of a worker."""
        return self.hosts[worker].ahead if self.hosts else 0

    def read_by(self, worker: int, clock: int) -> "Clocks":
        """Return the clocks after the host of a worker has read the database's: a step is subtracted from then on."""
        host = self.hosts[worker]
        others = [_at(other.read + other.ahead) for number, other in enumerate(self.hosts) if number != worker]
        anchor = Anchor(_at(host.read + host.ahead), float(host.read))
        step = step_of(_at(clock + self.ahead), float(clock), anchor, others)
        ahead = self.ahead - int(step.total_seconds())
        return Clocks(ahead, (*self.hosts[:worker], Host(clock, ahead), *self.hosts[worker + 1 :]))


def _at(clock: int) -> datetime:
    return START + timedelta(seconds=clock)


class State(NamedTuple):
    """Everything. ``cut``: workers whose connection to the database is gone. ``copy``: a database that was kept.

    ``turns``: who has the newest turn of each unit. ``knows``: workers whose process has seen more than the copy has;
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
    clocks: Clocks = Clocks()
    listing: Listing | None = None
    turns: frozenset[Turn] = frozenset()
    problem: Violated | None = None

    @property
    def now(self) -> datetime:
        """The time."""
        return _at(self.clock)


def marks(state: State, number: int) -> tuple[Hashable, ...]:
    """Return what distinguishes a worker's process, and its host, from new ones."""
    return number in state.knows, number in state.ahead, *state.clocks.hosts[number : number + 1]


def _only(numbers: frozenset[int], number: int) -> frozenset[int]:
    return _ZERO if number in numbers else _NONE


def alone_with(state: State, number: int) -> State:
    """Return what of a state concerns the next piece of one worker, which has the number 0 there."""
    mine = [request for request in state.requests if request.owner == number]
    return state._replace(
        workers=(state.workers[number],),
        requests=tuple(request._replace(owner=0) for request in mine) if mine else (),
        cut=_only(state.cut, number),
        knows=_only(state.knows, number),
        ahead=_only(state.ahead, number),
        turns=frozenset((unit, 0) for unit, worker in state.turns if worker == number) if state.turns else _NO_TURNS,
        operator=state.operator & _HOLD,
        faults=_NO_FAULTS,
        copy=state.database if state.copy else None,
        clocks=Clocks(hosts=(Host(ahead=state.clocks.of(number)),)) if state.clocks.hosts else state.clocks,
    )


def own_requests(state: State, number: int) -> tuple[Request, ...]:
    """Return the requests for whose answers a worker waits."""
    return tuple(request for request in state.requests if request.owner == number)


def _rows(state: State, number: int) -> Hashable:
    """Return what concerns a transaction of a worker."""
    own = (number in state.cut, number in state.knows, number in state.ahead, "hold" in state.operator)
    turns = frozenset(unit for unit, worker in state.turns if worker == number)
    return (state.database, state.timeline, own, turns, state.copy is not None, taken_epochs(state))


def taken_epochs(state: State) -> frozenset[Turn]:
    """Return the epochs that turns still name, by unit."""
    return frozenset((place.unit, place.epoch) for place in state.workers if place is not None)


PARTS: dict[str, Callable[[State, int], Hashable]] = {
    "clock": lambda state, number: (state.clock, state.clocks.of(number)),
    "rows": _rows,
    "peer": lambda state, _number: state.peer,
    "requests": lambda state, number: tuple(request[1:] for request in own_requests(state, number)),
    "listing": lambda state, _number: state.listing,
    "stopped": lambda state, _number: state.stopped,
}
"""What a piece may depend on: parts of a state as one worker meets them."""


Change = dict[str, Any]
"""The fields of a state that one worker has changed, which had the number 0 there."""


def change(alone: State, after: State) -> Change:
    """Return what a worker has changed."""
    pairs = zip(State._fields, alone, after, strict=True)
    return {name: new for name, old, new in pairs if new is not old}


def together(state: State, number: int, changed: Change, *, fence: bool) -> State:
    """Return the state after one worker has gone on by a piece."""
    values = dict(changed)
    if "workers" in values:
        values["workers"] = with_place(state.workers, number, values["workers"][0])
    if "requests" in values:
        others = (request for request in state.requests if request.owner != number)
        mine = (request._replace(owner=None if request.owner is None else number) for request in values["requests"])
        values["requests"] = (*others, *mine)
    if "cut" in values:
        values["cut"] = state.cut - {number}
    if "knows" in values:
        values["knows"] = state.knows | {number}
    if "turns" in values:
        values["turns"] = _turns(state, number, values["turns"])
    if "operator" in values:
        values["operator"] = state.operator - _HOLD
    after = state._replace(**values)
    if "workers" in values and values["workers"][number] is None:
        after = without(after, number)
    if "clock" in values:
        after = passed(after, 0)
    return only_what_counts(after) if fence else after


def _turns(state: State, number: int, own: frozenset[Turn]) -> frozenset[Turn]:
    units = {unit for unit, _ in own}
    others = ((unit, worker) for unit, worker in state.turns if worker != number and unit not in units)
    return frozenset((*others, *((unit, number) for unit in units)))


@lru_cache
def _differs(*timelines: int) -> str:
    before, now = (HistoryIdentity(1, timeline, 1, 1) for timeline in timelines)
    return difference(before, now)


def noticed(state: State, worker: int | None = None) -> State:
    """Return the state after a new connection has looked whether the database tells another history.

    It compares the server's timeline with the newest stored one, and a worker its own memory with what the server has.
    """
    database = state.database
    if not _differs(database.timeline, state.timeline) and worker not in state.ahead:
        return state
    values: dict[str, Any] = {"timeline": state.timeline, "epoch": database.epoch + SKIPPED, "noticed": None}
    values["items"] = tuple(
        item if item.ended else replace(item, epoch=item.epoch + SKIPPED) for item in database.items
    )
    lost_after = database.lost_after or database.last_line or database.created_at
    return state._replace(database=replace(database, lost_after=lost_after, **values), ahead=_NONE)


def cut(state: State) -> State:
    """Return the state after every connection to the database has ended."""
    busy = frozenset(number for number, place in enumerate(state.workers) if place is not None)
    return state._replace(cut=busy)


def passed(state: State, seconds: int) -> State:
    """Return the state after this time; a peer without marks never gets what was under way for half of settle."""
    after = state._replace(clock=state.clock + seconds) if seconds else state
    if state.peer.marks or not state.requests:
        return after
    late = after.now - timedelta(seconds=SETTLE / 2)
    requests = tuple(request for request in state.requests if request.job or request.left > late)
    return after if len(requests) == len(state.requests) else after._replace(requests=requests)


def arrived(state: State, place: int) -> State:
    """Return the state after a request has arrived; the answer to a worker that is gone is gone too."""
    request = state.requests[place]
    peer, job = state.peer.accept(request, state.now)
    answered = () if request.owner is None else (request._replace(job=job),)
    return state._replace(peer=peer, requests=(*state.requests[:place], *answered, *state.requests[place + 1 :]))


def without_owner(state: State, worker: int) -> State:
    """Return the state after a worker has stopped waiting for its request, which goes on if it has not arrived."""
    if not state.requests:
        return state
    requests = (
        request._replace(owner=None) if request.owner == worker else request
        for request in state.requests
        if request.owner != worker or request.job is None
    )
    return state._replace(requests=tuple(requests))


def with_place(workers: tuple[Place | None, ...], number: int, place: Place | None) -> tuple[Place | None, ...]:
    """Return the workers with another place of one."""
    return (*workers[:number], place, *workers[number + 1 :])


def without(state: State, worker: int) -> State:
    """Return the state after a worker has left its turn, however that was."""
    state = without_owner(state, worker)
    return state._replace(workers=with_place(state.workers, worker, None), cut=state.cut - {worker})


def only_what_counts(state: State) -> State:
    """Return the state without the turns that a later turn has fenced and that send nothing: all they can do is end."""
    for number, place in enumerate(state.workers):
        if place is not None and place.epoch != state.database.epoch_of(place.unit) and not place.sends:
            state = without(state, number)
    return state


RequestKey = tuple[Any, ...]


def request_key(request: Request) -> RequestKey:
    """Return what distinguishes a request, whoever waits for it."""
    return (request.marker, request.operation.value, request.nodes, request.left, request.job or "", request.action)


@lru_cache(maxsize=100_000)
def request_folds(key: RequestKey) -> Folds:
    """Return what distinguishes a request, and its mirror image; its marker follows from the rest."""
    return folds(key[1:])


def keys_of(state: State, owner: int | None) -> list[RequestKey]:
    """Return what distinguishes the requests of a worker, or those for whose answers nobody waits."""
    return [request_key(request) for request in state.requests if request.owner == owner]
