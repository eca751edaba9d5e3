"""An action as a value: what it reads, does and excludes, and its steps (ADR 0032).

Create, check, plan and control fold over these values; nothing outside this package compares the name of an action.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import Reads
from shipyard_api.actions.site_steps import SiteSteps
from shipyard_api.actions.software_steps import SoftwareSteps
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.actions.teardown_steps import TeardownSteps
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.deploy_steps.planning import NO_STEPS, StepPlan
from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.error_kinds import Invalid, ShipyardError
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.holds import Hold, NodeWork
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.parameters import Parameter, Parameters, parse_parameters
from shipyard_api.domain.policy import PREFIX
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.ports.documents import DesignStore, Heads
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep

Groups = Callable[[Parameters, SiteInputs | None], Strategy | None]
"""Returns the groups that an action deploys or takes down; None if they cannot be known."""


class Parts(Struct, frozen=True):
    """The steps that actions share, from the configured systems."""

    site: SiteSteps
    software: SoftwareSteps
    teardown: TeardownSteps

    def reading(self, reads: Reads) -> "Parts":
        """Return the parts whose checks read as much of a design."""
        return replace(self, site=replace(self.site, checks=replace(self.site.checks, reads=reads)))

    def of(self, inputs: ActionInputs) -> "Parts":
        """Return the parts for an action, which read the design that it was created from."""
        site, software, teardown = self.site, self.software, self.teardown
        return Parts(
            replace(site, checks=site.checks.as_made(inputs)),
            replace(software, checks=software.checks.as_made(inputs)),
            replace(teardown, checks=teardown.checks.as_made(inputs)),
        )


class DesignCheck(Struct, frozen=True):
    """Outcome of reading a design for an action. ``inputs`` is None if the action cannot work from the design."""

    inputs: SiteInputs | None = None
    findings: Sequence[Finding] = ()


class StepPlanner(Protocol):
    """Plans the deploy steps of nodes; every method may raise ports.errors."""

    def __call__(self, revision: int, only: Collection[NodeName] | None = None) -> StepPlan:
        """Return the steps of the nodes of a revision, or only of some of them."""

    def skip_deployed(self, revision: int) -> StepPlan:
        """Return the plan of a deployment of the site with the nodes that it leaves alone."""

    def deployed(self, nodes: Collection[NodeName]) -> frozenset[NodeName]:
        """Return those of the nodes that the provisioner shows as deployed."""

    def service(self, template: str, runbook: str, nodes: Collection[NodeName]) -> StepPlan:
        """Return the steps of a template, or of a runbook, on these deployed nodes."""

    def cleaning(self, runbook: str, nodes: Collection[NodeName]) -> StepPlan:
        """Return the steps of a runbook that clean these nodes before their deployment."""


class Desk(Protocol):
    """What the checks of an admission may ask."""

    @property
    def store(self) -> Store:
        """Our own store."""

    @property
    def designs(self) -> DesignStore:
        """The revisions."""

    @property
    def rules(self) -> DesignRules:
        """The rules for designs, and what the provisioner can do."""

    @property
    def plan_steps(self) -> StepPlanner:
        """The planner of deploy steps."""

    @property
    def specifications(self) -> Specifications:
        """What nodes would be given, and were."""

    @property
    def check_acceptance(self) -> Callable[[int], Sequence[Finding]]:
        """Returns errors about acceptance tasks of a revision that cannot run."""

    @property
    def check_software(self) -> Callable[[Revision, JsonObject], ShipyardError | None]:
        """Returns the refusal of a run of the task graph with these limits."""

    def protection(self, case: "Case") -> Protection:
        """Return what protects running things by the revision that counts as committed."""

    def etcd_forbids(self, case: "Case") -> ShipyardError | None:
        """Return why the members of the targets may not leave their etcd clusters."""

    def outside_cluster(self, nodes: Sequence[NodeName]) -> Sequence[NodeName]:
        """Return those of the nodes that the cluster does not have. Raises ports.errors."""

    def design(self, action: "Action", revision: Revision) -> DesignCheck:
        """Read as much of a revision as the action needs. Raises UnknownRevision."""

    def inventory(self, revision: Revision) -> Inventory:
        """Return the machines of a revision. Raises UnknownRevision and RenderingFailed."""


class Case(Struct, frozen=True, kw_only=True):
    """A request on its way through the admission of its action.

    ``written``: its parameters as they were sent. ``parsed``: None if they are invalid, which refuses the request.
    ``committed``: the revision that counts as committed, None without one. ``allows_commits``: whether commits that no
    site action used are accepted; None if the caller did not say.

    ``inputs``: what the action would work from, as far as it is known. ``findings``: those of its design, None if it
    was not read. ``warnings``: for the caller, beside the action: about the parameters first. ``version``: the one that
    ``target-revision`` names. ``commits``: those that no site action has used. ``steps``: the deploy steps of the
    nodes. ``refusal``: None while nothing refuses the request. ``may_pass_policy``: whether ``force`` of this caller
    passes budgets and windows; ``may_override_holds``: the same of holds. ``held``: those that it overrides.
    """

    action: "Action"
    written: JsonObject
    heads: Heads
    committed: Revision | None
    allows_commits: bool | None
    inputs: ActionInputs
    parsed: Parameters | None = None
    findings: Sequence[Finding] | None = None
    warnings: Sequence[Finding] = ()
    version: Version | None = None
    commits: Sequence[Revision] = ()
    steps: StepPlan = NO_STEPS
    refusal: ShipyardError | None = None
    may_pass_policy: bool = False
    may_override_holds: bool = False
    held: Sequence[Hold] = ()

    @property
    def parameters(self) -> Parameters:
        """The parsed parameters; the defaults if they are invalid."""
        return self.parsed or self.action.parsed()

    @property
    def revision(self) -> Revision | None:
        """What the action works from; None without documents."""
        return Revision(self.inputs.revision) if self.inputs.revision else None

    @property
    def design(self) -> DesignCheck | None:
        """The outcome of reading the design; None if it was not read."""
        return None if self.findings is None else DesignCheck(self.inputs.site, self.findings)

    @property
    def overridden(self) -> JsonObject:
        """Problems that the caller chose to override, for the log; empty if there are none."""
        wrong = [finding.message for finding in errors(self.findings or ())]
        problems = {"intermediate": list(self.commits), "errors": wrong}
        return {name: found for name, found in problems.items() if found}

    @property
    def site(self) -> SiteInputs:
        """What was read from the design; only for checks that follow its reading."""
        return self.inputs.of_site

    def having(self, **inputs: Any) -> "Case":
        """Return the case with these inputs."""
        return replace(self, inputs=replace(self.inputs, **inputs))

    def refused(self, refusal: ShipyardError | None) -> "Case":
        """Return the case with its refusal; None: nothing changes."""
        return replace(self, refusal=refusal)


Check = Callable[[Case, Desk], Case]
"""One check of an admission: returns the case with what it found, or refused."""


def _no_groups(_parameters: Parameters, _inputs: SiteInputs | None) -> Strategy | None:
    return None


def strategy_of_site(_parameters: Parameters, inputs: SiteInputs | None) -> Strategy | None:
    """Return the groups of the design's strategy."""
    return inputs.strategy if inputs else None


