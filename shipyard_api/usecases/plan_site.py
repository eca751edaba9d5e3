"""Show what an action would do, without doing any of it (product, section 5).

Which nodes a group holds is read from the design; when the action runs, the provisioner is asked for them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import CHECKS, ActionId, ActionName, DocumentChecks, StepId
from shipyard_api.domain.configdocs import Revision, Version
from shipyard_api.domain.errors import Invalid, NotFound, ShipyardError
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.modes import Mode
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import parse_parameters
from shipyard_api.domain.planning import PlannedGroup, plan_groups
from shipyard_api.domain.selectors import select
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.domain.strategy import Strategy
from shipyard_api.domain.targets import targeted
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.usecases.control_action import ControlAction
from shipyard_api.usecases.create_action import ActionRequest, CreateAction
from shipyard_api.usecases.rendered_designs import RenderedDesigns
from shipyard_api.usecases.versions import read_versions
from shipyard_api.workflow.definition import Definition


@dataclass(frozen=True, slots=True)
class Plan:
    """What an action would do, and what is in its way now.

    ``version`` is None and ``retried`` an action for a retry, which works from what that one worked from. ``revision``
    is None if no documents are committed. ``mode`` is None, and there are no groups, where the design cannot be read
    or the action deploys nothing. ``kept`` are nodes that a retry leaves alone, in order of name.
    """

    name: ActionName
    version: Version | None
    retried: ActionId | None
    revision: Revision | None
    refused: ShipyardError | None
    findings: Sequence[Finding]
    steps: Sequence[StepId]
    mode: Mode | None
    groups: Sequence[PlannedGroup] = ()
    kept: Sequence[NodeName] = ()


@dataclass(frozen=True, slots=True)
class PlanSite:
    """The use case; changes nothing, and asks no peer but the one that keeps the documents."""

    create: CreateAction
    control: ControlAction
    designs: DesignStore
    rendered: RenderedDesigns
    rules: DesignRules
    definitions: Mapping[ActionName, Definition]

    def __call__(self, request: ActionRequest, version: Version) -> Plan:
        """Return the plan of an action on a version, the committed one or the buffer as if it were.

        Raises NotFound if the buffer is empty.
        """
        versions = read_versions(self.designs)
        revision = versions.of(version)
        if revision is None and version is Version.BUFFER:
            raise NotFound("This revision does not exist", f"{version.value} version does not exist")
        refused = self.create.refusal(request, revision)
        inputs, findings = self._read(revision) if revision is not None else (None, ())
        strategy, warnings = self._strategy(request, inputs)
        groups = self._groups(inputs, strategy, ()) if inputs and strategy else ()
        return Plan(
            request.name,
            version,
            None,
            revision,
            refused,
            (*findings, *warnings),
            self._steps(request.name),
            inputs.configuration.mode if inputs and strategy else None,
            groups,
        )

    def retry(self, action: str, *, force: bool) -> Plan:
        """Return the plan of a retry of an action, which may not have failed yet; raises NotFound."""
        found = self.control.plan_retry(action, force=force)
        old = found.action
        deploys = CHECKS[old.name].documents is DocumentChecks.EVERYTHING
        inputs = SiteInputs.from_json(found.inputs) if deploys else None
        findings = self._read(old.revision)[1] if inputs and old.revision is not None else ()
        return Plan(
            old.name,
            None,
            old.id,
            old.revision,
            found.refused,
            findings,
            self._steps(old.name),
            inputs.configuration.mode if inputs else None,
            self._groups(inputs, inputs.strategy, found.kept) if inputs else (),
            found.kept,
        )

    def _read(self, revision: Revision) -> tuple[SiteInputs | None, Sequence[Finding]]:
        try:
            return self.rules.read(revision, self.rendered.of(revision))
        except RenderingFailed as failed:
            return None, failed.findings
        except UnknownRevision as unknown:
            return None, (error("RevisionNotFound", str(unknown)),)

    def _strategy(self, request: ActionRequest, inputs: SiteInputs | None) -> tuple[Strategy | None, Sequence[Finding]]:
        """Return the groups that the action deploys, None if it deploys none, and what is odd about its parameters."""
        try:
            parameters, warnings = parse_parameters(request.name, request.parameters)
        except Invalid as invalid:
            return None, invalid.findings
        if request.name is ActionName.REDEPLOY_SERVER:
            return targeted(parameters.targets), warnings
        everything = CHECKS[request.name].documents is DocumentChecks.EVERYTHING
        return inputs.strategy if inputs and everything else None, warnings

    def _groups(self, inputs: SiteInputs, strategy: Strategy, kept: Collection[NodeName]) -> tuple[PlannedGroup, ...]:
        try:
            machines = self.rendered.inventory(Revision(inputs.revision))
        except (RenderingFailed, UnknownRevision):
            return ()
        members = {group.name: select(group.selectors, machines) for group in strategy.groups}
        return plan_groups(strategy, members, inputs.configuration.mode, kept)

    def _steps(self, name: ActionName) -> Sequence[StepId]:
        definition = self.definitions.get(name)
        return [step.id for step in definition.steps] if definition else []
