"""Chapter 7: GET of a step and of its log."""

from typing import Any

from tests.integration.api.contract.case import Case, Raw, Who, error, framework
from tests.integration.api.contract.entities import NOTE, STEP
from tests.integration.api.contract.matching import Among, Each, Either, Named, Pattern, Type
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import unknown_action

TIME = Pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
LISTED = (
    "dag_concurrency_check",
    "preflight",
    "preflight.ucp_preflight_check",
    "deployment_configuration",
    "validate_site_design.deckhand_validate_site_design",
    "validate_site_design.drydock_validate_site_design",
    "validate_site_design.promenade_validate_site_design",
    "drydock_build",
    "drydock_build.verify_site",
    "drydock_build.prepare_site",
    "drydock_build.prepare_and_deploy_nodes",
    "create_action_tag",
)
OF_ACTION = {"dag_id": "deploy_site", "execution_date": "$mark", "run_id": "$action"}
NOT_BEGUN: dict[str, Any] = {"state": None, "start_date": None, "end_date": None, "duration": None}
BAD_ID = error(400, "Invalid Action ID!", "An invalid action ID was specified")
NO_STEP = error(404, "Step Not Found!", "Unable to retrieve Step")
LOG = Raw(Pattern(".*"))


def step(name: str, given: str, ask: str, **rest: Any) -> Case:
    """A read of a step of the state's action."""
    fields = {"section": "7.2", "name": name, "given": given, "ask": f"GET actions/$action/steps/{ask}"}
    return Case(**{**fields, "who": Who.VIEWER, **rest})


def log(name: str, given: str, ask: str, **rest: Any) -> Case:
    """A read of the log of a step; ``ask`` is what follows the address of the actions."""
    return Case(
        **{"section": "7.4", "name": name, "given": given, "ask": f"GET actions/{ask}", "who": Who.VIEWER, **rest}
    )


