"""The work item that takes one node out of its cluster: the current operation's part decides the next one."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.steps.pacing import POLICY
from shipyard_api.actions.steps.teardown.destroy import Destroy, Recalled
from shipyard_api.actions.steps.teardown.part import SILENCE_PAUSE, Pace, Part, ReadLimits, Request
from shipyard_api.actions.steps.teardown.state import NodeState, TeardownTask, moved, waiting
from shipyard_api.actions.steps.teardown.uncordon import UNCORDON_SECONDS
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.teardown import TeardownChanged, TeardownWaits
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.histories import LostHistory
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.teardown.order import GUARDED, WENT_WELL, Operation, Outcome, Teardown
from shipyard_api.domain.waiting import Awaited, of_doubt
from shipyard_api.ports.provisioner import Marker
from shipyard_api.workflow.step import Act, Done, Failed, Folded, ItemKind, Json, Look, PeerFailure

RECALL = "recall"
PACE = "pace"
"""The question that is only a wait: no window is open for the node to begin."""
DONE_BEFORE = "done before the history was lost, as the provisioner shows"

DESIGN_SECONDS = 300.0
"""The time limit for reading the action's design, before anything is touched."""
_TAKE_BACK = "uncordon"
"""The request that takes the cordon of a failed drain back."""


class History(Struct, frozen=True):
    """Facts about a node before its teardown. ``faults``: of the document that names the etcd clusters."""

    etcd_removal_began: bool
    was_deployed: bool
    faults: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """What an operation was answered, with the limits that the action had by then."""

    report: Any
    limits: TeardownLimits


