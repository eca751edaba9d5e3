"""update_software: the software of a site, and none of its hardware (contract: shipyard-actions, 5.3).

The software stage is not part of this release; it will stand before the tag. What there is until then is the checks.
"""

from shipyard_api.actions.site_parts import SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition

MISSING = (
    "This release checks the design and tags its revision. It installs no software: the software stage, which runs "
    "the site's task graph, is not part of it."
)


def definition(parts: SiteParts) -> Definition:
    """Return the steps of update_software, in order."""
    return Definition(
        ActionName.UPDATE_SOFTWARE,
        (
            parts.is_alone(),
            parts.is_configuration_there(),
            parts.is_configuration_sound(),
            parts.mark_revision(),
        ),
        MISSING,
    )
