"""The parts of a design that Shipyard itself reads: deployment configuration and strategy.

Contract: shipyard-rest, chapters 12.1 to 12.3; product, section 3. Used when a design is committed, when an action is
created and when it validates. Always returns all findings, and inputs only if none of them is an error.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain import deployment_configuration
from shipyard_api.domain.burn_in import check_burn_in
from shipyard_api.domain.deploy_steps.planning import RequestedSteps, only, requested_from_json, requested_to_json
from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.documents import BAREMETAL_NODE, Document, Rendering, find
from shipyard_api.domain.drift.firmware import read_firmware
from shipyard_api.domain.findings import DocumentRef, Finding, error, errors, in_short, info, messages_in_short, warning
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.hardware.expected import chosen_mode, read_expected
from shipyard_api.domain.json_types import member
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.provisioner_limits import NO_LIMITS, ProvisionerLimits, check_names
from shipyard_api.domain.rollout.policy.lateness import Usual
from shipyard_api.domain.rollout.policy.policy import ON_SERVERS, Rule
from shipyard_api.domain.rollout.policy.reading import (
    PolicyInputs,
    check_dates,
    check_policy,
    check_windows,
    on_servers,
)
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.stored import Flat
from shipyard_api.domain.strategy import selectors, strategy
from shipyard_api.domain.strategy.strategy import GroupName
from shipyard_api.domain.targets import TARGET_GROUP, strategy_of
from shipyard_api.domain.teardown.etcd_documents import read_etcd_clusters
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.version_rule import VersionRule, expected

_CONFIGURATION = DocumentRef(deployment_configuration.SCHEMA, deployment_configuration.NAME)

Measured = Callable[[], Mapping[Phase, Sequence[float]]]
"""Asks how long each phase of groups took on this site, in seconds and in ascending order; phases may be missing."""

Learn = Callable[[Mapping[NodeName, str]], Usual]
"""Asks how long each phase usually lasts with nodes of these hardware profiles; see ``lateness``."""

_EPOCH = datetime.fromtimestamp(0, UTC)

SchemaCheck = Callable[[str, object], tuple[Finding, ...]]
"""Checks a value against a schema that ships with Shipyard, by name."""


class SiteInputs(Flat, Struct, frozen=True):
    """The inputs of a site action, frozen when it is created.

    ``groups``: the ``data`` of the strategy document as written; None when all nodes are deployed at once.
    ``targets``: the only nodes of a targeted action, in the group ``target_group``; empty for the whole site.
    ``max_parallel_nodes``: as many of them go at a time, a group each; 0: all of them in that one.
    ``deploy_steps``: what the deploy templates of each node asked for when the action was created. ``policy``: the
    rollout policy, None without one. ``clean_steps``: what a runbook runs on nodes before their deployment.
    ``hardware``: what happens to nodes that are not as the design expects, warn or fail; empty: they are not compared.
    ``ways``: the running servers that the action interrupts.
    """

    STORED_VERSION: ClassVar = 1
    PARTS: ClassVar = {"configuration": ""}
    FORMS: ClassVar = dict.fromkeys(("deploy_steps", "clean_steps"), (requested_to_json, requested_from_json))
    OPTIONAL: ClassVar = frozenset(
        {"max_parallel_nodes", "policy", "deploy_steps", "clean_steps", "hardware", "target_group", "ways"}
    )

    revision: int
    configuration: DeploymentConfiguration
    groups: Mapping[str, Any] | None
    targets: tuple[NodeName, ...] = ()
    max_parallel_nodes: int = 0
    policy: PolicyInputs | None = None
    deploy_steps: RequestedSteps = field(default_factory=dict)
    clean_steps: RequestedSteps = field(default_factory=dict)
    hardware: str = ""
    target_group: GroupName = TARGET_GROUP
    ways: Ways = NO_WAYS

    def preparing(self, nodes: Collection[NodeName]) -> RequestedSteps:
        """Return the steps that these nodes run before they are deployed: of a runbook, or of their burn-in."""
        burn_in = self.configuration.burn_in
        return dict.fromkeys(nodes, burn_in.steps) if burn_in else only(self.clean_steps, nodes)

    @property
    def strategy(self) -> strategy.Strategy:
        """The deployment strategy."""
        return strategy_of(self.targets, self.groups, self.target_group, self.max_parallel_nodes)

    def nodes(self, machines: Inventory) -> frozenset[NodeName]:
        """Return the nodes of all groups of the strategy. ``machines``: those of the design."""
        return frozenset().union(*(selectors.select(group.selectors, machines) for group in self.strategy.groups))

    def scaled(self, factor: float) -> "SiteInputs":
        """Return the inputs for a simulated site where a second lasts ``factor`` seconds."""
        policy = self.policy and self.policy.scaled(factor)
        return replace(self, configuration=self.configuration.scaled(factor), policy=policy)


def stored_strategy(stored: Mapping[str, Any]) -> strategy.Strategy:
    """Return the strategy in the stored inputs of any release; the usual one if they name no groups."""
    targets = tuple(NodeName(name) for name in stored.get("targets") or ())
    return strategy_of(targets, stored.get("groups"), batch=stored.get("max_parallel_nodes", 0))


class DesignRules(Struct, frozen=True):
    """Shipyard's own checks of a design.

    ``cluster``: whether a Kubernetes cluster is configured. ``limits``: those of the configured provisioner.
    ``drains``: whether servers can be taken out of their cluster. ``queries``: whether a Prometheus is configured that
    answers the gates of rollout policies. ``max_share``: of the site's nodes, how many an
    action may touch. ``time_scale``: the length of a second in a site's limits; anything but 1 is for simulated sites.
    ``now``: the time, by which a maintenance window may lie in the past; ``read`` does not depend on it.
    ``measured``: asked for a design with windows; ``learn``: for one whose policy has ``late``.
    """

    check: SchemaCheck
    version: VersionRule = VersionRule()  # immutable
    cluster: bool = False
    limits: ProvisionerLimits = NO_LIMITS
    drains: bool = False
    queries: bool = True
    max_share: float = 1.0
    time_scale: float = 1.0
    now: Callable[[], datetime] = lambda: _EPOCH
    measured: Measured = dict
    learn: Learn = lambda _: {}

    @property
    def usual_limits(self) -> TeardownLimits:
        """The limits of a teardown on a site whose design sets none."""
        return TeardownLimits().scaled(self.time_scale)

    def read(self, revision: int, rendering: Rendering) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
        """Return the inputs of an action on this design, and all findings.

        Inputs are None if the configuration or the strategy is invalid. They can come with errors of other checks.
        """
        inputs, findings = read_design(
            revision, rendering, self.check, self.limits, self._unscaled, self._learn_unscaled
        )
        if inputs is not None:
            inputs = replace(inputs.scaled(self.time_scale), hardware=chosen_mode(rendering))
            inputs, faults = self._resolve_join(inputs)
            findings = (*findings, *faults, *self._unanswerable(inputs))
        documents = tuple(rendered.document for rendered in rendering.documents)
        _, etcd = read_etcd_clusters(documents, self.check)
        _, firmware = read_firmware(rendering, self.check)
        boards = (*firmware, *read_expected(rendering, self.check)[1])
        return inputs, (*findings, *self.version.check(documents), *etcd, *boards)

    def findings(self, revision: int, rendering: Rendering) -> tuple[Finding, ...]:
        """Return the findings of a commit: those about the design, and those that depend on the time."""
        inputs, findings = self.read(revision, rendering)
        dated = check_dates(inputs.policy, self.now()) if inputs and inputs.policy else ()
        return (*findings, *(finding.about(_CONFIGURATION) for finding in dated))

    def closed(self, inputs: SiteInputs) -> tuple[Finding, ...]:
        """Return why the windows of the policy let no server begin any more, for an action that asks them."""
        found = check_windows(inputs.policy, self.now()) if inputs.policy else ()
        return tuple(finding.about(_CONFIGURATION) for finding in found)

    def _unanswerable(self, inputs: SiteInputs) -> Iterator[Finding]:
        """Return a finding for each gate that asks a query which nothing answers."""
        for path in inputs.policy.queries if inputs.policy and not self.queries else ():
            message = "This gate asks a query of Prometheus, but Shipyard is configured with none ([prometheus] url)."
            yield error("PolicyQueryUnanswerable", message, path=path).about(_CONFIGURATION)

    def _unscaled(self) -> Mapping[Phase, Sequence[float]]:
        """Return the measured durations as the design would write them: its inputs are scaled as a whole."""
        return {
            phase: [duration / self.time_scale for duration in seconds] for phase, seconds in self.measured().items()
        }

    def _learn_unscaled(self, models: Mapping[NodeName, str]) -> Usual:
        learnt = self.learn(models)
        return {
            phase: {model: seconds / self.time_scale for model, seconds in lengths.items()}
            for phase, lengths in learnt.items()
        }

    def read_configuration(self, revision: int, rendering: Rendering) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
        """Return the inputs of an action that takes no node, and findings about the configuration alone."""
        return self._configured(revision, rendering, ())

    def read_run(self, revision: int, rendering: Rendering) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
        """Return the same for a run of tasks, or an operation on one node: a policy may bind it to windows."""
        return self._configured(revision, rendering, {Rule.WINDOWS})

    def _configured(
        self, revision: int, rendering: Rendering, rules: Collection[Rule]
    ) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
        findings = _secret_inputs(rendering, deployment_configuration.SCHEMA)
        if findings:
            return None, findings
        documents = tuple(rendered.document for rendered in rendering.documents)
        configuration, _, all_findings = _configuration(documents, self.check)
        if configuration is None:
            return None, tuple(all_findings)
        # Servers of single actions were burned in before they joined.
        policy = on_servers(configuration.policy, rules) if configuration.policy and rules else None
        inputs = SiteInputs(revision, replace(configuration, burn_in=None, policy=policy), None)
        inputs, faults = _with_policy(inputs, rendering.machines, self.limits, self._unscaled, self.learn)
        broken = [finding.about(_CONFIGURATION) for finding in errors(faults)]
        return None if broken else inputs.scaled(self.time_scale), (*all_findings, *broken)

    def read_targeted(self, revision: int, rendering: Rendering) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
        """Return the inputs of an action on single servers, still without its targets, and all findings."""
        inputs, findings = self._configured(revision, rendering, ON_SERVERS)
        if inputs is None:
            return None, findings
        inputs, faults = self._resolve_join(replace(inputs, hardware=chosen_mode(rendering)))
        _, etcd = read_etcd_clusters((rendered.document for rendered in rendering.documents), self.check)
        return inputs, (*findings, *faults, *etcd)

    def _resolve_join(self, inputs: SiteInputs) -> tuple[SiteInputs, tuple[Finding, ...]]:
        """Resolve whether deployed nodes must join a cluster; requiring it without a configured cluster is an error."""
        wanted = inputs.configuration.join
        configuration = replace(inputs.configuration, join=self.cluster if wanted is None else wanted)
        settled = replace(inputs, configuration=configuration)
        if not wanted or self.cluster:
            return settled, ()
        finding = error(
            "ClusterNotConfigured",
            "The deployment configuration wants nodes to join Kubernetes, but Shipyard is configured with no cluster "
            "([kubernetes] kubeconfig or url).",
            path="/kubernetes/join",
        )
        return settled, (finding.about(_CONFIGURATION),)


def read_design(
    revision: int,
    rendering: Rendering,
    check: SchemaCheck,
    limits: ProvisionerLimits = NO_LIMITS,
    measured: Measured = dict,
    learn: Learn = lambda _: {},
) -> tuple[SiteInputs | None, tuple[Finding, ...]]:
    """Return the inputs of an action on this design, and all findings; None if one of them is an error."""
    documents = tuple(rendered.document for rendered in rendering.documents)
    findings = _secret_inputs(rendering, deployment_configuration.SCHEMA, strategy.SCHEMA)
    if findings:
        return None, findings
    configuration, named, all_findings = _configuration(documents, check)
    if any(document.schema.startswith("armada/") for document in documents):
        all_findings.append(
            info(
                "ArmadaDocumentsIgnored",
                "The design holds Armada documents. They are kept and served as they are; nothing is done with them.",
            )
        )
    used, faults = _strategy(documents, named, check)
    all_findings.extend(faults)
    all_findings.extend(_unused(documents, used, check))
    if configuration is None or errors(all_findings):
        return None, tuple(all_findings)
    name, groups = (used.name, used.data) if used else (None, None)
    if burn_in := configuration.burn_in:
        all_findings.extend(finding.about(_CONFIGURATION) for finding in check_burn_in(limits))
        configuration = configuration.with_time_to_burn_in()
        measured, learn = burn_in.measured(measured), burn_in.learnt(learn)
    inputs = SiteInputs(revision, replace(configuration, strategy_name=name), groups)
    all_findings.extend(_members(inputs, rendering.machines, used.ref if used else None, limits))
    inputs, about_policy = _with_policy(inputs, rendering.machines, limits, measured, learn)
    all_findings.extend(finding.about(_CONFIGURATION) for finding in about_policy)
    impossible = errors(about_policy) or (configuration.burn_in and limits.no_clean)
    return None if impossible else inputs, tuple(all_findings)


def _with_policy(
    inputs: SiteInputs, machines: Inventory, declared: ProvisionerLimits, measured: Measured, learn: Learn
) -> tuple[SiteInputs, tuple[Finding, ...]]:
    """Return the inputs with the policy of the site, and the findings about it."""
    configuration = inputs.configuration
    if configuration.policy is None:
        return inputs, ()
    limits = {Phase.PREPARE: configuration.prepare_nodes.timeout, Phase.DEPLOY: configuration.deploy_nodes.timeout}
    history = measured() if configuration.policy.get("windows") else {}
    policy = PolicyInputs.of(configuration.policy, machines, limits, history, learn)
    return replace(inputs, policy=policy), tuple(check_policy(policy, machines, declared))


def _secret_inputs(rendering: Rendering, *read: str) -> tuple[Finding, ...]:
    """Return errors for secret documents whose content is shown in actions, journals and answers."""
    return tuple(
        error(
            "SecretInDeploymentDocument",
            f"A {rendered.document.schema} cannot be secret, nor take anything from a document that is.",
        ).about(rendered.document.ref)
        for rendered in rendering.documents
        if rendered.secret and rendered.document.schema in read
    )


def _configuration(
    documents: Sequence[Document], check: SchemaCheck
) -> tuple[DeploymentConfiguration | None, str | None, list[Finding]]:
    """Return the configuration, None if it is invalid; the strategy name in it, valid or not; and findings."""
    schema, name = deployment_configuration.SCHEMA, deployment_configuration.NAME
    document = find(documents, schema, name)
    if document is None:
        return None, None, [_missing(schema, name)]
    faults = [finding.about(document.ref) for finding in check("deployment_configuration_v1", document.data)]
    if faults:
        return None, _strategy_name(document.data), faults
    configuration = deployment_configuration.parse_configuration(document.data)
    return configuration, configuration.strategy_name, []


def _strategy_name(data: object) -> str | None:
    """Return the strategy that an invalid configuration names, so that the strategy is checked in the same pass."""
    name = member(data, "physical_provisioner", "deployment_strategy")
    return name if isinstance(name, str) and name else None


def _strategy(
    documents: Sequence[Document], named: str | None, check: SchemaCheck
) -> tuple[Document | None, list[Finding]]:
    """Return the strategy document to use, None for all at once. A named strategy must exist."""
    document = find(documents, strategy.SCHEMA, named or strategy.DEFAULT_STRATEGY_NAME)
    if document is None and named:
        return None, [_missing(strategy.SCHEMA, named)]
    if document is None:
        message = (
            "A deployment strategy document was not specified in the deployment configuration. Because of this, the "
            "strategy used will be all-at-once."
        )
        finding = info("DeploymentStrategyNotSpecified", message)
        return None, [finding.about(_CONFIGURATION)]
    return document, [finding.about(document.ref) for finding in _strategy_faults(document, check)]


def _strategy_faults(document: Document, check: SchemaCheck) -> tuple[Finding, ...]:
    return (*check("deployment_strategy_v1", document.data), *strategy.check_groups(document.data))


def _unused(documents: Sequence[Document], used: Document | None, check: SchemaCheck) -> Iterator[Finding]:
    """Return a finding for each strategy and configuration that is not in use, and would not be accepted if it were."""
    for document in documents:
        if document.schema == strategy.SCHEMA and document is not used:
            faults = errors(_strategy_faults(document, check))
        elif document.schema == deployment_configuration.SCHEMA and document.name != deployment_configuration.NAME:
            faults = errors(check("deployment_configuration_v1", document.data))
        else:
            continue
        if faults:
            message = f"This document is not used, and not sound: {messages_in_short(faults)}"
            yield info("UnusedDocumentNotSound", message, path=faults[0].path).about(document.ref)


def _members(
    inputs: SiteInputs, machines: Inventory, ref: DocumentRef | None, limits: ProvisionerLimits
) -> list[Finding]:
    if not machines.nodes:
        return [warning("DesignWithoutNodes", f"The design has no {BAREMETAL_NODE}: nothing to deploy.")]
    used = inputs.strategy
    members = {group.name: selectors.select(group.selectors, machines) for group in used.groups}
    member_faults = list(strategy.check_members(used, members))
    deployed = frozenset().union(*members.values())
    left_out = machines.nodes.keys() - deployed
    if left_out:
        names = in_short(sorted(left_out), more=", …")
        message = f"{len(left_out)} node(s) are in no deployment group and will not be deployed: {names}."
        member_faults.append(info("NodesInNoDeploymentGroup", message, path="/groups"))
    about = [finding.about(ref) if ref else finding for finding in member_faults]
    return [*about, *check_names(limits, machines.nodes.keys(), deployed)]


def _missing(schema: str, name: str) -> Finding:
    finding = error("DocumentNotFoundError", f"Missing required document {schema}", diagnostic=expected(schema, name))
    return finding.about(DocumentRef(schema, name))
