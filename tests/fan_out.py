"""A step that fans out, a peer that it works on, and a world to run both in: what proves work items before a feature.

Each item submits one job and polls it until it has ended. The second wave of items begins when the first has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Never

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.items import EndedItem, ItemId, ItemState, NewItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_api.ports.provisioner import Marker, Operation
from shipyard_api.storage import tables
from shipyard_api.storage.unit_of_work import connect
from shipyard_api.workflow.definition import Definition, fixed
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, ItemKind, Json, Look, PeerFailure, Step
from tests.fakes.clock import FakeClock
from tests.one_action import FIRST, OneAction
from tests.world import Checkpoints, Watched

STEP = StepId("sample.fan_out")


@dataclass
class Peer:
    """Accepts jobs. ``failing``: targets whose job fails; ``polls``: how often a job is reported as running.

    ``log`` is every accepted submission, ``broken`` are errors for the next calls, before or (True) after their effect.
    """

    failing: frozenset[str] = frozenset()
    polls: int = 1
    log: list[tuple[str, str]] = field(default_factory=list)
    broken: dict[str, list[tuple[PeerError, bool]]] = field(default_factory=dict)
    polled: dict[str, int] = field(default_factory=dict)

    def submit(self, marker: str, target: str) -> str:
        error = self._error("submit")
        if error is not None and not error[1]:
            raise error[0]
        self.log.append((marker, target))
        if error is not None:
            raise error[0]
        return f"job-{len(self.log)}"

    def find(self, marker: str) -> str | None:
        self._raise("find")
        return next((f"job-{number}" for number, (one, _) in enumerate(self.log, 1) if one == marker), None)

    def poll(self, job: str) -> str:
        self._raise("poll")
        seen = self.polled[job] = self.polled.get(job, 0) + 1
        if seen <= self.polls:
            return "running"
        return "failed" if self.log[int(job.removeprefix("job-")) - 1][1] in self.failing else "success"

    def _raise(self, method: str) -> None:
        if (error := self._error(method)) is not None:
            raise error[0]

    def _error(self, method: str) -> tuple[PeerError, bool] | None:
        errors = self.broken.get(method)
        return errors.pop(0) if errors else None

    def break_next(self, method: str, *, after: bool) -> None:
        self.broken.setdefault(method, []).append((Unavailable("Peer", method, "broken on purpose"), after))


@dataclass(frozen=True)
class SampleState:
    target: str
    job: str | None = None
    ended: str | None = None

    def to_json(self) -> Json:
        return {"v": 1, "target": self.target, "job": self.job, "ended": self.ended}


@dataclass(frozen=True)
class Start:
    target: str

    def to_json(self) -> Json:
        return {"target": self.target}


@dataclass(frozen=True)
class Started:
    job: str


@dataclass(frozen=True)
class Polled:
    state: str


@dataclass(frozen=True)
class SampleItem(ItemKind[SampleState, str, Start, Started | Polled]):
    """One job for one target."""

    peer: Any

    def begin(self, task: Json) -> SampleState:
        return SampleState(task["target"])

    def load_state(self, stored: Json) -> SampleState:
        return SampleState(stored["target"], stored["job"], stored["ended"])

    def load_effect(self, stored: Json) -> Start:
        return Start(stored["target"])

    def decide(self, state: SampleState, now: datetime) -> Act[Start] | Look[str] | Done | Failed:
        if state.ended == "success":
            return Done(state.target)
        if state.ended is not None:
            return Failed(state.ended)
        return Look(state.job) if state.job else Act(Start(state.target), now + timedelta(seconds=300))

    def touches(self, effect: Start) -> tuple[NodeName, ...]:
        return (NodeName(effect.target),)

    def watch(self, state: SampleState, now: datetime) -> Look[str] | None:
        return Look(state.job) if state.job else None

    def perform(self, effect: Start, marker: Marker) -> Started:
        return Started(self.peer.submit(marker, effect.target))

    def find(self, effect: Start, marker: Marker, since: datetime, answers: JobAnswers) -> Started | None:
        job = self.peer.find(marker)
        return Started(job) if job else None

    def ask(self, question: str) -> Polled:
        return Polled(self.peer.poll(question))

    def fold(
        self, state: SampleState, asked: str | Start, report: Started | Polled | PeerFailure, now: datetime
    ) -> Folded[SampleState]:
        match report:
            case Started(job):
                return Folded(replace(state, job=job))
            case Polled("running"):
                return Folded(state, wait_until=now + timedelta(seconds=5), watch_at=now + timedelta(seconds=5))
            case Polled(ended):
                return Folded(replace(state, ended=ended))
            case PeerFailure(detail) if isinstance(asked, Start):
                return Folded(replace(state, ended=detail))
            case PeerFailure():
                return Folded(state, wait_until=now + timedelta(seconds=5))

    def leave(self, state: SampleState, why: str) -> tuple[Fact, ...]:
        if state.job is None:
            return ()
        nodes = (NodeName(state.target),)
        return (WorkLeftBehind(Operation.DEPLOY_NODES.value, state.job, "sample://", nodes, why),)


@dataclass(frozen=True)
class FanOutState:
    waves: tuple[tuple[str, ...], ...]
    kept: tuple[str, ...] = ()
    open: int = 0
    outcomes: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> Json:
        return {
            "v": 1,
            "waves": [list(wave) for wave in self.waves],
            "kept": list(self.kept),
            "open": self.open,
            "outcomes": [list(one) for one in self.outcomes],
        }


@dataclass(frozen=True)
class FanOut(Step[FanOutState, Never, Never, Never]):
    """One item for each target of each wave; fails if an item failed."""

    item_kind: SampleItem
    id: StepId = STEP
    always: bool = False

    def begin(self, inputs: Json) -> FanOutState:
        return FanOutState(tuple(map(tuple, inputs["waves"])), tuple(inputs.get("kept_items", {}).get(self.id, ())))

    def load_state(self, stored: Json) -> FanOutState:
        waves, outcomes = tuple(map(tuple, stored["waves"])), tuple((one, how) for one, how in stored["outcomes"])
        return FanOutState(waves, tuple(stored["kept"]), stored["open"], outcomes)

    def decide(self, state: FanOutState, now: datetime) -> Gather | Done | Failed:
        if state.open or state.waves:
            return Gather()
        failed = [target for target, outcome in state.outcomes if outcome != ItemState.SUCCESS.value]
        return Failed(f"failed: {', '.join(sorted(failed))}") if failed else Done("all done")

    def fold(self, state: FanOutState, asked: Never, report: PeerFailure, now: datetime) -> Folded[FanOutState]:
        raise AssertionError("nothing is asked")

    def gather(self, state: FanOutState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[FanOutState]:
        outcomes = (*state.outcomes, *((one.id, one.outcome.value) for one in ended))
        state = replace(state, open=state.open - len(ended), outcomes=outcomes)
        if state.open or not state.waves:
            return Folded(state)
        wave, *later = state.waves
        new = tuple(NewItem(ItemId(target), {"target": target}) for target in wave if target not in state.kept)
        return Folded(replace(state, waves=tuple(later), open=len(new)), items=new)


@dataclass
class ItemWorld(OneAction):
    """An action whose only step fans out, in process: a real Postgres, a peer in memory, a clock that tests move."""

    name: ClassVar = ActionName("test_site")
    url: str
    waves: tuple[tuple[str, ...], ...] = (("a", "b"), ("c",))
    inputs: dict[str, Any] = field(default_factory=dict)
    action: ActionId = FIRST
    peer: Peer = field(default_factory=Peer)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.engine = connect(self.url, pool_size=3)
        self.create(self.action, self.inputs)

    def create(self, action: ActionId, inputs: dict[str, Any], steps: Sequence[StepId] = (STEP,)) -> None:
        self.queue(action, {"v": 1, "waves": self.waves, **inputs}, steps, exclusive=False)

    def definition(self, points: Checkpoints, store: Any) -> Definition:
        return Definition(self.name, fixed(FanOut(SampleItem(Watched(self.peer, points)))))

    def ending(self) -> Any:
        """How everything ended; nothing may have been submitted twice."""
        targets = [target for _, target in self.peer.log]
        assert len(targets) == len(set(targets)), f"submitted twice: {self.peer.log}"
        items = tables.work_items.c
        with self.engine.connect() as connection:
            query = sa.select(items.id, items.state, items.detail, items.gathered)
            query = query.where(items.action_id == self.action).order_by(items.id)
            rows = [tuple(row) for row in connection.execute(query)]
        with self.store().begin() as tx:
            steps = [(step.id, step.state, step.detail) for step in tx.actions.steps([self.action])[self.action]]
        return self.state(), steps, rows, sorted(targets)
