"""update_software: the software of a site, and none of its hardware (contract: shipyard-actions, 5.3)."""

from shipyard_api.actions.site_parts import CONCURRENCY, CONFIGURATION, VALIDATE_DOCUMENTS, SiteParts
from shipyard_api.actions.software_parts import SoftwareParts
from shipyard_api.domain.actions import ActionName, nodes_of_run
from shipyard_api.domain.parameters import NOOP
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.step import AnyStep, Json

MISSING = "Without a task graph no software is installed: the action checks the design and tags its revision."


def definition(parts: SiteParts, software: SoftwareParts) -> Definition:
    """Return the steps of update_software."""
    checks = parts.checks

    def steps(inputs: Json) -> tuple[AnyStep, ...]:
        return (
            parts.check(CONCURRENCY, checks.no_other_action_on(nodes_of_run(inputs))),
            parts.check(CONFIGURATION, checks.configuration_exists),
            parts.check(VALIDATE_DOCUMENTS, checks.configuration_is_sound, spares=()),
            *software.steps(inputs),
            # Neither a command nor what only shows what it would do is a state of the site.
            *(() if {COMMAND, NOOP} & inputs.get("software", {}).keys() else (parts.mark_revision(),)),
        )

    return Definition(ActionName.UPDATE_SOFTWARE, steps, MISSING)
