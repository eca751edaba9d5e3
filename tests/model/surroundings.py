"""The world as one piece of one worker meets it: the database, the clock and the peer."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Capabilities, EarlierWork, JobId, JobReport, Marker, Work
from shipyard_api.ports.state.errors import Fenced, StoreUnavailable
from tests.model.database import Rows
from tests.model.peer import Request
from tests.model.pieces import Choices, Outside
from tests.model.states import SETTLE, Scope, State, noticed, passed, without_owner


class Surroundings:
    """The world as one piece of one worker meets it; ``state`` is the world afterwards."""

    FENCED = Fenced

    def __init__(self, state: State, worker: int, choices: Choices, scope: Scope) -> None:
        self.state = state
        self.worker = worker
        self.did = ""
        self.sends = False
        self._choices = choices
        self._scope = scope
        self._before = state.database

    def now(self) -> datetime:
        return self.state.now

    def monotonic(self) -> float:
        return float(self.state.clock)

    # The database.

    def begin(self) -> Rows:
        if self.worker in self.state.cut:
            self.state = replace(self.state, cut=self.state.cut - {self.worker})
            self.did = "finds its connection to the database gone"
            raise StoreUnavailable("the connection is gone")
        self.state = noticed(self.state, self.worker)
        self._before = self.state.database
        rows = Rows(self.state.database, self.state.now, self._wait)
        self._rows = rows
        return rows

    def _wait(self) -> None:
        """Wait for the lock of the holds: not at all, for long, or behind an operator who places one."""
        if not self._scope.lock:
            return
        holds = "hold" in self.state.operator
        choice = self._choices.choose(3 if holds else 2)
        if choice:
            self.state = passed(self.state, self._scope.lock)
            self.did += f", having waited {self._scope.lock} s for a lock"
        if choice == 2:
            self.state = replace(self.state, operator=self.state.operator - {"hold"})
            self._rows.with_hold(self._held)
            self.did += f" behind a hold of {self._held}"

    @property
    def _held(self) -> NodeName:
        return NodeName(self._scope.nodes[0])

    def commit(self, rows: Rows) -> bool:
        if rows.now_is == self._before:
            return False
        database = rows.now_is
        self.sends = bool(rows.permitted)
        self.state = replace(self.state, database=database)
        self.did = f"commits: {', '.join(rows.did)}{self.did}"
        if rows.claimed:
            knows = self.state.knows | {self.worker} if self.state.copy else self.state.knows
            self.state = replace(self.state, turn_of=self.worker, knows=knows)
        elif self.state.turn_of != self.worker:
            self._violated("a turn writes although a later one has begun")
        if held := sorted(database.holds.intersection(rows.permitted)):
            self._violated(f"work begins on {held[0]}, which is held")
        return True

    # The peer.

    def leave(self, marker: Marker, work: Work) -> tuple[Hashable, None]:
        state = self.state
        request = Request(self.worker, marker, work.operation, tuple(work.nodes or ()), state.now)
        self.state = replace(state, requests=(*state.requests, request))
        self.did = f"sends {work.operation.value} of {', '.join(request.nodes)}"
        if state.stopped is not None and state.clock > state.stopped + SETTLE:
            self._violated(f"{work.operation.value} leaves {state.clock - state.stopped} s after the stop")
        begun = {node for job in state.peer.jobs for node in job.nodes}
        closed = self._scope.window
        if closed and state.clock > closed + SETTLE / 2 and not begun.issuperset(request.nodes):
            self._violated(f"{request.nodes[0]} begins {state.clock - closed} s after the window has closed")
        return "left", None

    def answer(self) -> tuple[Hashable, JobId | Unavailable]:
        request = next((request for request in self.state.requests if request.owner == self.worker), None)
        self._give_up_request()
        if request is not None and request.job is not None and self._choices.choose(2) == 0:
            self.did = f"gets the answer {request.job}"
            return request.job, request.job
        self.did = "gets no answer"
        return "no answer", Unavailable("Peer", "submit", "no answer")

    def find(self, marker: Marker, work: Work, since: datetime, known: Collection[JobId]) -> tuple[Hashable, Any]:
        request = Request(None, marker, work.operation, tuple(work.nodes or ()), self.state.now)
        job = self.state.peer.find(request, since, frozenset(known))
        self.did = f"looks for {work.operation.value}: {job or 'nothing'}"
        return job, job

    def earlier(self, work: Work, since: datetime, known: Collection[JobId]) -> tuple[Hashable, list[EarlierWork]]:
        jobs = self.state.peer.earlier(work.operation, since, frozenset(known))
        self.did = f"lists earlier work: {', '.join(job.job for job in jobs) or 'none'}"
        return tuple(job.job for job in jobs), jobs

    def report(self, jobs: Mapping[JobId, Work]) -> tuple[Hashable, dict[JobId, JobReport]]:
        reports = {job: self.state.peer.report(job) for job in jobs}
        self.did = f"polls: {', '.join(f'{job} {report.state.value}' for job, report in reports.items())}"
        return tuple((job, report.state.value) for job, report in reports.items()), reports

    def _give_up_request(self) -> None:
        self.state = without_owner(self.state, self.worker)

    def _violated(self, what: str) -> None:
        self.state = replace(self.state, problem=self.state.problem or what)


class ModelProvisioner:
    """Fills the port of the engine's step with the peer of the world."""

    name = "Peer"

    def __init__(self, outside: Outside, *, marks: bool) -> None:
        self._outside = outside
        self.capabilities = Capabilities(marks=marks, selects=True)

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
        reports: Mapping[JobId, JobReport] = self._outside.ask(lambda: self._near.report(jobs))
        return reports
