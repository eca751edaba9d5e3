"""What a step of an action is: pure decisions and folds, and one place that touches the world.

A step never sleeps and never loops. The engine calls ``decide``; it brings the effect about (``perform``, after a
crash ``find``) or answers the question (``ask``); it passes the report to ``fold``. States and effects are stored as
JSON with a version, so that a step resumes after a crash, on another host, in the next release.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import Hold, NodeWork, by_node
from shipyard_api.domain.items import EndedItem, NewItem
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, JobAnswers
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.errors import Busy, PeerError, Refused, Undecided
from shipyard_api.ports.provisioner import Marker

Json = JsonObject
"""A stored value; a state holds its version under ``v``.

A text under ``fixed`` of a state is written only when it changes, not with every other change of the state.
"""


Inputs = Any
"""What an action works from, as its definition reads it."""


class Stored(Protocol):
    """A value that is stored as JSON."""

    def to_json(self) -> Json:
        """Return the stored form."""


State = TypeVar("State", bound=Stored)
Question = TypeVar("Question")
Effect = TypeVar("Effect", bound=Stored)
Report = TypeVar("Report")


class Act(Struct, Generic[Effect], frozen=True):
    """Change the world. The engine writes the intent first, under a marker, so that a crash loses and repeats nothing.

    After ``give_up_at`` an effect whose outcome stays unknown is folded as ``PeerFailure`` and not retried any more.
    ``repeatable``: it reads first and continues from there, so repeating or dropping it is harmless. A crash
    is then followed by a repetition at once, and a stop does not wait for its outcome.
    """

    effect: Effect
    give_up_at: datetime
    repeatable: bool = False


class Look(Struct, Generic[Question], frozen=True):
    """Read from a peer or from our own store. A look has no effect, so the question is never stored."""

    question: Question


class Gather(Struct, frozen=True):
    """Wait until work items of the step end, then pass them to ``gather`` (fan-out steps only).

    While none has ended, what else runs is polled, as ``watch`` says. ``begins``: more items can begin now, so
    ``gather`` is called although none has ended.
    """

    begins: bool = False


class Done(Struct, frozen=True):
    """The step has succeeded; ``summary`` is one sentence for the operator, ``skips`` are later steps to skip."""

    summary: str = ""
    skips: tuple[StepId, ...] = ()


class Failed(Struct, frozen=True):
    """The step has failed; ``reason`` says what happened and where to look."""

    reason: str


class PeerFailure(Struct, frozen=True):
    """A peer gave no report. ``refused``: it rejected the request; otherwise it was unreachable or broken.

    ``nodes``: the nodes that holds forbid to touch, each with the reason. Then nothing was sent, and ``refused`` is
    set; the same effect without these nodes may be possible.

    ``whole_site``: the refusal is not about this request alone (``ports.errors.Refused``).
    ``retry_after``: the seconds of its Retry-After, 0 without one. ``doubt``: what an operator is asked to answer.
    """

    detail: str
    refused: bool
    whole_site: bool = False
    retry_after: float = 0.0
    nodes: Mapping[NodeName, str] = msgspec.field(default_factory=dict)
    doubt: Doubt | None = None

    @classmethod
    def held(cls, holds: Iterable[Hold]) -> "PeerFailure":
        """Return the trouble for holds on nodes of an effect."""
        nodes = by_node(holds)
        return cls("; ".join(f"node {node} is {why}" for node, why in nodes.items()), refused=True, nodes=nodes)

    @classmethod
    def of(cls, error: PeerError) -> "PeerFailure":
        """Return the trouble for an error of a peer."""
        refused, whole_site = isinstance(error, Refused), isinstance(error, Refused) and error.whole_site
        retry_after = error.retry_after if isinstance(error, Busy) else None
        doubt = error.doubt if isinstance(error, Undecided) else None
        return cls(str(error), refused, whole_site, retry_after or 0.0, doubt=doubt)


@dataclasses.dataclass(frozen=True, slots=True)
class Folded(Generic[State]):
    """The state after a report, the facts for the journal, new work items, and when to decide again.

    Without ``wait_until`` the engine decides again at once. ``watch_at``: when to poll the running effects while the
    action is paused. ``awaited``: the reason of the wait, for display only.
    """

    state: State
    facts: tuple[Fact, ...] = ()
    wait_until: datetime | None = None
    watch_at: datetime | None = None
    items: tuple[NewItem, ...] = ()
    awaited: Awaited | None = dataclasses.field(default=None, compare=False)

    def after(self, facts: Iterable[Fact]) -> "Folded[State]":
        """Return the same with more facts, which follow its own."""
        return dataclasses.replace(self, facts=(*self.facts, *facts))


class Unit(ABC, Generic[State, Question, Effect, Report]):
    """A durable state machine: what steps and work items have in common.

    ``version`` is the state version that this release writes; it reads all versions up to this one.
    ``judges_silence``: a repeatable effect without an answer is folded at once as ``PeerFailure``, so that the unit
    says what it waits for, and decides again; otherwise the engine repeats it until its time is over.
    ``always``: its effects begin although the action was stopped, or a step has failed (upstream: ``all_done``).
    """

    version: ClassVar[int] = 1
    judges_silence: ClassVar[bool] = False
    always: bool = False

    @abstractmethod
    def load_state(self, stored: Json) -> State:
        """Return a state from its stored form, of any version up to ``version``."""

    @abstractmethod
    def decide(self, state: State, now: datetime) -> Act[Effect] | Look[Question] | Gather | Done | Failed:
        """Return what to do next. Pure."""

    @abstractmethod
    def fold(
        self, state: State, asked: Question | Effect, report: Report | PeerFailure, now: datetime
    ) -> Folded[State]:
        """Return the state after the report on ``asked``, or after the ``PeerFailure`` that replaced it.

        Pure, but for the state itself: the engine never uses a state again that it has passed here.
        """

    def ask(self, question: Question) -> Report:
        """Answer a ``Look``; raises ports.errors. Only for units that decide one."""
        raise NotImplementedError(f"{type(self).__name__} asks nothing")

    def load_effect(self, stored: Json) -> Effect:
        """Return an effect from its stored form. Only for units that decide an ``Act``."""
        raise NotImplementedError(f"{type(self).__name__} changes nothing")

    def perform(self, effect: Effect, marker: Marker) -> Report:
        """Bring the effect of an ``Act`` about; raises ports.errors. Only for units that decide one."""
        raise NotImplementedError(f"{type(self).__name__} changes nothing")

    def find(self, effect: Effect, marker: Marker, since: datetime, answers: JobAnswers) -> Report | None:
        """Return the report of an effect that may have been brought about since then, of which there is no record.

        It may be about a part of the effect; None if it never happened, or is safe to repeat. ``answers``: an
        operator's. Changes nothing; raises ports.errors, and Undecided where a person must say.
        """
        return None

    def unmarked(self, effect: Effect) -> bool:
        """Return whether no peer keeps a mark of the effect, so that it is looked for before it is first sent. Pure."""
        return False

    def identity(self, effect: Json) -> Json:
        """Return what makes a stored effect the same one when it is decided again, of all effects of the unit.

        The marker is a hash of the effect, so no field may depend on the time. Pure.
        """
        return effect

    def notice(self, state: State, lost: LostHistory) -> State:
        """Return the state, knowing that peers may have been sent what the database has no record of. Pure."""
        return state

    def touches(self, effect: Effect) -> Collection[NodeName]:
        """Return the nodes that an effect changes; while one is held, the effect does not begin. Pure."""
        return ()

    def work(self, effect: Effect) -> NodeWork:
        """Return what an effect does to the nodes that it touches; holds of some classes forbid it. Pure."""
        return NodeWork.OTHER

    def watch(self, state: State, now: datetime) -> Look[Question] | None:
        """Return how to poll the running effects while nothing new may begin, None without any. Pure."""
        return None

    def awaits(self, state: State, asked: Question | Effect) -> Awaited | None:
        """Return what the unit waits for while it asks or acts; None: not worth mentioning. Pure."""
        return None

    def outage_facts(self, asked: Effect, why: str) -> tuple[Fact, ...]:
        """Return the facts about an effect whose outcome became unknown (``why``), or is known again (empty). Pure."""
        return ()

    def leave(self, state: State, why: str) -> tuple[Fact, ...]:
        """Return the facts about work that goes on after the unit was stopped. Pure."""
        return ()


class Step(Unit[State, Question, Effect, Report]):
    """A durable unit of an action.

    A step that fans out decides ``Gather``, names the kind of its items in ``item_kind`` and implements ``gather``.
    """

    id: StepId
    item_kind: "AnyItemKind | None" = None

    @abstractmethod
    def begin(self, inputs: Inputs) -> State:
        """Return the first state, from the inputs that were frozen when the action was created, as it reads them."""

    def gather(self, state: State, ended: tuple[EndedItem, ...], now: datetime) -> Folded[State]:
        """Return the state after these items ended, in the order of their end; called with none to begin. Pure."""
        raise NotImplementedError(f"{type(self).__name__} has no work items")

    def give_up(self, why: str) -> tuple[Fact, ...]:
        """Return the facts about what the step will not do: it broke, or a step before it failed. Pure."""
        return ()


class ItemKind(Unit[State, Question, Effect, Report]):
    """How the work items of a step run. An item ends with ``Done`` or ``Failed``; it never decides ``Gather``."""

    @abstractmethod
    def begin(self, task: Json) -> State:
        """Return the first state of an item, from what its step stored with it."""


AnyUnit = Unit[Any, Any, Any, Any]
AnyStep = Step[Any, Any, Any, Any]
AnyItemKind = ItemKind[Any, Any, Any, Any]
