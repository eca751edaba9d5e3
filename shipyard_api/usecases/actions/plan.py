"""Show what an action would do, without doing any of it (product, section 5).

Which nodes a group holds is read from the design; when the action runs, the provisioner is asked for them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from shipyard_api.domain.actions import CHECKS, ActionId, ActionName, DocumentChecks, StepId
from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.errors import NotFound, ShipyardError
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.modes import Mode
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import Parameters
from shipyard_api.domain.planning import PlannedGroup, plan_groups
from shipyard_api.domain.selectors import select
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy import Strategy
from shipyard_api.domain.targets import targeted
from shipyard_api.ports.documents import DesignStore, RenderingFailed, UnknownRevision
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import ActionRequest, CreateAction, Design
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions
from shipyard_api.workflow.definition import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an action would do, and what is in its way now.

    ``version`` is None and ``retried`` an action for a retry, which works from what that one worked from. ``revision``
    is None if no documents are committed. ``findings`` are about as much of the design as the action looks at. ``mode``
    is None, and there are no groups, where the design cannot be read or the action deploys nothing. ``kept`` are nodes
    that a retry leaves alone, in order of name.
    """

    name: ActionName
    version: Version | None = None
    retried: ActionId | None = None
    revision: Revision | None
    refused: ShipyardError | None
    findings: Sequence[Finding]
    steps: Sequence[StepId]
    mode: Mode | None
    groups: Sequence[PlannedGroup]
    kept: Sequence[NodeName] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSite:
    """The use case; changes nothing, and asks no peer but the one that keeps the documents."""

    create: CreateAction
    control: ControlAction
    designs: DesignStore
    rendered: RenderedDesigns
    definitions: Mapping[ActionName, Definition]

    def __call__(self, request: ActionRequest, version: Version) -> Plan:
        """Return the plan of an action on a version, the committed one or the buffer as if it were.

        Raises NotFound if the buffer is empty.
        """
        heads = self.designs.heads()
        revision = read_versions(self.designs, heads).of(version)
        if revision is None and version is Version.BUFFER:
            raise NotFound("This revision does not exist", f"{version.value} version does not exist")
        checked = self.create.foresee(request, heads, revision)
        design = checked.design or self._read(request.name, revision)
        strategy = _strategy(request.name, checked.parameters, design.inputs)
        return Plan(
            name=request.name,
            version=version,
            revision=revision,
            refused=checked.refused,
            findings=(*design.findings, *checked.told),
            steps=self._steps(request.name),
            mode=design.inputs.configuration.mode if design.inputs and strategy else None,
            groups=self._groups(design.inputs, strategy, ()) if design.inputs and strategy else (),
        )

    def retry(self, action: str, *, force: bool) -> Plan:
        """Return the plan of a retry of an action, which may not have failed yet; raises NotFound."""
        found = self.control.plan_retry(action, force=force)
        old = found.action
        deploys = CHECKS[old.name].documents is DocumentChecks.EVERYTHING
        inputs = SiteInputs.from_json(found.inputs) if deploys else None
        return Plan(
            name=old.name,
            retried=old.id,
            revision=old.revision,
            refused=found.refused,
            findings=self._read(old.name, old.revision).findings if deploys else (),
            steps=self._steps(old.name),
            mode=inputs.configuration.mode if inputs else None,
            groups=self._groups(inputs, inputs.strategy, found.kept) if inputs else (),
            kept=found.kept,
        )

    def _read(self, name: ActionName, revision: Revision | None) -> Design:
        """Return what the action looks at in a design, whatever refuses the action."""
        if revision is None:
            return Design()
        try:
            return self.create.read(name, revision)
        except UnknownRevision as unknown:
            return Design(findings=(error("RevisionNotFound", str(unknown)),))

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


def _strategy(name: ActionName, parameters: Parameters | None, inputs: SiteInputs | None) -> Strategy | None:
    """Return the groups that the action deploys, None if it deploys none or cannot be understood."""
    if parameters is None:
        return None
    if name is ActionName.REDEPLOY_SERVER:
        return targeted(parameters.targets)
    return inputs.strategy if inputs and CHECKS[name].documents is DocumentChecks.EVERYTHING else None
