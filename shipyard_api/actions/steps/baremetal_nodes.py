"""The baremetal nodes step: prepares and deploys the groups of the strategy (seed 000, Process; product, section 3).

Its state is the rollout: members, statuses, and the jobs that run. Members are what the provisioner's own selection
says, asked once and kept, so that a group means the same nodes from beginning to end. Everything that runs is looked at
together, however many groups that are.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.actions.steps import job_watch, joining
from shipyard_api.actions.steps.rollout_state import RolloutState, Watch
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.jobs import WorkLeftBehind
from shipyard_api.domain.facts.nodes import NodesKept
from shipyard_api.domain.facts.phases import JoinAwaited, PhaseEnded, PhaseRunning, PhaseStarted
from shipyard_api.domain.groups import Phase, PhaseStatus, Verdict
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout import Move, Outcome, Rollout
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy import GroupName
from shipyard_api.ports.cluster import Cluster, NodeReadiness
from shipyard_api.ports.errors import PeerError, Refused
from shipyard_api.ports.provisioner import JobId, JobState, Marker, Operation, Provisioner, Reports, Work
from shipyard_api.ports.state.store import Store
from shipyard_api.workflow.step import Act, Decision, Done, Failed, Folded, Json, Look, Trouble

LOG = logging.getLogger(__name__)

_OPERATIONS = {Phase.PREPARE: Operation.PREPARE_NODES, Phase.DEPLOY: Operation.DEPLOY_NODES}
CRITICAL_FAILED = "One or more deployment groups marked as critical have failed"


@dataclass(frozen=True, slots=True)
class SelectMembers:
    """Which nodes do the groups hold?"""

    inputs: SiteInputs


@dataclass(frozen=True, slots=True)
class PollJobs:
    """How do these jobs stand, each asked about the nodes that are still of interest? Who has joined the cluster?"""

    jobs: Mapping[JobId, Work]
    joining: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What was heard of the jobs and of the cluster; ``readiness`` is None where nobody was asked about."""

    reports: Reports | Trouble
    readiness: joining.Answer | None


