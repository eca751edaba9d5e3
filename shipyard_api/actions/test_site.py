"""test_site: does the site work? Changes nothing, and runs beside anything (contract: shipyard-actions, 5.6).

The tests belong to the software stage, which is not part of this release.
"""

from shipyard_api.actions.site_parts import CONFIGURATION, PREFLIGHT, SiteParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition, fixed

MISSING = (
    "This release asks the provisioner how it is and looks for the configuration. It tests no software: the tests of "
    "releases come with the software stage, which is not part of it."
)


def definition(parts: SiteParts) -> Definition:
    """Return the steps of test_site, in order."""
    steps = fixed(
        parts.check(PREFLIGHT, parts.checks.provisioner_is_healthy, asks=parts.provisioner),
        parts.check(CONFIGURATION, parts.checks.configuration_exists),
    )
    return Definition(ActionName.TEST_SITE, steps, MISSING)
