"""update_software: the software of a site, and none of its hardware (contract: shipyard-actions, 5.3).

The software stage is not part of this release; it will run before the tag. Until then the action consists of checks.
"""

from shipyard_api.actions.site_parts import CONCURRENCY, CONFIGURATION, VALIDATE_DOCUMENTS, SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition, fixed

MISSING = (
    "This release checks the design and tags its revision. It installs no software: the software stage, which runs "
    "the site's task graph, is not part of it."
)


def definition(parts: SiteParts) -> Definition:
    """Return the steps of update_software, in order."""
    checks = parts.checks
    steps = fixed(
        parts.check(CONCURRENCY, checks.no_other_site_action),
        parts.check(CONFIGURATION, checks.configuration_exists),
        parts.check(VALIDATE_DOCUMENTS, checks.configuration_is_sound, spares=()),
        parts.mark_revision(),
    )
    return Definition(ActionName.UPDATE_SOFTWARE, steps, MISSING)