@dataclass(frozen=True, slots=True)
class BaremetalNodes:
    """The step. Learning the members is tried for ``patience`` seconds, every ``pause`` seconds.

    ``cluster`` is None where no cluster is configured.
    """

    id: StepId
    store: Store
    provisioner: Provisioner
    cluster: Cluster | None
    patience: float
    pause: float
    always: bool = False

    def begin(self, inputs: Json) -> Json:
        """Start without knowing any member."""
        kept = tuple(NodeName(node) for node in inputs.get("kept", ()))
        return RolloutState(SiteInputs.from_json(inputs), kept=kept, kept_from=inputs.get("retried", "")).to_json()

    def decide(self, state: Json, now: datetime) -> Decision:
        """Learn the members, then start every move that may start, watch what runs, and give the verdict."""
        stands = RolloutState.from_json(state)
        if stands.failed:
            return Failed(stands.failed)
        if stands.rollout is None:
            return Look(SelectMembers(stands.inputs))
        move = stands.rollout.next_move()
        if move is not None:
            limit = timedelta(seconds=stands.patience(move.phase).timeout)
            return Act(self._effect(move, stands.inputs.revision), give_up_at=now + limit)
        if stands.rollout.running:
            return Look(self._question(stands, stands.rollout, now))
        if stands.rollout.verdict() is Verdict.FAILED:
            return Failed(f"{CRITICAL_FAILED}; {stands.summary()}")
        return Done(stands.summary())

    def watch(self, state: Json, now: datetime) -> Look | None:
        """Look at what runs."""
        stands = RolloutState.from_json(state)
        if stands.rollout is None or not stands.rollout.running:
            return None
        return Look(self._question(stands, stands.rollout, now))

    def perform(self, effect: Json, marker: Marker) -> object:
        """Hand the nodes of a move to the provisioner."""
        return self.provisioner.submit(marker, _work(effect))

    def find(self, effect: Json, marker: Marker, intended_at: datetime) -> object | None:
        """Look for the job that may have been started."""
        return job_watch.find(self.store, self.provisioner, marker, _work(effect), intended_at)

    def look(self, effect: object) -> object:
        """Ask for the members, or how everything that runs stands. Raises only if nobody answers."""
        if isinstance(effect, PollJobs):
            return self._ask(effect)
        if not isinstance(effect, SelectMembers):
            raise TypeError(f"{effect!r} is not a question of this step")
        groups = effect.inputs.strategy.groups
        design = self.provisioner.design_reference(effect.inputs.revision)
        selected = self.provisioner.select_nodes(design, [group.selectors for group in groups])
        return {group.name: nodes for group, nodes in zip(groups, selected, strict=True)}

    def fold(self, state: Json, effect: object, report: object, now: datetime) -> Folded:
        """Bring the rollout forward by what came back."""
        stands = RolloutState.from_json(state)
        if stands.rollout is None:
            return self._fold_members(stands, report, now)
        if isinstance(effect, PollJobs):
            return self._fold_answers(stands, stands.rollout, _answers(effect, report), now)
        if not isinstance(effect, Mapping):
            raise TypeError(f"{effect!r} is no move")
        return self._fold_submission(stands, stands.rollout, _move(effect), report, now)

    def leave(self, state: Json, why: str) -> tuple[Fact, ...]:
        """Return what goes on without us, and that the groups that were at work have failed by it."""
        stands = RolloutState.from_json(state)
        return self._left_all(stands, stands.rollout, why) if stands.rollout is not None else ()

    def _ask(self, question: PollJobs) -> Answers:
        reports: Reports | Trouble = {}
        readiness: Mapping[NodeName, NodeReadiness] | Trouble | None = None
        troubles: list[PeerError] = []
        try:
            if question.jobs:
                reports = self.provisioner.reports(question.jobs)
        except PeerError as error:
            reports = Trouble.of(error)
            troubles.append(error)
        try:
            if question.joining:
                readiness = self._readiness(question.joining)
        except PeerError as error:
            readiness = Trouble.of(error)
            troubles.append(error)
        if troubles and len(troubles) == bool(question.jobs) + bool(question.joining):
            raise troubles[0]
        if isinstance(reports, Mapping):
            troubles += [one for one in reports.values() if isinstance(one, PeerError)]
        for trouble in troubles:
            LOG.warning("peer in trouble", extra={"step": self.id, "trouble": str(trouble)})
        return Answers(reports, readiness)

    def _readiness(self, nodes: tuple[NodeName, ...]) -> Mapping[NodeName, NodeReadiness]:
        if self.cluster is None:
            raise Refused("Kubernetes", "readiness", "this worker is configured with no cluster ([kubernetes])")
        return self.cluster.readiness(nodes)

    def _question(self, stands: RolloutState, rollout: Rollout, now: datetime) -> PollJobs:
        design = self.provisioner.design_reference(stands.inputs.revision)
        jobs = {}
        awaited: list[NodeName] = []
        for move in rollout.running:
            watch = stands.watches[move]
            if watch.joining is None:
                jobs[JobId(watch.job["id"])] = Work(_OPERATIONS[move.phase], design, rollout.unsettled(move))
            elif joining.first_look(watch.joining, stands.inputs.configuration) <= now:
                awaited.extend(NodeName(name) for name in watch.joining["nodes"])
        return PollJobs(jobs, tuple(awaited))

    def _fold_members(self, stands: RolloutState, report: object, now: datetime) -> Folded:
        if isinstance(report, Trouble):
            since = datetime.fromisoformat(stands.since or now.isoformat())
            if report.refused or now - since >= timedelta(seconds=self.patience):
                stands.failed = f"the nodes of the groups could not be learnt: {report.detail}"
                return Folded(stands.to_json())
            stands.since = since.isoformat()
            return Folded(stands.to_json(), wait_until=now + timedelta(seconds=self.pause))
        if not isinstance(report, dict):
            raise TypeError(f"members were reported as {type(report).__name__}")
        members: dict[GroupName, frozenset[NodeName]] = report
        strategy = stands.inputs.strategy
        stands.rollout = Rollout(strategy, members, stands.inputs.configuration.mode)
        facts: tuple[Fact, ...] = (MembersKnown.of(strategy, members),)
        if kept := tuple(node for node in stands.kept if node in stands.rollout.nodes):
            done = dict.fromkeys(kept, NodeStatus.SUCCESS)
            stands.rollout.restore(nodes=done, groups={}, reasons={})
            facts = (*facts, NodesKept(kept, stands.kept_from))
        facts = (*facts, *_settle_empty(stands.rollout))
        return Folded(stands.to_json(), facts)

    def _fold_submission(
        self, stands: RolloutState, rollout: Rollout, move: Move, report: object, now: datetime
    ) -> Folded:
        if isinstance(report, Trouble) and report.refused:
            # Refused once is refused for every group: going on would only turn the site's nodes into failures.
            stands.failed = f"{move.phase.value} of group {move.group} was refused: {report.detail}"
            return Folded(stands.to_json(), self._left_all(stands, rollout, stands.failed))
        facts: tuple[Fact, ...] = rollout.start(move)
        if isinstance(report, Trouble):
            outcome = Outcome(timed_out=True, reasons=dict.fromkeys(move.nodes, report.detail))
            ended = PhaseEnded(move.group, move.phase, PhaseStatus.TIMEOUT, report.detail, move.batch)
            facts = (*facts, ended, *rollout.finish(move, outcome), *_settle_empty(rollout))
        else:
            stands.watches[move] = Watch(job_watch.new(str(report), now))
            told = PhaseStarted(move.group, move.phase, move.nodes, str(report), move.batch)
            # The next group may have no node that is not away already.
            facts = (*facts, told, *_settle_empty(rollout))
        return Folded(stands.to_json(), facts)

    def _fold_answers(self, stands: RolloutState, rollout: Rollout, answers: Answers, now: datetime) -> Folded:
        facts: list[Fact] = []
        looks: list[datetime] = []
        for move in list(rollout.running):
            if stands.watches[move].joining is None:
                told, look_at = self._fold_job(stands, rollout, move, answers, now)
            else:
                told, look_at = self._fold_join(stands, rollout, move, answers, now)
            facts.extend(told)
            if look_at is not None:
                looks.append(look_at)
        facts.extend(_settle_empty(rollout))
        look_at = min(looks) if looks else None
        wait_until = look_at if rollout.next_move() is None else None
        return Folded(stands.to_json(), tuple(facts), wait_until, look_at)

    def _fold_job(
        self, stands: RolloutState, rollout: Rollout, move: Move, answers: Answers, now: datetime
    ) -> tuple[list[Fact], datetime | None]:
        """Return the facts that a report on a move's job makes, and when to look again; None once it has ended."""
        watch, configuration = stands.watches[move], stands.inputs.configuration
        patience = stands.patience(move.phase)
        job = JobId(watch.job["id"])
        answer = answers.reports if isinstance(answers.reports, Trouble) else answers.reports[job]
        report = Trouble.of(answer) if isinstance(answer, PeerError) else answer
        limits = job_watch.Limits(patience.interval, patience.timeout, configuration.queue_limit)
        watched = job_watch.judge(watch.job, report, limits, now)
        began = watched.job["running_since"] is not None and watch.job["running_since"] is None
        facts: list[Fact] = [PhaseRunning(move.group, move.phase, move.batch)] if began else []
        watch.job = watched.job
        heard = watched.report
        joins = bool(configuration.join) and move.phase is Phase.DEPLOY
        if watched.end is None:
            if heard is not None and heard.state is JobState.RUNNING and rollout.mode.wants_progress:
                certain = Outcome(frozenset() if joins else heard.succeeded, reasons=heard.reasons)
                facts.extend(_progress(watch, rollout, move, certain, heard.failed))
                if not rollout.unsettled(move):
                    return [*facts, *_finish(stands, rollout, move, Outcome(), heard.message)], None
            return facts, watched.look_again_at
        timed_out = watched.end is job_watch.End.TIME_UP
        why = f"{watched.why}; job {job} may still be working" if timed_out else watched.why
        left = rollout.unsettled(move)
        succeeded = watched.succeeded.intersection(left)
        reasons = {**(dict.fromkeys(left, why) if why else {}), **(heard.reasons if heard else {})}
        outcome = Outcome(succeeded, timed_out, reasons)
        message = "; ".join(part for part in (why, heard.message if heard else "") if part)
        if timed_out:
            facts.append(self._left(move, job, stands, left, succeeded, watched.why))
        if not joins or not succeeded:
            return [*facts, *_finish(stands, rollout, move, outcome, message)], None
        failed = frozenset(left) - succeeded
        facts.extend(_progress(watch, rollout, move, Outcome(timed_out=timed_out, reasons=reasons), failed))
        facts.append(JoinAwaited(move.group, tuple(sorted(succeeded)), move.batch))
        watch.joining = joining.new(succeeded, now, timed_out=timed_out, message=message)
        return facts, joining.first_look(watch.joining, configuration)

    def _fold_join(
        self, stands: RolloutState, rollout: Rollout, move: Move, answers: Answers, now: datetime
    ) -> tuple[list[Fact], datetime | None]:
        """Return the facts that an answer of the cluster makes, and when to look again; None once nobody is awaited."""
        watch = stands.watches[move]
        if watch.joining is None:
            raise ValueError(f"{move.phase.value} of {move.group} does not join anything")
        asked = joining.first_look(watch.joining, stands.inputs.configuration) <= now
        joined = joining.judge(watch.joining, answers.readiness if asked else None, stands.inputs.configuration, now)
        watch.joining = joined.joining
        facts = list(_progress(watch, rollout, move, Outcome(joined.ready), frozenset()))
        if joined.look_again_at is not None:
            return facts, joined.look_again_at
        message = "; ".join(
            part for part in (joined.joining["message"], f"{len(joined.lost)} not ready" if joined.lost else "") if part
        )
        return [*facts, *_finish(stands, rollout, move, Outcome(reasons=joined.lost), message)], None

    def _left_all(self, stands: RolloutState, rollout: Rollout, why: str) -> tuple[Fact, ...]:
        facts: list[Fact] = []
        for move in rollout.running:
            watch = stands.watches[move]
            told = why
            if watch.joining is None:
                job = JobId(watch.job["id"])
                facts.append(self._left(move, job, stands, rollout.unsettled(move), frozenset(), why))
                told = f"{why}; job {job} may be at work"
            facts.append(PhaseEnded(move.group, move.phase, PhaseStatus.STOPPED, told, move.batch))
        return (*facts, *rollout.stop(why), rollout.report())

    def _left(
        self,
        move: Move,
        job: JobId,
        stands: RolloutState,
        nodes: tuple[NodeName, ...],
        done: frozenset[NodeName],
        why: str,
    ) -> WorkLeftBehind:
        """Tell of work that goes on; nodes that are done with it may soon be given to other work, and are free."""
        operation, design = _OPERATIONS[move.phase], self.provisioner.design_reference(stands.inputs.revision)
        held = tuple(node for node in nodes if node not in done) or nodes
        return WorkLeftBehind(operation.value, job, design, held, why)

    def _effect(self, move: Move, revision: int) -> Json:
        """Return a move as it is intended. The address of the design is part of it: a setting that changes meanwhile
        must not hide the job from `find`.
        """
        return {
            "group": move.group,
            "phase": move.phase.value,
            "nodes": list(move.nodes),
            "batch": move.batch,
            "design": self.provisioner.design_reference(revision),
        }