@dataclass(frozen=True, slots=True)
class NodeTeardown(ItemKind[NodeState, Request, Request, Answer]):
    """Runs the operations of one node in their order.

    ``read_history`` returns whether the removal of the node's etcd members has begun, and whether the node was
    deployed. ``design_faults`` returns the faults of a revision's design that concern a teardown.
    """

    version: ClassVar[int] = NodeState.version
    judges_silence: ClassVar[bool] = True

    parts: Mapping[Operation, Part[Any]]
    read_history: Callable[[NodeName], tuple[bool, bool]]
    read_limits: ReadLimits
    design_faults: Callable[[int], Sequence[Finding]]
    pace: Pace = Pace()  # noqa: RUF009  # immutable

    def begin(self, task: Json) -> NodeState:
        """Start without the node's history."""
        parsed = TeardownTask.from_json(task)
        return NodeState(parsed, limits=parsed.limits)

    load_state = staticmethod(NodeState.from_json)
    load_effect = staticmethod(Request.from_json)

    def decide(self, state: NodeState, now: datetime) -> Act[Request] | Look[Request] | Done | Failed:
        """Ask for the history, then have the current operation decide."""
        lost = state.lost
        # One that is called alone is done to whatever server is there now, unless it may have been done before.
        if (
            lost is not None
            and state.asked != lost.occasion
            and (lost.noticed is not None or not state.task.must_exist)
        ):
            task = state.task
            details: Json = {"since": lost.after.isoformat(), "answers": lost.answers.to_json()}
            return Look(Request(None, task.node, task.action, task.revision, now, RECALL, details))
        if (state.order is None or state.order.failed is None) and state.blocked(now):
            return Look(Request(None, state.node, state.task.action, state.task.revision, now, PACE))
        if state.order is None:
            task = state.task
            details = {"etcd": bool(GUARDED & set(task.operations))}
            return Look(Request(None, task.node, task.action, task.revision, now, "history", details))
        if (failed := state.order.failed) is not None:
            if Operation.UNCORDON in self.parts and not state.cordon and _goes_back(state):
                taken_back = self.parts[Operation.DRAIN].request(state, now, _TAKE_BACK)
                return Act(taken_back, now + timedelta(seconds=UNCORDON_SECONDS), repeatable=True)
            return Failed(_failure(state, state.order, failed))
        operation = state.order.next_operation()
        if operation is None:
            return Done(_summary(state.order))
        decision = self.parts[operation].decide(state, now)
        if isinstance(decision, Act) and state.task.windows and not state.started:
            return replace(decision, effect=replace(decision.effect, begins=True))
        return decision

    def ask(self, question: Request) -> Answer:
        """Read the history, or have the operation ask."""
        if question.operation is not None:
            return self._answer(question, self.parts[question.operation].ask(question))
        if question.what == PACE:
            return self._answer(question, None)
        destroy = self.parts.get(Operation.DESTROY_NODE)
        if question.what == RECALL:
            if not isinstance(destroy, Destroy):
                return self._answer(question, Recalled(None))
            since, answers = question.more["since"], JobAnswers.from_json(question.more["answers"])
            return self._answer(question, destroy.recall(question, datetime.fromisoformat(since), answers))
        faults = errors(self.design_faults(question.revision)) if question.more["etcd"] else ()
        began, deployed = self.read_history(question.node)
        return self._answer(question, History(began, deployed, tuple(fault.message for fault in faults)))

    def perform(self, effect: Request, marker: Marker) -> Answer:
        """Have the operation perform its effect."""
        return self._answer(effect, self._part(effect).perform(effect, marker))

    def find(self, effect: Request, marker: Marker, since: datetime, answers: JobAnswers) -> Answer | None:
        """Have the operation look for the outcome."""
        report = self._part(effect).find(effect, marker, since, answers)
        return None if report is None else self._answer(effect, report)

    def unmarked(self, effect: Request) -> bool:
        """Have the operation say so."""
        return self._part(effect).unmarked(effect)

    def fold(self, state: NodeState, asked: Request, report: Answer | PeerFailure, now: datetime) -> Folded[NodeState]:
        """Have the operation judge the report."""
        if asked.begins and not (isinstance(report, PeerFailure) and report.nodes):
            state = replace(state, started=True)
        if asked.what == PACE:
            return _await_window(state, now)
        if asked.what == _TAKE_BACK:
            return self._taken_back(state, report, now)
        if isinstance(report, PeerFailure):
            if asked.what == RECALL:
                awaited = of_doubt(asked.action, report.doubt) if report.doubt else None
                if awaited is None and state.order is None and state.lost is not None and state.lost.noticed is None:
                    return self._no_history(state, report, now)
                return Folded(state, wait_until=self.pace.after(now, SILENCE_PAUSE), awaited=awaited)
            if asked.operation is None:
                return self._no_history(state, report, now)
            return self.parts[asked.operation].fold_trouble(state, asked, report, now)
        state = replace(state, limits=report.limits)
        if isinstance(report.report, Recalled):
            # A node that Kubernetes lacks was removed in the lost end: the action knew it before.
            occasion, noticed = (state.lost.occasion, state.lost.noticed) if state.lost else ("", None)
            is_lost = report.report.operation is not None or noticed is not None
            unknown = state.never_joined or (is_lost and not state.task.must_exist)
            return self._recalled(replace(state, asked=occasion, never_joined=unknown), report.report, now)
        if asked.operation is None:
            return self._begin(state, report.report, now)
        return self.parts[asked.operation].fold(state, asked, report.report, now)

    def identity(self, effect: Json) -> Json:
        """Return the request without its time, and the same whether or not the node begins with it."""
        return {name: value for name, value in effect.items() if name not in ("at", "begins")}

    def touches(self, effect: Request) -> tuple[NodeName, ...]:
        """Return the node."""
        return (effect.node,)

    def work(self, effect: Request) -> NodeWork:
        """Return a teardown; an uncordon takes one back."""
        return NodeWork.OTHER if effect.operation is Operation.UNCORDON else NodeWork.TEARDOWN

    def watch(self, state: NodeState, now: datetime) -> Look[Request] | None:
        """Poll the provisioner's job while the action is paused; nothing else is under way."""
        if state.job is None or state.order is None:
            return None
        decision = self.parts[Operation.DESTROY_NODE].decide(state, now)
        return decision if isinstance(decision, Look) else None

    def outage_facts(self, asked: Request, why: str) -> tuple[Fact, ...]:
        """Return that the operation waits for the outcome of its effect."""
        return () if asked.operation is None else (TeardownWaits(asked.node, asked.operation, (why,) if why else ()),)

    def leave(self, state: NodeState, why: str) -> tuple[Fact, ...]:
        """Return the provisioner's job that goes on."""
        part = self.parts.get(Operation.DESTROY_NODE)
        return part.leave(state, why) if isinstance(part, Destroy) else ()

    def _taken_back(self, state: NodeState, report: Answer | PeerFailure, now: datetime) -> Folded[NodeState]:
        if not isinstance(report, PeerFailure):
            taken_back = TeardownChanged(state.node, Operation.UNCORDON, Outcome.DONE)
            return Folded(replace(state, cordon="what the drain cordoned is uncordoned again"), (taken_back,))
        if report.refused or state.since is None or self.pace.lasted(state.since, now, UNCORDON_SECONDS):
            return Folded(replace(state, cordon=f"the node stays cordoned: {report.detail}"))
        return Folded(state, wait_until=self.pace.after(now, SILENCE_PAUSE))

    def _recalled(self, state: NodeState, report: Recalled, now: datetime) -> Folded[NodeState]:
        """Pass over what was done before the history was lost: it must not be done to the server of today."""
        if report.operation is None:
            return Folded(state)
        order = state.order or Teardown(state.task.operations)
        while (operation := order.next_operation()) is not None:
            if operation is Operation.DESTROY_NODE and not report.beyond:
                break
            order = order if operation in order.outcomes else order.begin(operation)
            if order.next_operation() is operation:
                order = order.succeed(operation, note=DONE_BEFORE)
        return moved(state, order, now)

    def notice(self, state: NodeState, lost: LostHistory) -> NodeState:
        """Return the state, which first asks the provisioner for the missing answers, once on each occasion."""
        return replace(state, lost=lost)

    def _no_history(self, state: NodeState, trouble: PeerFailure, now: datetime) -> Folded[NodeState]:
        """Ask again for a while: the design may be stored by a peer that does not answer."""
        since = state.since or now
        if trouble.refused or self.pace.lasted(since, now, DESIGN_SECONDS):
            order = Teardown(state.task.operations)
            return moved(state, order.refuse(order.operations[0], trouble.detail), now)
        return Folded(replace(state, since=since), wait_until=self.pace.after(now, SILENCE_PAUSE))

    def _begin(self, state: NodeState, history: History, now: datetime) -> Folded[NodeState]:
        task = state.task
        order = Teardown(task.operations, etcd_removal_began_earlier=history.etcd_removal_began)
        never_joined = not task.must_exist and (task.force or not history.was_deployed or state.never_joined)
        state = replace(state, never_joined=never_joined)
        if history.faults:
            first = order.operations[0]
            return moved(state, order.refuse(first, "; ".join(history.faults)), now)
        return moved(state, order, now)

    def _answer(self, asked: Request, report: Any) -> Answer:
        return Answer(report, self.read_limits(asked.action))

    def _part(self, effect: Request) -> Part[Any]:
        if effect.operation is None:
            raise ValueError("the history is only read")
        return self.parts[Operation.UNCORDON if effect.what == _TAKE_BACK else effect.operation]


