"""test_site: does the site work? Runs beside anything (contract: shipyard-actions, 5.6).

The tests are the tasks of the stage ``test`` of the task graph, on all nodes that were deployed.
"""

from shipyard_api.actions.site_parts import CONFIGURATION, PREFLIGHT, SiteParts
from shipyard_api.actions.software_parts import TESTS, SoftwareParts
from shipyard_api.domain.actions import ActionName
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json

MISSING = "Without a task graph no software is tested: the action asks the provisioner how it is."


def definition(parts: SiteParts, software: SoftwareParts) -> Definition:
    """Return the steps of test_site."""

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        return (
            parts.check(PREFLIGHT, parts.checks.provisioner_is_healthy, asks=parts.provisioner),
            parts.check(CONFIGURATION, parts.checks.configuration_exists),
            *software.steps(inputs, TESTS),
        )

    return Definition(ActionName.TEST_SITE, steps, MISSING)
