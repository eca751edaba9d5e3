"""The baremetal nodes step: prepares and deploys the groups of the strategy (seed 000, Process; product, section 3).

Its state is the rollout: members, statuses, and the jobs that run. The provisioner selects the members once; they are
kept, so that a group means the same nodes from beginning to end. All running jobs are polled together.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import (
    cases,
    hardware,
    job_watch,
    joining,
    late_nodes,
    leaving,
    members,
    node_waits,
    pacing,
    rollout_polls,
    rollout_state,
    submissions,
    taking_down,
    uncounted,
)
from shipyard_api.actions.steps.acceptance import ITEM, PlanAcceptance
from shipyard_api.actions.steps.cases import FindCases
from shipyard_api.actions.steps.draining import Drains
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.actions.steps.job_watch import Submitted
from shipyard_api.actions.steps.rollout_messages import (
    AcceptNodes,
    Answers,
    CompareHardware,
    Members,
    PollJobs,
    Recover,
    Recovered,
    SeekCases,
    SelectMembers,
    SoughtCases,
    SubmitMove,
    operation,
    steps_of,
    wipe,
)
from shipyard_api.actions.steps.rollout_state import VERSION, RolloutState
from shipyard_api.actions.steps.settling import failures, finish, progress, settled
from shipyard_api.actions.steps.software.task_item import SILENCE_SECONDS, Results, TaskItem
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.actions.steps.taking_down import TakesDown
from shipyard_api.actions.steps.teardown.node_teardown import NodeTeardown
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.deploy_steps.planning import work_steps
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import GroupChanged
from shipyard_api.domain.facts.nodes import NodesFailed, NodesGivenUp
from shipyard_api.domain.facts.phases import PhaseRunning
from shipyard_api.domain.groups import GroupStatus, Phase, Reason, Verdict
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.items import EndedItem
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import JobAnswers
from shipyard_api.domain.rollout.enforcing import open_gates
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Way, WayPhase
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.targets import TARGET_GROUP
from shipyard_api.domain.waiting import Awaited
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.provisioner import JobId, JobState, Marker, Provisioner, Work
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Act, Done, Failed, Folded, Gather, Json, Look, PeerFailure, Step

CRITICAL_FAILED = "One or more deployment groups marked as critical have failed"

Question = SelectMembers | PollJobs | SeekCases
Effect = SubmitMove | AcceptNodes | Recover
Report = Members | Answers | Submitted | Results | Recovered | SoughtCases


@dataclass(frozen=True, slots=True)
class BaremetalNodes(Step[RolloutState, Question, Effect, Report]):
    """The step. Selecting the members is retried for ``give_up_after`` seconds, every ``pause`` seconds.

    ``cluster`` is None where no cluster is configured. ``targets``: the only nodes, deployed as the group ``group``;
    empty: what the inputs of the action say. ``way``: that of the nodes. ``acceptance``: how acceptance tasks
    run, None for a step whose groups have none. ``gates``: who answers the gates of a policy. ``specifications``:
    compares what nodes are given, None for no record. ``begins``: nodes begin with it; else they must come back.
    ``cases``: finds what nodes that fail have in common, None where nobody asks. ``hardware``: compares nodes with the
    hardware that the design expects, None for a step that compares none. ``takes_down``: how servers are taken down
    that are installed again, ``drains``: how those are drained that stay installed; None for a step that has none.
    """

    id: StepId
    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    give_up_after: float
    pause: float
    always: bool = False
    targets: tuple[NodeName, ...] = ()
    group: GroupName = TARGET_GROUP
    way: Way = Way.NEW
    acceptance: PlanAcceptance | None = None
    gates: pacing.GateAnswers | None = None
    specifications: Specifications | None = None
    begins: bool = True
    cases: FindCases | None = None
    hardware: Hardware | None = None
    takes_down: TakesDown | None = None
    drains: Drains | None = None
    version: ClassVar[int] = VERSION

    def begin(self, inputs: ActionInputs) -> RolloutState:
        """Start without knowing any member."""
        site = inputs.of_site
        site = site if self.begins else replace(site, policy=None)
        if self.targets:
            site = replace(site, targets=self.targets, target_group=self.group, max_parallel_nodes=0)
        if self.takes_down:
            site = replace(site, ways=self.takes_down.left(inputs.kept_items.get(self.id, ()), site.ways))
        kept = inputs.kept or ()
        return RolloutState(site, kept=kept, kept_from=inputs.retried, action=inputs.action, usual=self.way)

    def load_state(self, stored: Json) -> RolloutState:
        """Return a state from its stored form."""
        state = RolloutState.from_json(stored)
        state.usual = self.way
        return state

    def load_effect(self, stored: Json) -> Effect:
        """Return an effect from its stored form."""
        if Recover.is_in(stored):
            return Recover.from_json(stored)
        return AcceptNodes.from_json(stored) if "accept" in stored else SubmitMove.from_json(stored)

    @property
    def item_kind(self) -> NodeTeardown | None:  # type: ignore[override]  # a constant of a step without items
        """The items that take servers down."""
        return self.takes_down.kind if self.takes_down else None

    def decide(self, state: RolloutState, now: datetime) -> Act[Effect] | Look[Question] | Gather | Done | Failed:
        """Select the members, then start every move that may start, poll what runs, and give the verdict."""
        if state.failed:
            return Failed(state.failed)
        if state.rollout is None:
            return Look(SelectMembers(state.inputs, state.action))
        if accept := node_waits.next_acceptance(state, now):
            return Act(accept, now + timedelta(seconds=SILENCE_SECONDS), repeatable=True)
        if recovery := late_nodes.next_recovery(state, late_nodes.rule(state)):
            return Act(recovery, now + timedelta(seconds=self.give_up_after), repeatable=recovery.retry)
        if move := taking_down.next_submission(state, state.rollout, self.takes_down):
            return self._submit(state, state.rollout, move, now)
        move, compare = state.rollout.next_move(now), None
        if move is not None:
            move = taking_down.one_way(state, move)
            compare = hardware.question(state, move) if self.hardware else None
        if move is not None and compare is None:
            begins = taking_down.begins(state, move)
            return Gather(begins=True) if begins else self._submit(state, state.rollout, move, now)
        if compare is None and taking_down.is_at_work(state, self.takes_down):
            return Gather()
        if state.rollout.running or not state.rollout.done:
            return Look(replace(self._poll(state, state.rollout, now), hardware=compare))
        if look := cases.next_look(state, self.cases, ended=True):
            return Look(look)
        if state.rollout.verdict() is Verdict.FAILED:
            return Failed(f"{CRITICAL_FAILED}; {state.summary()}")
        return Done(state.summary())

    def watch(self, state: RolloutState, now: datetime) -> Look[Question] | None:
        """Poll what runs; work items run by themselves."""
        if state.rollout is None or not any(watch.passage is None for watch in state.watches.values()):
            return None
        return Look(self._poll(state, state.rollout, now))

    def gather(self, state: RolloutState, ended: tuple[EndedItem, ...], now: datetime) -> Folded[RolloutState]:
        """Take the servers down that may begin now, or what has ended of those that began."""
        facts, items = taking_down.gather(state, _known(state), self.takes_down, ended, now)
        folded = self._settled(state, Folded(state, facts, items=items), now)
        return dataclasses.replace(folded, wait_until=None)

    def perform(self, effect: Effect, marker: Marker) -> Submitted | Results | Recovered:
        """Submit the nodes of a move to the provisioner, start an acceptance task on them, or recover late ones."""
        if isinstance(effect, AcceptNodes):
            return self._tasks.perform(effect.start, marker)
        if isinstance(effect, Recover):
            return late_nodes.perform(effect, self.provisioner, operation(self.way, effect.move.phase))
        return Submitted(JobId(marker) if effect.drains else self.provisioner.submit(marker, effect.work))

    def find(
        self, effect: Effect, marker: Marker, since: datetime, answers: JobAnswers
    ) -> Submitted | Recovered | None:
        """Look for the job of the move or, without markers, of a part of it.

        An acceptance task is started again, under its own marker.
        """
        if not isinstance(effect, SubmitMove):
            return Recovered(unknown=True) if isinstance(effect, Recover) and not effect.retry else None
        if effect.drains:
            return Submitted(JobId(marker))
        return job_watch.find(self.store, self.provisioner, marker, effect.work, since, answers)

    def unmarked(self, effect: Effect) -> bool:
        """Return whether the provisioner keeps no mark of a move."""
        return isinstance(effect, SubmitMove) and not self.provisioner.capabilities.marks

    def ask(self, question: Question) -> Members | Answers | SoughtCases:
        """Select the members, or poll everything that runs. Raises only if no peer answers."""
        if isinstance(question, SeekCases):
            return self.cases(question) if self.cases else SoughtCases(())
        if isinstance(question, PollJobs):
            peers = self.store, self.provisioner, self.cluster, self._tasks, self.drains, self.gates, self.hardware
            answers = rollout_polls.answers(question, rollout_polls.Peers(*peers))
            return cases.answered(answers, self.cases, question.cases)
        known = self.store, self.provisioner, self.acceptance, self.specifications, self.takes_down
        return members.select(question, *known, way=self.way)

    def fold(
        self, state: RolloutState, asked: Question | Effect, report: Report | PeerFailure, now: datetime
    ) -> Folded[RolloutState]:
        """Advance the rollout by what came back."""
        if isinstance(report, SoughtCases):  # the rollout has ended, and its report is written
            return Folded(state, cases.fold(state, report, ended=True))
        folded = self._settled(state, self._folded(state, asked, report, now), now)
        return hardware.paced(folded, report, now) if state.rollout is not None and not state.failed else folded

    def _settled(self, state: RolloutState, folded: Folded[RolloutState], now: datetime) -> Folded[RolloutState]:
        """Return what follows from the facts of a report."""
        if state.rollout is not None and not state.failed:
            # The next group may have no node that is not in flight already.
            folded = settled(folded, state.rollout, now, self.pause)
            can_service = not self.provisioner.capabilities.limits.no_service
            folded = folded.after(taking_down.never_begun(state, state.rollout, can_service=can_service))
        cases.note(state, folded.facts)
        failed = failures(folded.facts)
        hold_after = state.inputs.configuration.hold_after
        return folded.after([NodesFailed(failed, hold_after)]) if failed and hold_after else folded

    def _folded(
        self, state: RolloutState, asked: Question | Effect, report: Report | PeerFailure, now: datetime
    ) -> Folded[RolloutState]:
        match report, asked:
            case Members(), _:
                return members.fold(state, report, self.provisioner.name)
            case Mapping() | PeerFailure(), AcceptNodes(move, start):
                return Folded(state, node_waits.fold_started(state, _known(state), move, start, report, now))
            case Answers(), PollJobs():
                return self._fold_answers(state, asked, report, now)
            case Submitted(job, part), SubmitMove(move):
                return submissions.fold_job(state, _known(state), replace(move, nodes=part or move.nodes), job, now)
            case PeerFailure(), SelectMembers():
                return self._fold_no_members(state, report, now)
            case PeerFailure(), PollJobs(_, nodes, polls, machines):
                accepted = {poll.work.key: report for poll in polls}
                answers = Answers(report, report if nodes else None, accepted, {} if machines else None)
                answers = replace(answers, hardware=report if asked.hardware else None)
                return self._fold_answers(state, asked, answers, now)
            case Recovered() | PeerFailure(), Recover():
                return late_nodes.fold(state, asked, report)
            case PeerFailure(), SubmitMove(move):
                return submissions.fold_failure(state, _known(state), move, report, self._design(state))
        raise AssertionError(f"{report} is no report on {asked}")

    def identity(self, effect: Json) -> Json:
        """Return the group, the phase and the nodes: the number of a batch may change when a move is decided again."""
        return effect if "move" in effect else {name: effect[name] for name in ("group", "phase", "nodes")}

    def touches(self, effect: Effect) -> tuple[NodeName, ...]:
        """Return the nodes of the move, or those of it where a task starts."""
        if isinstance(effect, Recover):
            return effect.nodes
        return ITEM.touches(effect.start) if isinstance(effect, AcceptNodes) else effect.move.nodes

    def work(self, effect: Effect) -> NodeWork:
        """Return a deployment; the drain before a service takes nodes out, and a preparation may undeploy them."""
        prepared = NodeWork.PREPARATION if self.provisioner.capabilities.undeploys else NodeWork.DEPLOYMENT
        match effect:
            case SubmitMove(drains=True):
                return NodeWork.TEARDOWN
            case SubmitMove(move=Move(phase=Phase.DEPLOY)):
                return NodeWork.DEPLOYMENT
        return prepared

    def awaits(self, state: RolloutState, asked: Question | Effect) -> Awaited:
        """Return the provisioner, or the cluster if only nodes that join it are left."""
        match asked:
            case SelectMembers():
                return Awaited(self.provisioner.name, "the nodes of the groups")
            case PollJobs(hardware=CompareHardware() as compare):
                return Awaited(self.provisioner.name, f"the hardware of group {compare.move.group}")
            case PollJobs(policy=Awaited() as awaited):
                return awaited
        move, approvals = (asked.move, asked.approvals) if isinstance(asked, SubmitMove) else (None, None)
        return replace(rollout_state.awaited(state, self.provisioner.name, move), gates=approvals)

    def leave(self, state: RolloutState, why: str) -> tuple[Fact, ...]:
        """Return the jobs that go on, and that the groups they worked for have failed by it."""
        if state.rollout is None or state.failed or state.rollout.done:
            return ()
        return leaving.left(state, state.rollout, self._design(state), why)

    def give_up(self, why: str) -> tuple[Fact, ...]:
        """Return that the group of a batch has failed, and that its servers stay as they are."""
        if not self.targets:
            return ()
        return (GroupChanged(self.group, GroupStatus.FAILED, Reason.DEPENDENCY, why), NodesGivenUp(self.targets, why))

    @property
    def _tasks(self) -> TaskItem:
        return self.acceptance.item if self.acceptance else ITEM

    def _design(self, state: RolloutState) -> str:
        return self.provisioner.design_reference(state.inputs.revision)

    def _submit(self, state: RolloutState, rollout: Rollout, move: Move, now: datetime) -> Act[Effect]:
        limit = timedelta(seconds=state.limits(move).timeout)
        steps, way = steps_of(state.inputs, move.phase, move.nodes), state.way(move)
        approvals = pacing.approvals(rollout, now)
        return Act(SubmitMove(move, self._design(state), way, steps, approvals), give_up_at=now + limit)

    def _poll(self, state: RolloutState, rollout: Rollout, now: datetime) -> PollJobs:
        design, jobs, nodes = self._design(state), dict[JobId, Work](), list[NodeName]()
        drains, uncordons = dict[JobId, tuple[NodeName, ...]](), frozenset[JobId]()
        due = rollout_state.due(state, now)
        # The next report decides about these: they time out, or the rule of late nodes applies.
        over = due | late_nodes.over(state, late_nodes.rule(state), now)
        for move in rollout.running:
            watch, way = state.watches[move], state.way(move)
            if watch.at_provisioner and way.job(move.phase) is WayPhase.DRAIN:
                drains[watch.job.id] = rollout.unsettled(move)
            elif watch.at_provisioner:
                # Two moves share a job that was resumed for the nodes of one after the other.
                shared = jobs.get(watch.job.id)
                unsettled = (*(shared.nodes or () if shared else ()), *rollout.unsettled(move))
                steps = work_steps(steps_of(state.inputs, move.phase, unsettled))
                if move.phase is Phase.DEPLOY and way.uncordons(joins=bool(state.inputs.configuration.join)):
                    uncordons |= {watch.job.id}
                does, erases = operation(way, move.phase), wipe(way, move.phase)
                again, fresh = late_nodes.again(state, watch), move in over or bool(shared and shared.fresh)
                jobs[watch.job.id] = Work(does, design, unsettled, erases, steps, again, fresh)
            elif watch.joining and joining.first_poll(watch.joining, state.inputs.configuration) <= now:
                nodes.extend(sorted(watch.joining.nodes))
        gates, policy = open_gates(rollout, now), pacing.waits(rollout, now, state.action)
        look, accepting, late = cases.next_look(state, self.cases), tuple(node_waits.polls(state)), bool(due)
        return PollJobs(jobs, tuple(nodes), accepting, late, gates, state.action, policy, look, None, drains, uncordons)

    def _fold_no_members(self, state: RolloutState, trouble: PeerFailure, now: datetime) -> Folded[RolloutState]:
        since = state.since or now
        if trouble.refused or now - since >= timedelta(seconds=self.give_up_after):
            state.failed = f"the nodes of the groups could not be learnt: {trouble.detail}"
            return Folded(state, self.give_up(state.failed))
        state.since = since
        deadline = since + timedelta(seconds=self.give_up_after)
        awaited = Awaited(self.provisioner.name, "the nodes of the groups", trouble.detail, deadline=deadline)
        wait_until = now + timedelta(seconds=max(self.pause, trouble.retry_after))
        return Folded(state, wait_until=wait_until, awaited=awaited)

    def _fold_answers(
        self, state: RolloutState, poll: PollJobs, answers: Answers, now: datetime
    ) -> Folded[RolloutState]:
        rollout = _known(state)
        facts = [*uncounted.apply(state, answers.uncounted), *cases.fold(state, answers.cases)]
        polls: list[datetime] = []
        if poll.hardware is not None and answers.hardware is not None:
            facts.extend(hardware.fold(state, rollout, poll.hardware, answers.hardware))
        for move in list(rollout.running):
            if state.watches[move].passage is not None:
                continue
            if state.watches[move].at_provisioner:
                move_facts, poll_at = self._fold_job(state, rollout, move, answers, now)
            else:
                move_facts, poll_at = node_waits.fold_answers(state, rollout, move, answers, now)
            facts.extend(move_facts)
            if poll_at is not None:
                polls.append(poll_at)
        if late := late_nodes.rule(state):
            facts.extend(late_nodes.notice(state, late, poll, answers, now))
        facts.extend(pacing.answer(rollout, answers.gates, now))
        poll_at = min(polls) if polls else None
        awaited = rollout_state.awaited(state, self.provisioner.name) if rollout.running else None
        if awaited is not None:
            awaited = replace(awaited, last_answer=answers.summary(), answered=answers.usable())
        return Folded(state, tuple(facts), poll_at, poll_at, awaited=awaited)

    def _fold_job(
        self, state: RolloutState, rollout: Rollout, move: Move, answers: Answers, now: datetime
    ) -> tuple[list[Fact], datetime | None]:
        """Return the facts that a report on a move's job makes, and when to poll again; None once it has ended."""
        watch, configuration = state.watches[move], state.inputs.configuration
        phase, job = state.limits(move), watch.job.id
        limits = job_watch.Limits(phase.interval, phase.timeout, configuration.queue_limit)
        watched = job_watch.judge(watch.job, answers.of(job), limits, now)
        began = watched.job.running_since is not None and watch.job.running_since is None
        facts: list[Fact] = [PhaseRunning(move.group, move.phase, move.batch)] if began else []
        watch.job, report = watched.job, watched.report
        waits = node_waits.waits(state, move)
        if watched.end is None:
            if report is not None and report.state is JobState.RUNNING:
                # A failure is kept when it is first seen: peers forget reasons, and a stop must not replace one.
                counts = rollout.mode.wants_progress and not waits
                certain = Outcome(report.succeeded if counts else frozenset(), reasons=report.reasons)
                facts.extend(progress(watch, rollout, move, certain, report.failed))
                if not rollout.unsettled(move):
                    return [*facts, *finish(state.watches.pop(move), rollout, move, Outcome(), report.message)], None
            return facts, watched.poll_at
        if watched.end is job_watch.End.QUEUE_TIMEOUT:
            return [*facts, *leaving.never_begun(state, rollout, move, self._design(state), watched)], None
        timed_out = watched.end is job_watch.End.TIME_UP
        if timed_out and answers.machines is None:
            return facts, now  # the next poll also asks for the machines, which show the nodes that hang
        why = f"{watched.why}; job {job} may still be working" if timed_out else watched.why
        left = rollout.unsettled(move)
        succeeded = watched.succeeded.intersection(left)
        labels = answers.labels(left)
        reasons = dict.fromkeys(left, why) if why else {}
        reasons |= {node: f"{self.provisioner.name} shows it as {label}; {why}" for node, label in labels.items()}
        reasons |= report.reasons if report else {}
        if labels:
            why = f"{job_watch.shown_as(labels)}; {why}"
            facts.append(Noted("Phase Timed Out", rollout_state.timed_out(state, move, why)))
        outcome = Outcome(succeeded, timed_out, reasons, why)
        message = "; ".join(part for part in (why, report.message if report else "") if part)
        if timed_out:
            way = state.way(move)
            facts.extend(leaving.straggler(way, self._design(state), move, job, left, succeeded, watched.why))
        if not waits or not succeeded:
            return [*facts, *finish(state.watches.pop(move), rollout, move, outcome, message)], None
        failed = frozenset(left) - succeeded
        facts.extend(progress(watch, rollout, move, Outcome(timed_out=timed_out, reasons=reasons, why=why), failed))
        node_facts, poll_at = node_waits.after_deploy(
            state, move, succeeded, timed_out=timed_out, message=message, now=now
        )
        return [*facts, *node_facts], poll_at


def _known(state: RolloutState) -> Rollout:
    if state.rollout is None:
        raise AssertionError("a move is under way before the members are known")
    return state.rollout
