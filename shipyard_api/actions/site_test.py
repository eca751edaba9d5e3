"""test_site: does the site work? Runs beside anything (contract: shipyard-actions, 5.6).

The tests are the tasks of the stage ``test`` of the task graph, on all nodes that were deployed.
"""

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_steps import CONFIGURATION, PREFLIGHT
from shipyard_api.actions.software_steps import TESTS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import FORCED, RELEASES
from shipyard_api.domain.parameters import TESTS as TESTED
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site, checks = parts.site, parts.site.checks
    return (
        site.check(PREFLIGHT, checks.provisioner_is_healthy, asks=site.provisioner),
        site.check(CONFIGURATION, checks.configuration_exists),
        *parts.software.steps(inputs, TESTS),
    )


TEST_SITE = Action(
    name=ActionName("test_site"),
    work={NodeWork.OTHER},
    steps=_steps,
    parameters=(FORCED, RELEASES, TESTED),
    missing="Without a task graph no software is tested: the action asks the provisioner how it is.",
    exclusive=False,
    runs_tasks=True,
)