def _await_window(state: NodeState, now: datetime) -> Folded[NodeState]:
    """Wait until a window opens; the time limit of the first operation begins then. Refuse what none will hold."""
    reason, order = state.blocked(now), state.order or Teardown(state.task.operations)
    operation = order.next_operation()
    if reason is None or operation is None:
        return Folded(state)
    why = f"{reason.rule}: {reason.why}"
    if reason.until is None:
        return moved(state, order.forbid(operation, why), now)
    state = replace(state, since=reason.until if state.since else None)
    return dataclasses.replace(waiting(state, operation, reason.until, (why,)), awaited=Awaited(POLICY, why))


def _goes_back(state: NodeState) -> bool:
    """Return whether a failed teardown has done nothing to the node that cannot be taken back.

    A drain that was called alone, or with other operations of its own, is repeated by its caller: its cordon stays.
    """
    order, began = state.teardown, state.teardown.outcomes
    if (state.task.windows and not state.started) or state.task.must_exist or order.etcd_removal_has_begun:
        return False
    return Operation.DRAIN in began and all(
        began.get(operation, Outcome.REFUSED) is Outcome.REFUSED for operation in GUARDED
    )


def _failure(state: NodeState, order: Teardown, failed: Operation) -> str:
    """Return what was done, what failed, and what was not tried (promenade, 3.2)."""
    done = [operation.value for operation, outcome, _ in order.report() if outcome in WENT_WELL]
    parts = [f"{failed.value}: {order.messages.get(failed, 'no reason given')}"]
    parts += [f"done: {', '.join(done)}"] if done else []
    parts += [f"not tried: {', '.join(operation.value for operation in order.not_tried)}"] if order.not_tried else []
    parts += [state.cordon] if state.cordon else []
    return "; ".join(parts)


def _summary(order: Teardown) -> str:
    said = [f"{operation.value}: {message}" for operation, _, message in order.report() if message]
    return "; ".join(said) or ", ".join(operation.value for operation in order.operations)