def _move(effect: Json) -> Move:
    nodes = tuple(NodeName(node) for node in effect["nodes"])
    return Move(GroupName(effect["group"]), Phase(effect["phase"]), nodes, effect["batch"])


def _work(effect: Json) -> Work:
    move = _move(effect)
    return Work(_OPERATIONS[move.phase], effect["design"], move.nodes)


def _answers(question: PollJobs, report: object) -> Answers:
    if isinstance(report, Answers):
        return report
    if isinstance(report, Trouble):
        return Answers(report, report if question.joining else None)
    raise TypeError(f"the jobs were reported on with {type(report).__name__}")


def _progress(
    watch: Watch, rollout: Rollout, move: Move, certain: Outcome, failed: frozenset[NodeName]
) -> tuple[Fact, ...]:
    """Settle what is certain of a move that goes on."""
    watch.done = (*watch.done, *(node for node in rollout.unsettled(move) if node in certain.succeeded))
    return rollout.progress(move, certain, failed)


def _finish(stands: RolloutState, rollout: Rollout, move: Move, outcome: Outcome, message: str) -> tuple[Fact, ...]:
    """End a move."""
    watch = stands.watches.pop(move)
    good = len(watch.done) + len(outcome.succeeded.intersection(rollout.unsettled(move)))
    timed_out = outcome.timed_out or bool(watch.joining and watch.joining["timed_out"])
    status = PhaseStatus.TIMEOUT if timed_out else _status(good, len(move.nodes))
    return (PhaseEnded(move.group, move.phase, status, message, move.batch), *rollout.finish(move, outcome))


def _status(good: int, of: int) -> PhaseStatus:
    if good == of:
        return PhaseStatus.SUCCESS
    return PhaseStatus.PARTIAL_SUCCESS if good else PhaseStatus.FAILURE


def _settle_empty(rollout: Rollout) -> tuple[Fact, ...]:
    """Begin the groups that need no provisioner: they have no nodes, or other groups moved them all.

    An empty set of names must never be sent: to Drydock it means success (contract: drydock, 7, trap 3). When nothing
    is left to do, the report of the whole follows.
    """
    facts: list[Fact] = []
    while (move := rollout.next_move()) is not None and not move.nodes:
        facts.extend(rollout.start(move))
    if rollout.done:
        facts.append(rollout.report())
    return tuple(facts)
