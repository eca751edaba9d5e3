"""Chapters 6.1 to 6.3 and 6.5: the action entity in the list and by itself, its lifecycle and its notes."""

from typing import Any

from tests.integration.api.contract.case import Case, Who, error
from tests.integration.api.contract.entities import COMMAND, DESCRIBED, LISTED, NOTE, STEP_SUMMARY
from tests.integration.api.contract.matching import All, Among, Count, Each, Entity, Named, Pattern
from tests.integration.api.contract.states import UNKNOWN_ULID

# 6.2: the state of the run, and the word that wait loops compare.
LIFECYCLE = {
    "queued": ("queued", "Pending"),
    "running": ("running", "Processing"),
    "paused": ("paused", "Paused"),
    "succeeded": ("success", "Complete"),
    # 17: failed, and so Failed, also where closing steps ran.
    "failed": ("failed", "Failed"),
    # 17: actions older than 30 days keep their final state.
    "old": ("success", "Complete"),
}
IDENTITY: dict[str, Any] = {
    "id": "$action",
    "name": "deploy_site",
    "dag_id": "deploy_site",
    "dag_execution_date": "$mark",
    "user": "ann",
    "context_marker": "$marker",
}
PARAMETERS = {"parameters": {"continue-on-fail": "true"}}
# 6.4: the note that every action with a revision starts with.
FIRST_NOTE = NOTE.but(
    assoc_id="action/$action",
    subject="$action",
    sub_type="action metadata",
    note_val="Configdoc revision $committed",
    verbosity=1,
    resolved_url_value=None,
)
INVOKED = COMMAND.but(action_id="$action", command="invoke", user="ann")


def shown(given: str) -> dict[str, Any]:
    """What a state's action is, run and lifecycle included."""
    run, lifecycle = LIFECYCLE[given]
    moved = {"dag_execution_date": Pattern(".+")} if given == "old" else {}
    return {**IDENTITY, **PARAMETERS, **moved, "dag_status": run, "action_lifecycle": lifecycle}


def step(name: str, state: Any, **fields: Any) -> Entity:
    """The summary of a step; the address is without the prefix, which scripts put before it."""
    return STEP_SUMMARY.but(id=name, state=state, url=f"/actions/$action/steps/{name}", **fields)