def _no_steps(_parts: Parts, _inputs: ActionInputs) -> tuple[AnyStep, ...]:
    return ()


def _no_facts(_parts: Parts, _inputs: ActionInputs) -> tuple[Fact, ...]:
    return ()


class Action(Struct, frozen=True, kw_only=True):
    """One action.

    ``steps``: pure; the same inputs give the same steps. ``first_facts``: known from the inputs alone, recorded when
    the action is created. ``missing``: what it does not do without a task graph. ``parameters``: in the order in which
    they are read, into ``parsed``: a subclass of ``Parameters`` for an action with fields of its own. ``frozen``: the
    same of its inputs.

    ``admission``: the checks of a request, in order. ``asks_peers``: those that follow and may raise ports.errors;
    a forecast does without. ``reads``: None for an action that needs no design. ``groups``: for plans and forecasts.

    ``listed``: operators create it by name, and lists have it. ``exclusive``: only one such action runs at a time, or
    on a node at a time if it names nodes. ``on_site``: it works on the groups of the design's strategy. ``deploys``: it
    deploys nodes. ``tears_down``: it takes servers out of their cluster, and may take etcd members out. ``services``:
    it runs deploy steps on deployed servers. ``relabels``: it changes only the labels of its targets.
    ``runs_tasks``: it runs the task graph of a site that has one. ``limited``: its limits can change while it runs.
    ``rules``: those of a rollout policy that have a meaning for it. ``work``: what it does to nodes: holds of some
    classes forbid it.
    """

    name: ActionName
    work: Collection[NodeWork]
    steps: Callable[[Parts, ActionInputs], tuple[AnyStep, ...]]
    first_facts: Callable[[Parts, ActionInputs], tuple[Fact, ...]] = _no_facts
    missing: str = ""
    parameters: Sequence[Parameter] = ()
    parsed: type[Parameters] = Parameters
    frozen: type[ActionInputs] = ActionInputs
    admission: Sequence[Check] = ()
    asks_peers: Sequence[Check] = ()
    listed: bool = True
    exclusive: bool = True
    reads: Reads | None = None
    groups: Groups = _no_groups
    on_site: bool = False
    deploys: bool = False
    tears_down: bool = False
    services: bool = False
    relabels: bool = False
    runs_tasks: bool = False
    limited: bool = False
    rules: Collection[Rule] = frozenset()

    @property
    def removes(self) -> bool:
        """Whether its servers are undeployed when it succeeds: such a server is no failed one."""
        return self.tears_down and not self.deploys

    @property
    def right(self) -> str:
        """The policy rule of callers who create it; parameters may have rights of their own."""
        return f"{PREFIX}action_{self.name}"

    @property
    def takes_nodes(self) -> bool:
        """Whether a policy that names no actions binds it: it deploys, erases, drains or services nodes of a site.

        A policy has to name single operations, which a person waits for.
        """
        return self.listed and not {NodeWork.DEPLOYMENT, NodeWork.TEARDOWN}.isdisjoint(self.work)

    def excludes(self, operation: NodeOperation) -> bool:
        """Return whether both may take etcd members out, so that the operation excludes it, on whatever node."""
        return self.tears_down and operation.takes_members

    @property
    def knows(self) -> frozenset[str]:
        """The names of its parameters."""
        return frozenset(name for parameter in self.parameters for name in parameter.names)

    def definition(self, parts: Parts) -> Definition:
        """Return the steps as the engine runs them."""
        parts = parts.reading(self.reads) if self.reads else parts
        steps = self.steps
        return Definition(
            self.name,
            lambda inputs: steps(parts.of(inputs), inputs),
            self.missing,
            partial(self.first_facts, parts),
            self.frozen.from_json,
        )


