"""What deployed nodes wait for before they count: Kubernetes, then the acceptance tasks of their group.

A move goes from one wait to the next with the nodes that passed; each wait keeps how the deploy itself ended.
"""

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from shipyard_api.actions.steps import acceptance, joining
from shipyard_api.actions.steps.acceptance import ITEM, Accepting
from shipyard_api.actions.steps.joining import Joining
from shipyard_api.actions.steps.rollout_messages import AcceptNodes, Answers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.settling import finish, progress
from shipyard_api.actions.steps.software.state import TaskState
from shipyard_api.actions.steps.software.task_item import LookAtTask, Results, StartTask
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.phases import AcceptanceAwaited, JoinAwaited
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.workflow.step import Folded, PeerFailure

Waited = tuple[list[Fact], datetime | None]
"""Facts, and when to poll again; None once the move has ended."""


def waits(state: RolloutState, move: Move) -> bool:
    """Return whether nodes of a move that are deployed do not count yet."""
    tasks = state.acceptance.tasks if state.acceptance else {}
    return move.phase is Phase.DEPLOY and (bool(state.inputs.configuration.join) or move.group in tasks)


def after_deploy(
    state: RolloutState, move: Move, succeeded: frozenset[NodeName], *, timed_out: bool, message: str, now: datetime
) -> Waited:
    """Begin the first wait of the nodes that a job has deployed."""
    if not state.inputs.configuration.join:
        return _accept(state, move, 0, succeeded, timed_out=timed_out, message=message, now=now)
    wait = state.watches[move].joining = Joining(now, succeeded, timed_out, message)
    awaited = JoinAwaited(move.group, tuple(sorted(succeeded)), move.batch)
    return [awaited], joining.first_poll(wait, state.inputs.configuration)


def fold_answers(state: RolloutState, rollout: Rollout, move: Move, answers: Answers, now: datetime) -> Waited:
    """Return what the answers mean for a move whose nodes wait."""
    watch = state.watches[move]
    if watch.joining is not None:
        return _fold_join(state, rollout, move, watch.joining, answers, now)
    if watch.accepting is None:
        raise AssertionError("the nodes of this move wait for nothing")
    question, wait = watch.accepting.question, watch.accepting
    key = wait.state.work.key
    if question is None or key not in answers.accepted:
        return [], max(wait.again, now)
    folded = acceptance.ITEM.fold(wait.state, question, answers.accepted[key], now)
    return fold_task(state, rollout, move, wait, folded, now)


def fold_started(
    state: RolloutState,
    rollout: Rollout,
    move: Move,
    start: StartTask,
    report: Results | PeerFailure,
    now: datetime,
) -> tuple[Fact, ...]:
    """Return what the start of an acceptance task means."""
    wait = state.watches[move].accepting
    if wait is None:
        raise AssertionError("an acceptance task has started that the move does not wait for")
    facts, _ = fold_task(state, rollout, move, wait, ITEM.fold(wait.state, start, report, now), now)
    return tuple(facts)


def fold_task(
    state: RolloutState, rollout: Rollout, move: Move, wait: Accepting, folded: Folded[TaskState], now: datetime
) -> Waited:
    """Return what a report on an acceptance task means; nodes that fail it have failed their deployment."""
    watch = state.watches[move]
    judged = acceptance.judge(wait, folded, now)
    watch.accepting = judged.accepting
    facts = [*judged.facts, *progress(watch, rollout, move, Outcome(reasons=judged.failed), frozenset(judged.failed))]
    if judged.poll_at is not None:
        return facts, judged.poll_at
    task, passed = judged.accepting.state, judged.passed
    lost = f"{len(task.failed)} failed acceptance task {task.work.task}" if task.failed else ""
    message = "; ".join(part for part in (wait.message, lost) if part)
    if passed:
        number, timed_out = wait.number + 1, wait.timed_out
        accepting, poll_at = _accept(state, move, number, passed, timed_out=timed_out, message=message, now=now)
        if poll_at is not None:
            return [*facts, *accepting], poll_at
    return [*facts, *finish(state.watches.pop(move), rollout, move, Outcome(passed), message)], None


def next_acceptance(state: RolloutState, now: datetime) -> AcceptNodes | None:
    """Return an acceptance task to start now, None without any."""
    for move, watch in state.watches.items():
        start = watch.accepting.start(now) if watch.accepting else None
        if start is not None:
            return AcceptNodes(move, start)
    return None


def polls(state: RolloutState) -> Iterable[LookAtTask]:
    """Return the polls of the acceptance tasks that have begun."""
    questions = (watch.accepting.question for watch in state.watches.values() if watch.accepting)
    return (question for question in questions if question is not None)


def leave(state: RolloutState, move: Move, why: str) -> tuple[Fact, ...]:
    """Return the facts about an acceptance task that goes on by itself after a stop."""
    wait = state.watches[move].accepting
    return acceptance.ITEM.leave(wait.state, why) if wait else ()


def _accept(
    state: RolloutState,
    move: Move,
    number: int,
    nodes: frozenset[NodeName],
    *,
    timed_out: bool,
    message: str,
    now: datetime,
) -> Waited:
    """Begin an acceptance task on the nodes; without one there is nothing to poll."""
    task = state.acceptance.task(move, number, nodes) if state.acceptance else None
    if task is None:
        return [], None
    watch = state.watches[move]
    watch.joining, watch.accepting = None, Accepting(number, task, now, timed_out, message)
    return [AcceptanceAwaited(move.group, task.work.task, task.waiting, move.batch)], now


def _fold_join(
    state: RolloutState, rollout: Rollout, move: Move, wait: Joining, answers: Answers, now: datetime
) -> Waited:
    watch, configuration = state.watches[move], state.inputs.configuration
    asked = joining.first_poll(wait, configuration) <= now
    joined = joining.judge(wait, answers.readiness if asked else None, configuration, now)
    accepts = state.acceptance is not None and move.group in state.acceptance.tasks
    if accepts:
        # They count once they are accepted, all together, when the last one is ready or lost.
        joined = replace(joined, joining=replace(joined.joining, ready=wait.ready | joined.ready))
    watch.joining = joined.joining
    facts = [] if accepts else list(progress(watch, rollout, move, Outcome(joined.ready), frozenset()))
    if joined.poll_at is not None:
        return facts, joined.poll_at
    not_ready = f"{len(joined.lost)} not ready" if joined.lost else ""
    message = "; ".join(part for part in (wait.message, not_ready) if part)
    ready = joined.joining.ready
    if accepts and ready:
        facts.extend(progress(watch, rollout, move, Outcome(reasons=joined.lost), frozenset(joined.lost)))
        accepting, poll_at = _accept(state, move, 0, ready, timed_out=wait.timed_out, message=message, now=now)
        return [*facts, *accepting], poll_at
    return [*facts, *finish(state.watches.pop(move), rollout, move, Outcome(reasons=joined.lost), message)], None