CASES = [
    Case(section="6.3", name="no action", ask="GET actions", who=Who.VIEWER, code=200, answer=[]),
    *(
        Case(
            section="6.3",
            name=f"an action that is {given}, listed",
            given=given,
            ask="GET actions",
            who=Who.VIEWER,
            code=200,
            answer=[LISTED.but(**shown(given), notes=[FIRST_NOTE])],
        )
        for given in LIFECYCLE
    ),
    *(
        Case(
            section="6.5",
            name=f"an action that is {given}, by itself",
            given=given,
            ask="GET actions/$action",
            who=Who.VIEWER,
            code=200,
            answer=DESCRIBED.but(
                **shown(given),
                notes=[FIRST_NOTE],
                validations=[],
                command_audit=[INVOKED, COMMAND.but(command="pause")] if given == "paused" else [INVOKED],
            ),
        )
        for given in LIFECYCLE
    ),
    Case(section="6.3", name="an admin may list", given="queued", ask="GET actions", code=200, answer=[LISTED]),
    Case(
        section="6.3",
        name="all actions ever, on one page",
        given="many",
        ask="GET actions?verbosity=0",
        code=200,
        answer=All(Count(150), Each(LISTED.but(notes=[]))),
    ),
    Case(
        section="6.3",
        name="in order of creation, each with its own state",
        given="retried",
        ask="GET actions",
        code=200,
        answer=[
            LISTED.but(id="$first", action_lifecycle="Failed"),
            LISTED.but(id="$action", action_lifecycle="Processing"),
        ],
    ),
    *(
        Case(
            section="6.3",
            name=f"{name} is not known, and ignored",
            given="retried",
            ask=f"GET actions?{name}={value}",
            code=200,
            answer=[LISTED, LISTED],
        )
        for name, value in (("page", "7"), ("per_page", "1"), ("colour", "blue"))
    ),
    # --- notes by verbosity -----------------------------------------------------------------------------------------
    *(
        Case(
            section=section,
            name=f"verbosity 0 suppresses notes of {what}",
            given="noted",
            ask=f"GET actions{path}?verbosity=0",
            code=200,
            answer=answer,
        )
        for section, what, path, answer in (
            ("6.3", "the list", "", [LISTED.but(notes=[])]),
            ("6.5", "an action", "/$action", DESCRIBED.but(notes=[], steps=Each(STEP_SUMMARY.but(notes=[]), least=5))),
        )
    ),
    *(
        Case(
            section="6.3",
            name=f"steps carry no notes in the list, verbosity {verbosity}",
            given="noted",
            ask=f"GET actions?verbosity={verbosity}",
            code=200,
            answer=[LISTED.but(notes=Among(FIRST_NOTE), steps=Each(STEP_SUMMARY.but(notes=[]), least=5))],
        )
        for verbosity in (1, 5)
    ),
    Case(
        section="6.5",
        name="notes of steps go up to 1, however much is asked for",
        given="noted",
        ask="GET actions/$action?verbosity=5",
        code=200,
        answer=DESCRIBED.but(steps=Each(STEP_SUMMARY.but(notes=Each(NOTE.but(verbosity=1))), least=5)),
    ),
    # --- steps ------------------------------------------------------------------------------------------------------
    Case(
        section="7.1",
        name="steps that have not begun have no state",
        given="queued",
        ask="GET actions/$action",
        code=200,
        answer=DESCRIBED.but(steps=Each(STEP_SUMMARY.but(state=None), least=5)),
    ),
    Case(
        section="7.1",
        name="steps are in the order of what depends on what",
        given="queued",
        ask="GET actions/$action",
        code=200,
        # shipyard-actions 5.1, and the bare ids of groups that field scripts compare (product, 5).
        answer=DESCRIBED.but(
            steps=Among(
                *(
                    step(name, None)
                    for name in (
                        "preflight.ucp_preflight_check",
                        "drydock_build.verify_site",
                        "drydock_build.prepare_site",
                        "drydock_build.prepare_and_deploy_nodes",
                        "create_action_tag",
                    )
                )
            )
        ),
    ),
    *(
        Case(
            section="7.1",
            name=f"{name} is listed",
            given="queued",
            ask="GET actions/$action",
            code=200,
            answer=DESCRIBED.but(steps=Among(step(name, None))),
        )
        for name in (
            "dag_concurrency_check",
            "preflight",
            "deployment_configuration",
            "validate_site_design.deckhand_validate_site_design",
            "validate_site_design.drydock_validate_site_design",
            "validate_site_design.promenade_validate_site_design",
            "drydock_build",
        )
    ),
    Case(
        section="7.1",
        name="steps count from 1",
        given="queued",
        ask="GET actions/$action",
        code=200,
        answer=DESCRIBED.but(
            steps=Among(STEP_SUMMARY.but(index=1), STEP_SUMMARY.but(index=2), STEP_SUMMARY.but(index=3))
        ),
    ),
    Case(
        section="7.1",
        name="what is done, what runs and what has not begun",
        given="running",
        ask="GET actions/$action",
        code=200,
        answer=DESCRIBED.but(
            steps=Among(step("$done", "success"), step("$current", "running"), STEP_SUMMARY.but(state=None))
        ),
    ),
    Case(
        section="6.2",
        name="a failed step makes a failed action, and what follows was not run",
        given="failed",
        ask="GET actions/$action",
        code=200,
        answer=DESCRIBED.but(
            action_lifecycle="Failed",
            steps=Among(
                STEP_SUMMARY.but(state="success"),
                STEP_SUMMARY.but(state="failed"),
                STEP_SUMMARY.but(state="upstream_failed"),
            ),
        ),
    ),
    # --- unknown ids ------------------------------------------------------------------------------------------------
    *(
        Case(
            section="6.5",
            name=f"there is no action {action!r}",
            given="queued",
            ask=f"GET actions/{action}",
            who=Who.VIEWER,
            code=404,
            answer=error(404, "Action not found", f"Unknown Action: {action}"),
        )
        for action in (UNKNOWN_ULID, "x", "1", "deploy_site", "0" * 40)
    ),
    Case(
        section="6.5",
        name="an id in small letters is another id",
        ask=f"GET actions/{UNKNOWN_ULID.lower()}",
        code=404,
        answer=error(404, "Action not found", f"Unknown Action: {UNKNOWN_ULID.lower()}"),
    ),
    Case(
        section="11",
        name="timestamps of one instant agree, and ids are ULIDs",
        given="queued",
        ask="GET actions/$action",
        code=200,
        answer=DESCRIBED.but(id=Named("action"), dag_execution_date=Named("mark")),
    ),
]