class Catalog:
    """The actions of this release, in the order in which people see them."""

    def __init__(self, *actions: Action) -> None:
        self.by_name: dict[ActionName, Action] = {action.name: action for action in actions}

    def __getitem__(self, name: ActionName) -> Action:
        """Return the action with this name; an action of another release has only its name."""
        if name in self.by_name:
            return self.by_name[name]
        return Action(name=name, work=list(NodeWork), steps=_no_steps, listed=False, exclusive=False)

    def __iter__(self) -> Iterator[Action]:
        return iter(self.by_name.values())

    def names(self, has: Callable[[Action], bool]) -> tuple[ActionName, ...]:
        """Return the names of the actions that have a property."""
        return tuple(action.name for action in self if has(action))

    def parse(self, name: ActionName, written: JsonObject) -> tuple[Parameters, tuple[Finding, ...]]:
        """Return the parsed parameters of an action, and a warning for each that is unknown or misspelled.

        Raises Invalid for those that cannot be used.
        """
        action = self[name]
        known = {entry.name: entry.knows for entry in (*self, action) if entry.listed or entry is action}
        return parse_parameters(name, written, action.parameters, action.parsed, known)

    def rights(self, name: ActionName, written: JsonObject) -> Sequence[str]:
        """Return the policy rules of callers who create an action with these parameters, as they are written."""
        action = self[name]
        return [action.right, *(right for each in action.parameters for right in each.rights(written))]

    def targets(self, name: ActionName, stored: JsonObject) -> Sequence[NodeName]:
        """Return the nodes in the stored parameters of an action, whatever it has done yet; none for a whole site."""
        try:
            return self.parse(name, stored)[0].targets
        except Invalid:
            return ()  # of another release

    @property
    def listed(self) -> Sequence[ActionName]:
        """The names under which operators create actions."""
        return self.names(lambda action: action.listed)

    @property
    def deploying(self) -> Sequence[ActionName]:
        """The names of the actions that deploy nodes."""
        return self.names(lambda action: action.deploys)

    @property
    def of_the_site(self) -> Sequence[ActionName]:
        """The names of the actions that deploy the whole site."""
        return self.names(lambda action: action.on_site and action.deploys)

    def definitions(self, parts: Parts) -> Mapping[ActionName, Definition]:
        """Return what the engine runs, by name."""
        return {action.name: action.definition(parts) for action in self}
