"""update_software: the software of a site, and none of its hardware (contract: shipyard-actions, 5.3)."""

from shipyard_api.actions.action import Action, Parts
from shipyard_api.actions.admission import (
    commits_used,
    committed,
    design_sound,
    paced,
    share_small,
    software_runs,
    windows_open,
)
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_steps import CONFIGURATION
from shipyard_api.domain.actions import ActionName, nodes_of_run
from shipyard_api.domain.holds import NodeWork
from shipyard_api.domain.parameters import CONTINUES, FORCED, INTERMEDIATE, NOOP, SOFTWARE
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.workflow.step import AnyStep


def _steps(parts: Parts, inputs: ActionInputs) -> tuple[AnyStep, ...]:
    site, checks = parts.site, parts.site.checks
    return (
        site.alone(checks.no_other_action_on(nodes_of_run(inputs.software))),
        site.check(CONFIGURATION, checks.configuration_exists),
        site.sound(),
        *parts.software.steps(inputs),
        # Neither a command nor what only shows what it would do is a state of the site.
        *(() if inputs.software and {COMMAND, NOOP} & inputs.software.keys() else (site.mark_revision(),)),
    )


UPDATE_SOFTWARE = Action(
    name=ActionName("update_software"),
    work={NodeWork.OTHER},
    steps=_steps,
    parameters=(CONTINUES, INTERMEDIATE, FORCED, SOFTWARE),
    missing="Without a task graph no software is installed: the action checks the design and tags its revision.",
    admission=(committed, commits_used, design_sound, paced, windows_open, software_runs, share_small),
    reads=DesignRules.read_run,
    runs_tasks=True,
    rules={Rule.WINDOWS},
)
