"""The step that deploys nodes, over peers in memory, and states of it on the way."""

import json
from collections.abc import Iterable
from contextlib import nullcontext
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.steps.baremetal_nodes import BaremetalNodes
from shipyard_api.actions.steps.job_watch import Submitted
from shipyard_api.actions.steps.joining import Answer
from shipyard_api.actions.steps.rollout_messages import Answers, Members, PollJobs, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.actions import StepId
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration, PhaseLimits
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import SERIAL, Mode
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.provisioner import JobId, JobReport, JobState
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Folded, PeerFailure
from tests.factories import group_entry
from tests.fakes.provisioner import FakeProvisioner
from tests.unit.actions.steps.instants import T0, at

DESIGN = "fake://design/7"
SILENCE = PeerFailure("503 no answer", refused=False)
REFUSAL = PeerFailure("403 forbidden", refused=True, whole_site=True)
TWO_GROUPS = {"a": "n1 n2", "b": "n3"}


def names(words: str) -> tuple[NodeName, ...]:
    return tuple(NodeName(word) for word in words.split())


def of(facts: Iterable[Fact], *kinds: type[Fact]) -> list[Fact]:
    """Return the facts of these kinds."""
    return [fact for fact in facts if isinstance(fact, kinds)]


def store_with_jobs(*jobs: str) -> Any:
    """Return a store whose journal has only these jobs."""
    journal = SimpleNamespace(jobs_since=lambda _since: {JobId(job) for job in jobs}, owner=lambda _job: "")
    return SimpleNamespace(begin=lambda: nullcontext(SimpleNamespace(journal=journal)))


class Held:
    """A store that has only the nodes that no criterion counts."""

    def __init__(self, nodes: str = "") -> None:
        self._nodes = frozenset(names(nodes))

    def read(self, _query: object) -> frozenset[NodeName]:
        return self._nodes


def step(
    provisioner: FakeProvisioner | None = None, cluster: Cluster | None = None, store: Any = None
) -> BaremetalNodes:
    return BaremetalNodes(
        StepId("nodes"),
        cast(Store, store or Held()),
        provisioner or FakeProvisioner(),
        cluster,
        give_up_after=60,
        pause=10,
    )


STEP = step()


def site(
    groups: Iterable[dict[str, Any]], *, mode: Mode = SERIAL, join: bool = False, policy: PolicyInputs | None = None
) -> SiteInputs:
    """Return inputs in which no two limits are the same."""
    configuration = DeploymentConfiguration(
        strategy_name="of-the-site",
        prepare_nodes=PhaseLimits(30, 300),
        deploy_nodes=PhaseLimits(40, 400),
        queue_limit=1000,
        mode=mode,
        join=join,
        join_wait=120,
        node_status=PhaseLimits(50, 500),
    )
    return SiteInputs(7, configuration, {"groups": list(groups)}, policy=policy)


def begun(
    members: dict[str, str],
    *,
    mode: Mode = SERIAL,
    join: bool = False,
    groups: dict[str, dict[str, Any]] | None = None,
    policy: PolicyInputs | None = None,
) -> RolloutState:
    """Return a state whose members are known; ``groups`` are the fields of group entries that are not ordinary."""
    entries = [group_entry(name, **(groups or {}).get(name, {})) for name in members]
    state = STEP.begin(ActionInputs.from_json(site(entries, mode=mode, join=join, policy=policy).to_json()))
    found = {GroupName(name): frozenset(names(words)) for name, words in members.items()}
    return STEP.fold(state, SelectMembers(state.inputs), Members(found), T0).state


def reread(state: RolloutState) -> RolloutState:
    """Return the state as the next turn reads it."""
    return RolloutState.from_json(json.loads(json.dumps(state.to_json())))


def submit(state: RolloutState, job: str, now: datetime = T0) -> Folded[RolloutState]:
    """Let the next move be accepted as this job."""
    decision = STEP.decide(state, now)
    return STEP.fold(state, decision.effect, Submitted(JobId(job)), now)


def question(state: RolloutState, now: datetime) -> PollJobs:
    """Return how what is under way is polled."""
    look = STEP.watch(state, now)
    assert isinstance(look.question, PollJobs)
    return look.question


def poll(
    state: RolloutState,
    now: datetime,
    *reports: JobReport,
    errors: dict[str, PeerError] | None = None,
    readiness: Answer | None = None,
    machines: dict[str, str] | None = None,
    uncounted: frozenset[NodeName] | None = None,
) -> Folded[RolloutState]:
    """Fold the answers to the poll of everything that is under way; machines are listed if the poll asks for them."""
    given = {one.job: one for one in reports} | {JobId(job): error for job, error in (errors or {}).items()}
    asked = question(state, now)
    labels = (machines or {}) if asked.machines else None
    return STEP.fold(state, asked, Answers(given, readiness, machines=labels, uncounted=uncounted), now)


def queued(job: str) -> JobReport:
    return JobReport(JobId(job), JobState.QUEUED, ok=False)


def running(job: str, succeeded: str = "", failed: str = "", message: str = "", **reasons: str) -> JobReport:
    return _report(job, JobState.RUNNING, succeeded, failed, message, reasons)


def ended(job: str, succeeded: str = "", failed: str = "", message: str = "", **reasons: str) -> JobReport:
    return _report(job, JobState.ENDED, succeeded, failed, message, reasons)


def lost(job: str) -> JobReport:
    return JobReport(JobId(job), JobState.LOST, ok=False)


def _report(job: str, state: JobState, succeeded: str, failed: str, message: str, reasons: dict[str, str]) -> JobReport:
    ok = state is JobState.ENDED and not failed
    why = {NodeName(node): reason for node, reason in reasons.items()}
    return JobReport(JobId(job), state, ok, frozenset(names(succeeded)), frozenset(names(failed)), why, message)


def prepared(members: dict[str, str], **keywords: Any) -> RolloutState:
    """Return a state whose first group is prepared, at second 30; its deployment comes next."""
    state = begun(members, **keywords)
    submit(state, "prepare-1")
    first = next(iter(members.values()))
    return poll(state, at(30), ended("prepare-1", first)).state


def deploying(members: dict[str, str], **keywords: Any) -> RolloutState:
    """Return a state whose first group deploys since second 30, as ``deploy-1``."""
    state = prepared(members, **keywords)
    return submit(state, "deploy-1", at(30)).state
