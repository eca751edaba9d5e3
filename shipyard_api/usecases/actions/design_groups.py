"""The deployment groups that an action would deploy, with the nodes that the design gives them."""

from collections.abc import Mapping

from shipyard_api.actions.action import Case, DesignCheck
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import error
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import GroupName, Strategy
from shipyard_api.ports.documents import UnknownRevision
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns


def design_at(check: CheckAction, name: ActionName, revision: Revision | None) -> DesignCheck:
    """Return the design check even when the request is refused before it."""
    if revision is None:
        return DesignCheck()
    try:
        return check.design(ACTIONS[name], revision)
    except UnknownRevision as unknown:
        return DesignCheck(findings=(error("RevisionNotFound", str(unknown)),))


def strategy_of(case: Case, inputs: SiteInputs | None) -> Strategy | None:
    """Return the groups that the action deploys or takes down; None without any, or if its parameters are invalid."""
    return case.action.groups(case.parsed, inputs) if case.parsed else None


def members_of(
    rendered: RenderedDesigns, inputs: SiteInputs, strategy: Strategy
) -> Mapping[GroupName, frozenset[NodeName]]:
    """Return the nodes of each group. Raises RenderingFailed and UnknownRevision."""
    machines = rendered.inventory(Revision(inputs.revision))
    return {group.name: select(group.selectors, machines) for group in strategy.groups}