CASES = [
    *(
        step(
            f"{name} before the action has begun",
            "queued",
            name,
            code=200,
            answer=STEP.but(**OF_ACTION, **NOT_BEGUN, task_id=name, notes=[]),
        )
        for name in LISTED
    ),
    step(
        "one that is done",
        "running",
        "$done",
        code=200,
        answer=STEP.but(
            **OF_ACTION,
            task_id="$done",
            state="success",
            start_date=TIME,
            end_date=TIME,
            duration=Type(float),
            try_number=1,
        ),
    ),
    step(
        "one that runs",
        "running",
        "$current",
        code=200,
        answer=STEP.but(**OF_ACTION, task_id="$current", state="running", start_date=TIME, end_date=None, try_number=1),
    ),
    step(
        "one that failed",
        "failed",
        "deployment_configuration",
        code=200,
        answer=STEP.but(task_id="deployment_configuration"),
    ),
    step(
        "the tag of an action that failed was not reached",
        "failed",
        "create_action_tag",
        code=200,
        answer=STEP.but(state="upstream_failed"),
    ),
    step("with a verbosity, as the client sends it", "running", "$done?verbosity=1", code=200, answer=STEP),
    step("an admin may read too", "running", "$done", who=Who.ADMIN, code=200, answer=STEP),
    # --- notes of a step --------------------------------------------------------------------------------------------
    step("notes up to the verbosity: 0", "noted", "$nodes?verbosity=0", code=200, answer=STEP.but(notes=[])),
    *(
        step(
            f"notes up to the verbosity: {verbosity}",
            "noted",
            f"$nodes?verbosity={verbosity}",
            code=200,
            answer=STEP.but(
                notes=Each(NOTE.but(assoc_id="step/$action/$nodes", verbosity=Either(*range(1, verbosity + 1))))
            ),
        )
        for verbosity in range(1, 6)
    ),
    step(
        "all notes, the one that leads on among them",
        "noted",
        "$nodes?verbosity=5",
        code=200,
        answer=STEP.but(
            notes=Among(
                NOTE.but(
                    note_id=Named("leading"),
                    assoc_id="step/$action/$nodes",
                    verbosity=5,
                    resolved_url_value="Details at notedetails/$leading",
                )
            )
        ),
    ),
    # --- what is not there ------------------------------------------------------------------------------------------
    *(
        step(
            f"there is no step {name!r}",
            "queued",
            name,
            code=404,
            answer=error(404, "Step not found", f"Unknown step {name}"),
        )
        for name in ("nothing", "drydock", "drydock_build.", "PREFLIGHT", "prepare_and_deploy_nodes", "1")
    ),
    *(
        Case(
            section="7.2",
            name=f"there is no action {action!r}",
            given="queued",
            ask=f"GET actions/{action}/steps/preflight",
            who=Who.VIEWER,
            code=404,
            answer=unknown_action(action),
        )
        for action in (UNKNOWN_ULID, "x")
    ),
    Case(
        section="7.2",
        name="the action comes before the step",
        ask=f"GET actions/{UNKNOWN_ULID}/steps/nothing",
        code=404,
        answer=unknown_action(UNKNOWN_ULID),
    ),
    # --- logs -------------------------------------------------------------------------------------------------------
    log("of a step that is done", "running", "$action/steps/$done/logs", code=200, answer=LOG),
    log("of the first attempt", "running", "$action/steps/$done/logs?try=1", code=200, answer=LOG),
    log("of the last attempt, the parameter empty", "running", "$action/steps/$done/logs?try=", code=200, answer=LOG),
    log("of a step of an action that has ended", "failed", "$action/steps/$done/logs", code=200, answer=LOG),
    log(
        "of an action that ended long ago",
        "old",
        "$action/steps/preflight.ucp_preflight_check/logs",
        code=200,
        answer=LOG,
    ),
    log(
        "an admin may read too", "running", "$action/steps/$done/logs?verbosity=1", who=Who.ADMIN, code=200, answer=LOG
    ),
    *(
        log(
            f"of the first attempt, written {written[:9]} in {len(written)} characters",
            "running",
            f"$action/steps/$done/logs?try={written}",
            code=200,
            answer=LOG,
        )
        for written in ("%2B0001", "01", "0" * 21 + "1", "%2B" + "0" * 5000 + "1")
    ),
    *(
        log(
            f"a number of {len(written)} letters is none of an attempt",
            "running",
            f"$action/steps/$done/logs?try={written}",
            code=404,
            answer=NO_STEP,
        )
        for written in ("0", "-1", "0" * 25, "1" + "0" * 25, "-" + "0" * 25 + "1", "9" * 3000)
    ),
    *(
        log(f"an id of {len(action)} letters", "running", f"{action}/steps/preflight/logs", code=400, answer=BAD_ID)
        for action in ("x", UNKNOWN_ULID[:-1], UNKNOWN_ULID + "0", "0" * 100)
    ),
    log("without an id", "running", "/steps/preflight/logs", code=400, answer=BAD_ID),
    log(
        "an unknown action",
        "running",
        f"{UNKNOWN_ULID}/steps/preflight/logs",
        code=404,
        answer=error(404, "Action Not Found!", f"Unknown Action {UNKNOWN_ULID}"),
    ),
    *(
        log(f"no such step: {name!r}", "running", f"$action/steps/{name}/logs", code=404, answer=NO_STEP)
        for name in ("nothing", "PREFLIGHT", "drydock_build.", "", "validate_site_design", "preflight.ucp")
    ),
    *(
        log(f"no such attempt: {number}", "running", f"$action/steps/$done/logs?try={number}", code=404, answer=NO_STEP)
        for number in (2, 7, 100)
    ),
    *(
        Case(
            section="3",
            name=f"try={written} is no attempt",
            given="running",
            ask=f"GET actions/$action/steps/$done/logs?try={written}",
            code=400,
            answer=framework(
                400, "HTTPInvalidParam", message='The "try" parameter is invalid. The value must be an integer.'
            ),
        )
        for written in ("x", "1.5", "first", "1,2", "--1", "1_0", "%20", "%C2%B2", "%D9%A1", "0x1", "%2B", "-")
    ),
]
