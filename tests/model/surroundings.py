"""The world as one piece of one worker meets it: the database, the clock and the peer."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Capabilities, EarlierWork, JobId, JobReport, Marker, Work
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from tests.model import machines
from tests.model.database import Rows, Turn
from tests.model.machines import LISTED_FOR, Machine, Machines, machine_of
from tests.model.peer import Peer, Request
from tests.model.pieces import Choices, Outside
from tests.model.states import SETTLE, START, Listing, Scope, State, Violated, noticed, passed, without_owner


class Surroundings:
    """The world as one piece of one worker meets it; ``state`` is the world afterwards.

    ``taken``: the epochs that a new turn may not have; None: each has the next one. ``touched``: the parts of the state
    on which the piece depends.
    """

    FENCED = Fenced

    def __init__(
        self, state: State, worker: int, choices: Choices, scope: Scope, taken: frozenset[Turn] | None
    ) -> None:
        self.state = state
        self.worker = worker
        self.did = ""
        self.sends = False
        place = state.workers[worker]
        self.unit = place.unit if place else str(state.database.number)
        self.touched: set[str] = set()
        self._choices = choices
        self._scope = scope
        self._taken = taken
        self._before = state.database

    def now(self) -> datetime:
        self.touched.add("clock")
        return self.state.now + timedelta(seconds=self.state.clocks.of(self.worker))

    def monotonic(self) -> float:
        self.touched.add("clock")
        return float(self.state.clock)

    # The database.

    def begin(self) -> Rows:
        self.touched |= {"rows", "clock"}
        if self.worker in self.state.cut:
            self.state = self.state._replace(cut=self.state.cut - {self.worker})
            self.did = "finds its connection to the database gone"
            raise StoreUnavailable("the connection is gone")
        self.state = noticed(self.state, self.worker)
        self._before = self.state.database
        rows = Rows(self.state.database, self.now(), self._wait, self._taken)
        rows.choose = lambda among: self._choices.choose(among) if among > 1 else 0
        self._rows = rows
        return rows

    def _wait(self) -> None:
        """Wait for the lock of the holds: not at all, for long, or behind an operator who places one."""
        if not self._scope.lock:
            return
        holds = "hold" in self.state.operator
        choice = self._choices.choose(3 if holds else 2)
        if choice:
            self.touched.add("requests")
            self.state = passed(self.state, self._scope.lock)
            self.did += f", having waited {self._scope.lock} s for a lock"
        if choice == 2:
            self.state = self.state._replace(operator=self.state.operator - {"hold"})
            self._rows.with_hold(self._held)
            self.did += f" behind a hold of {self._held}"

    @property
    def _held(self) -> NodeName:
        return NodeName(self._scope.nodes[0])

    def commit(self, rows: Rows) -> bool:
        if rows.now_is == self._before and rows.claimed is None:
            return False
        self.unit = rows.claimed if rows.claimed is not None else self.unit
        database = rows.now_is if self._scope.forgets else replace(rows.now_is, last_line=None)
        self.sends = bool(rows.permitted)
        self.state = self.state._replace(database=database)
        self.did = f"commits: {', '.join(rows.did)}{self.did}"
        if rows.claimed is not None:
            knows = self.state.knows | {self.worker} if self.state.copy else self.state.knows
            others = (turn for turn in self.state.turns if turn[0] != rows.claimed)
            self.state = self.state._replace(turns=frozenset((*others, (rows.claimed, self.worker))), knows=knows)
        elif any((unit, self.worker) not in self.state.turns for unit in rows.written):
            self._violated("fence", "a turn writes although a later one has begun")
        if held := sorted(database.holds.intersection(rows.permitted)):
            self._violated("hold", f"work begins on {held[0]}, which is held")
        return True

    # The peer.

    def leave(self, marker: Marker, work: Work) -> tuple[Hashable, None]:
        state = self.state
        self.touched |= {"clock", "requests", "stopped"}
        request = Request(self.worker, marker, work.operation, tuple(work.nodes or ()), state.now, None, self._action)
        self.state = state._replace(requests=(*state.requests, request))
        self.did = f"sends {work.operation.value} of {', '.join(request.nodes)}"
        if state.stopped is not None and state.clock > state.stopped + SETTLE:
            self._violated("stop", f"{work.operation.value} leaves {state.clock - state.stopped} s after the stop")
        closed = self._scope.window
        if closed and state.clock > closed + SETTLE / 2 and not self._begun.issuperset(request.nodes):
            self._violated("window", f"{request.nodes[0]} begins {state.clock - closed} s after the window has closed")
        return "left", None

    @property
    def _action(self) -> int:
        return int(self.unit) if self.unit.isdecimal() else 0

    @property
    def _peer(self) -> Peer:
        self.touched.add("peer")
        return self.state.peer

    @property
    def _begun(self) -> frozenset[NodeName]:
        return frozenset(node for job in self._peer.jobs for node in job.nodes)

    def answer(self) -> tuple[Hashable, JobId | Unavailable]:
        self.touched.add("requests")
        request = next((request for request in self.state.requests if request.owner == self.worker), None)
        self._give_up_request()
        if request is not None and request.job is not None and self._choices.choose(2) == 0:
            self.did = f"gets the answer {request.job}"
            return request.job, request.job
        self.did = "gets no answer"
        return "no answer", Unavailable("Peer", "submit", "no answer")

    def find(self, marker: Marker, work: Work, since: datetime, known: Collection[JobId]) -> tuple[Hashable, Any]:
        request = Request(None, marker, work.operation, tuple(work.nodes or ()), START)
        job = self._peer.find(request, since, frozenset(known))
        self.did = f"looks for {work.operation.value}: {job or 'nothing'}"
        return job, job

    def earlier(self, work: Work, since: datetime, known: Collection[JobId]) -> tuple[Hashable, list[EarlierWork]]:
        jobs = self._peer.earlier(work.nodes or (), since, frozenset(known))
        self.did = f"lists earlier work: {', '.join(job.job for job in jobs) or 'none'}"
        return tuple(job.job for job in jobs), jobs

    def report(self, jobs: Mapping[JobId, Work]) -> tuple[Hashable, dict[JobId, JobReport]]:
        reports = {job: self._peer.report(job) for job in jobs}
        self.did = f"polls: {', '.join(f'{job} {report.state.value}' for job, report in reports.items())}"
        return tuple((job, report.state.value) for job, report in reports.items()), reports

    def list_machines(self, jobs: Collection[JobId]) -> tuple[Hashable, Machines | None]:
        """Return the machines as the peer lists them, or as it listed them up to 20 s ago; None if it knows no job."""
        self.touched |= {"clock", "listing"}
        if not {job.job for job in self._peer.jobs}.issuperset(jobs):
            self.did = "polls: lost"
            return None, None
        kept = self.state.listing
        if kept is not None and self.state.clock - kept.at <= LISTED_FOR and self._choices.choose(2):
            self.did = f"polls by a listing that is {self.state.clock - kept.at} s old"
            return kept.machines, kept.machines
        machines = self._peer.machines
        self.state = self.state._replace(listing=Listing(self.state.clock, machines))
        self.did = "lists the machines"
        return machines, machines

    def advance(self, job: JobId, listed: Machine) -> tuple[Hashable, bool]:
        """Begin the work of a job on a machine if that has not begun; return whether it is done."""
        node = listed.node
        machine = machine_of(self._peer.machines, node)
        if job in machine.begun:
            self.did = f"reads {node}: {'busy' if machine.busy else 'done'}"
            return machine.busy, not machine.busy
        self.state = self.state._replace(peer=self._peer.begin(job, node))
        self.did = f"begins {job} on {node}"
        return "begun", False

    def _give_up_request(self) -> None:
        self.state = without_owner(self.state, self.worker)

    def _violated(self, name: str, what: str) -> None:
        self.state = self.state._replace(problem=self.state.problem or Violated(name, what))


class ModelProvisioner:
    """Fills the port of the engine's step with the peer of the world."""

    name = "Peer"

    def __init__(self, outside: Outside, scope: Scope) -> None:
        self._outside = outside
        self._machines = scope.machines
        self.capabilities = Capabilities(marks=scope.marks, selects=True)

    @property
    def _near(self) -> Any:
        return self._outside.piece.surroundings  # type: ignore[union-attr]

    def design_reference(self, revision: int) -> str:
        return f"design:{revision}"

    def submit(self, marker: Marker, work: Work) -> JobId:
        self._outside.ask(lambda: self._near.leave(marker, work))
        job: JobId = self._outside.ask(lambda: self._near.answer())
        return job

    def find(self, marker: Marker, work: Work, *, intended_at: datetime, known: Collection[JobId] = ()) -> JobId | None:
        job: JobId | None = self._outside.ask(lambda: self._near.find(marker, work, intended_at, known))
        return job

    def earlier_work(
        self, marker: Marker, work: Work, *, since: datetime, known: Collection[JobId] = ()
    ) -> list[EarlierWork]:
        jobs: list[EarlierWork] = self._outside.ask(lambda: self._near.earlier(work, since, known))
        return jobs

    def reports(self, jobs: Mapping[JobId, Work]) -> Mapping[JobId, JobReport]:
        if self._machines:
            return machines.reports(self._outside.ask, lambda: self._near, jobs)
        reports: Mapping[JobId, JobReport] = self._outside.ask(lambda: self._near.report(jobs))
        return reports

    def report(self, job: JobId, work: Work) -> JobReport:
        return self.reports({job: work})[job]
