"""Foresee how an action will go, or how a running one goes on (product, section 5). Nothing is changed."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.rollout_state import paced_rollout
from shipyard_api.actions.update_checks import TEARDOWN_HISTORY
from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.documents import Version
from shipyard_api.domain.errors import (
    ActionNotFound,
    ForecastTooLarge,
    InvalidDesign,
    NothingToForecast,
    UnknownForecastGroups,
    VersionNotFound,
)
from shipyard_api.domain.groups import GroupStatus, Phase, Reason
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.assumptions import Assumptions
from shipyard_api.domain.rollout.enforcing import open_gates
from shipyard_api.domain.rollout.forecast import Estimate, Forecast, Seconds, forecast
from shipyard_api.domain.rollout.group_runs import NOTHING_DONE, Progress
from shipyard_api.domain.rollout.history import PhaseHistory, TeardownHistory, assume, assume_teardown
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Move
from shipyard_api.domain.rollout.policy.gates import GateState
from shipyard_api.domain.rollout.policy.lateness import Usual
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.run_sets import Dice
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.documents import DesignStore, RenderingFailed
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.ports.state.groups import GroupRecord
from shipyard_api.ports.state.nodes import NodeRecord
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.design_groups import design_at, members_of, strategy_of
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions

# How many actions the history is taken from: the site of last year was another one.
_ACTIONS = 50


def read_history(store: Store, before: ActionId | None = None) -> Mapping[Phase, PhaseHistory]:
    """Return the history of both phases, or only that of actions before one."""
    names = ACTIONS.deploying
    return store.read(lambda tx: tx.nodes.phase_history(names, actions=_ACTIONS, before=before))


def read_teardowns(store: Store, ways: Ways, before: ActionId | None = None) -> TeardownHistory:
    """Return how long servers took to be taken down; nothing is read for an action that takes none down."""
    if not ways.reinstalled:
        return TeardownHistory()
    return store.read(lambda tx: tx.nodes.teardown_history(actions=TEARDOWN_HISTORY, before=before))


def measured(store: Store) -> Mapping[Phase, Sequence[float]]:
    """Return how long each phase of groups took, in seconds and in ascending order."""
    return {phase: history.seconds for phase, history in read_history(store).items()}


def usual_durations(store: Store, models: Mapping[NodeName, str]) -> Usual:
    """Return how long each phase usually lasts with nodes of these hardware profiles; of enough nodes only."""
    names = ACTIONS.deploying
    return store.read(lambda tx: tx.nodes.usual_durations(names, models, actions=_ACTIONS))


def assumptions_of(
    inputs: SiteInputs, history: Mapping[Phase, PhaseHistory], failures: Mapping[Phase, float]
) -> Assumptions:
    """Return what to assume of an action with these inputs; ``failures`` replace measured probabilities."""
    configuration = inputs.configuration
    limits = {
        Phase.PREPARE: configuration.prepare_nodes.timeout,
        Phase.DEPLOY: configuration.deploy_nodes.timeout,
    }
    if (burn_in := configuration.burn_in) is None:
        return assume(history, limits, failures)
    limits[Phase.PREPARE] -= burn_in.length
    assumed = assume(history, limits, failures)
    return {**assumed, Phase.PREPARE: assumed[Phase.PREPARE].lasting(burn_in.prolonged)}


RUNS = 2_000

# Of a forecast: nodes times runs, and memberships of nodes in groups. Together they bound it to a few seconds.
_NODE_RUNS = 20_000_000
# The same for a forecast that pages ask for again and again.
FEW_NODE_RUNS = 2_000_000
_MEMBERSHIPS = 100_000

# A phase is queued, or its provisioner is silent, if this many polls have not seen it at work.
_POLLS = 2
_OVER = (GroupStatus.SUCCESS.value, GroupStatus.FAILED.value)


class Source(Enum):
    """Where the failure probabilities come from."""

    GIVEN = "given"
    HISTORY = "history"
    DEFAULT = "default"


class Question(Struct, frozen=True):
    """The assumptions of a forecast. The same seed gives the same answer.

    ``node_runs``: the most nodes times runs. ``criteria`` replace those of the groups.
    """

    failures: Mapping[Phase, float] = field(default_factory=dict)
    runs: int = RUNS
    seed: int = 1
    criteria: Mapping[GroupName, SuccessCriteria] = field(default_factory=dict)
    node_runs: int = _NODE_RUNS


class ActionForecast(Struct, frozen=True):
    """A forecast and its basis. ``history``: the measurements, used or not.

    ``not_known``: the wait of a running action whose end cannot be predicted; then its open groups have no forecast.
    """

    forecast: Forecast
    seed: int
    source: Source
    assumptions: Assumptions
    history: Mapping[Phase, PhaseHistory]
    not_known: str = ""


class _Known(Struct, frozen=True):
    """The stored state of an action. ``kept``: its progress at the start, the nodes that a retry keeps.

    ``rollout``: its rollout so far, None before it begins and if nothing paces it. ``teardown``: as in ``_Start``.
    """

    record: ActionRecord
    inputs: SiteInputs
    teardown: float
    kept: Progress
    groups: Sequence[GroupRecord]
    nodes: Sequence[NodeRecord]
    rollout: Rollout | None


class _Start(Struct, frozen=True):
    """Where a forecast begins: at the moment ``now``; the rest as in ``_Known``.

    ``teardown``: how many seconds a server may take to be taken down.
    """

    inputs: SiteInputs
    members: Mapping[GroupName, frozenset[NodeName]]
    now: datetime
    teardown: float
    progress: Progress = NOTHING_DONE
    rollout: Rollout | None = None


class ForecastAction(Struct, frozen=True):
    """The use case."""

    store: Store
    check: CheckAction
    control: ControlAction
    designs: DesignStore
    rendered: RenderedDesigns
    clock: Clock
    new_dice: Callable[[int], Dice] = Random

    def __call__(self, request: ActionRequest, version: Version, question: Question) -> ActionForecast:
        """Return the forecast of an action on a version. Raises NothingToForecast, and why no groups can be known."""
        heads = self.designs.heads()
        revision = read_versions(self.designs, heads).of(version)
        if revision is None and version is Version.BUFFER:
            raise VersionNotFound(version)
        case = self.check(request, heads, revision)
        design = case.design or design_at(self.check, request.name, revision)
        strategy = strategy_of(case, design.inputs)
        if design.inputs is None or strategy is None or not ACTIONS[request.name].deploys:
            raise case.refusal or NothingToForecast(request.name)
        members = self._members(design.inputs, strategy)
        start = _Start(design.inputs, members, self.clock.now(), self._longest(case.inputs))
        return self._predict(start, strategy, question)

    def retry(self, action: str, question: Question) -> ActionForecast:
        """Return the forecast of a retry of an action; raises NotFound and NothingToForecast."""
        retry = self.control.plan_retry(action, force=True)
        if not ACTIONS[retry.action.name].deploys:
            raise NothingToForecast(retry.action.name)
        inputs = retry.inputs.of_site
        kept = Progress(nodes=dict.fromkeys(retry.kept, NodeStatus.SUCCESS))
        strategy = inputs.strategy
        longest = self._longest(retry.inputs)
        start = _Start(inputs, self._members(inputs, strategy), self.clock.now(), longest, kept)
        return self._predict(start, strategy, question)

    def running(self, action: str, question: Question) -> ActionForecast:
        """Return the forecast of an action from its current state; raises NotFound and NothingToForecast."""
        known = self._known(action)
        now = self.clock.now()
        progress = _progress(known.groups, known.nodes, now) if known.nodes else known.kept
        start = _Start(known.inputs, self._of(known), now, known.teardown, progress, known.rollout)
        predicted = self._predict(start, known.inputs.strategy, question)
        if known.record.ended_at:
            return _certain(predicted, known.record.state)
        gates = [gate.state for gate in open_gates(known.rollout, now)] if known.rollout else []
        return replace(predicted, not_known=_not_known(known, progress, predicted.assumptions, now, gates))

    def started(self, action: str, question: Question) -> ActionForecast:
        """Return the forecast of an action as its start would have given it, with the history before it.

        Raises NotFound and NothingToForecast.
        """
        known = self._known(action)
        start = _Start(known.inputs, self._of(known), known.record.created_at, known.teardown, known.kept)
        return self._predict(start, known.inputs.strategy, question, before=known.record.id)

    def _uncounted(self, inputs: SiteInputs, at: datetime | None = None) -> frozenset[NodeName]:
        """Return the nodes that no criterion counts, now or at another moment; none of an action on named servers."""
        return frozenset() if inputs.targets else self.store.read(lambda tx: tx.holds.uncounted(at))

    def _known(self, action: str) -> _Known:
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action))
            if record is None:
                raise ActionNotFound(action)
            if not ACTIONS[record.name].deploys:
                raise NothingToForecast(record.name)
            inputs = ActionInputs.from_json(tx.actions.inputs(record.id))
            groups = tx.actions.groups(record.id, status=(), group=(), after=-1, limit=_MEMBERSHIPS)
            nodes = tx.actions.nodes(record.id, status=(), group=(), after="", limit=_MEMBERSHIPS)
            rollout = paced_rollout(tx.task_results.step_states(record.id)) if inputs.is_paced else None
        kept = dict.fromkeys(inputs.kept or (), NodeStatus.SUCCESS)
        longest = self._longest(inputs)
        return _Known(record, inputs.of_site, longest, Progress(nodes=kept), groups, nodes, rollout)

    def _longest(self, inputs: ActionInputs) -> float:
        return inputs.longest_teardown(self.check.rules.time_scale)

    def _of(self, known: _Known) -> Mapping[GroupName, frozenset[NodeName]]:
        strategy = known.inputs.strategy
        return _held(strategy, known.nodes) if known.nodes else self._members(known.inputs, strategy)

    def _members(self, inputs: SiteInputs, strategy: Strategy) -> Mapping[GroupName, frozenset[NodeName]]:
        try:
            return members_of(self.rendered, inputs, strategy)
        except RenderingFailed as failed:
            raise InvalidDesign(failed.findings) from failed

    def _predict(
        self, start: _Start, strategy: Strategy, question: Question, before: ActionId | None = None
    ) -> ActionForecast:
        """Return the forecast. Raises UnknownForecastGroups and ForecastTooLarge."""
        inputs, members = start.inputs, start.members
        if unknown := [name for name in question.criteria if name not in members]:
            raise UnknownForecastGroups(unknown)
        if (memberships := sum(map(len, members.values()))) > _MEMBERSHIPS:
            raise ForecastTooLarge(memberships, _MEMBERSHIPS)
        groups = [
            replace(group, success_criteria=question.criteria.get(group.name, group.success_criteria))
            for group in strategy.groups
        ]
        membership = Membership(Strategy(tuple(groups)), members)
        history = read_history(self.store, before)
        uncounted = self._uncounted(inputs, start.now if before else None)
        assumptions = assumptions_of(inputs, history, question.failures)
        result = forecast(
            membership,
            inputs.configuration.mode,
            assumptions,
            runs=min(question.runs, question.node_runs // max(1, len(membership.nodes))),
            dice=self.new_dice(question.seed),
            progress=_progressed(start, uncounted),
            pace=start.rollout.pace if start.rollout else pacing.of(inputs, membership.members, uncounted=uncounted),
            teardown=assume_teardown(inputs.ways, read_teardowns(self.store, inputs.ways, before), start.teardown),
        )
        measured = all(history[phase].nodes for phase in Phase)
        source = Source.GIVEN if question.failures else Source.HISTORY if measured else Source.DEFAULT
        return ActionForecast(result, question.seed, source, assumptions, history)


def _progressed(start: _Start, uncounted: frozenset[NodeName]) -> Progress:
    """Return how far a rollout has come, with what its policy has made of it."""
    progress = replace(start.progress, uncounted=uncounted, at=start.now)
    if (rollout := start.rollout) is None:
        return progress
    return replace(progress, spared=sorted(rollout.spared), withheld=rollout.withheld)


def _held(strategy: Strategy, nodes: Sequence[NodeRecord]) -> Mapping[GroupName, frozenset[NodeName]]:
    """Return the nodes of each group as the running action knows them."""
    held: dict[GroupName, set[NodeName]] = {group.name: set() for group in strategy.groups}
    for node in nodes:
        for name in node.groups:
            held[GroupName(name)].add(NodeName(node.name))
    return {name: frozenset(members) for name, members in held.items()}


def _progress(groups: Sequence[GroupRecord], nodes: Sequence[NodeRecord], now: datetime) -> Progress:
    """Return how far a rollout has come. Nodes that the provisioner never began are lost: they are not sent again."""
    return Progress(
        nodes={
            NodeName(node.name): NodeStatus.FAILURE if node.reason == Reason.QUEUE_TIMEOUT.value else node.status
            for node in nodes
        },
        groups={GroupName(group.name): GroupStatus(group.status) for group in groups},
        reasons={GroupName(group.name): Reason(group.reason) for group in groups if group.reason},
        running={
            Move(GroupName(group.name), Phase(phase.phase), tuple(map(NodeName, phase.nodes)), phase.batch): max(
                0.0, (now - phase.submitted_at).total_seconds()
            )
            for group in groups
            for phase in group.phases
            if phase.ended_at is None
        },
    )


def _not_known(
    known: _Known, progress: Progress, assumptions: Assumptions, now: datetime, gates: Sequence[GateState]
) -> str:
    """Return what an action waits for if earlier phases say nothing of the wait's end, else an empty text.

    ``gates``: the gates that block it. A rehearsal passes them at once: how long people and queries take is unknown.
    """
    configuration = known.inputs.configuration
    polls = {Phase.PREPARE: configuration.prepare_nodes.interval, Phase.DEPLOY: configuration.deploy_nodes.interval}
    running = [phase for group in known.groups for phase in group.phases if phase.ended_at is None]
    # The first polls would have seen it at work.
    queued = any(
        phase.running_at is None and (now - phase.submitted_at).total_seconds() > _POLLS * polls[Phase(phase.phase)]
        for phase in running
    )
    late = any(assumptions[move.phase].outlasted(passed) for move, passed in progress.running.items())
    over = bool(known.groups) and all(group.status in _OVER for group in known.groups)
    waiting = known.record.waiting_for
    # The gates of the last turn, too: that is how the action shows itself.
    gated = bool(gates or (waiting and waiting.gates))
    if not (queued or late or over or gated or known.record.state is RunState.PAUSED):
        return ""
    waits = f"waits for {waiting.who}: {waiting.what}" if waiting else "waits for a worker"
    return ". ".join([waits, *(gate.outlook for gate in gates)])


def _certain(predicted: ActionForecast, state: RunState) -> ActionForecast:
    """Return the forecast of an action that has ended, and so has an outcome and no time left."""
    success = Estimate.certain(state is RunState.SUCCESS)
    certain = replace(predicted.forecast, success=success, seconds=Seconds(0.0, 0.0, 0.0), relax=None)
    return replace(predicted, forecast=certain)
