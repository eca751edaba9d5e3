"""Chapter 6.7: POST /actions/{action_id}/control/{control_verb}. All three verbs, as the client offers them (17)."""

from typing import Any

from tests.integration.api.contract.case import Case, Exchange, Nothing, Who, error
from tests.integration.api.contract.entities import COMMAND, DESCRIBED
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import FORBIDDEN, unknown_action

# What each state of this suite is called in an answer.
STATES = {"queued": "queued", "running": "running", "paused": "paused", "succeeded": "success", "failed": "failed"}
# 6.7, and docs/design/conformance.md: unpause needs `paused` and says so; upstream says `running` there as well.
NEEDED = {"stop": "running", "pause": "running", "unpause": "paused"}


def audit(*commands: str) -> Exchange:
    """What the action says of who commanded what."""
    listed = [COMMAND.but(command=command, user="ann", action_id="$action") for command in commands]
    return Exchange(ask="GET actions/$action", code=200, answer=DESCRIBED.but(command_audit=listed))


def control(name: str, given: str, verb: str, **rest: Any) -> Case:
    """A verb for the action of the state."""
    return Case(
        **{"section": "6.7", "name": name, "given": given, "ask": f"POST actions/$action/control/{verb}", **rest}
    )


def refused(verb: str, state: str) -> dict[str, Any]:
    """409: the action is in another state."""
    return error(
        409,
        f"Unable to {verb} action",
        f"dag_run state must be {NEEDED[verb]}, but is {state}",
        cause=f"Only an action that is {NEEDED[verb]} can be .+; this one is {state}",
    )


# Upstream refuses to stop what is paused.
TAKEN = (("stop", "running"), ("stop", "paused"), ("pause", "running"), ("unpause", "paused"))
BEFORE = {
    "queued": ["invoke"],
    "running": ["invoke"],
    "paused": ["invoke", "pause"],
    "succeeded": ["invoke"],
    "failed": ["invoke"],
}

CASES = [
    *(
        control(
            f"{verb} of an action that is {STATES[given]}",
            given,
            verb,
            code=202,
            answer=Nothing(),
            then=[audit(*BEFORE[given], verb)],
        )
        for verb, given in TAKEN
    ),
    *(
        control(
            f"{verb} of an action that is {state}",
            given,
            verb,
            code=409,
            answer=refused(verb, state),
            # Failed attempts are not audited.
            then=[audit(*BEFORE[given])],
        )
        for verb in NEEDED
        for given, state in STATES.items()
        if (verb, given) not in TAKEN
    ),
    control(
        "paused shows",
        "running",
        "pause",
        code=202,
        answer=Nothing(),
        then=[
            Exchange(
                ask="GET actions/$action",
                code=200,
                answer=DESCRIBED.but(dag_status="paused", action_lifecycle="Paused"),
            ),
            Exchange(ask="POST actions/$action/control/unpause", code=202, answer=Nothing()),
            Exchange(
                ask="GET actions/$action",
                code=200,
                answer=DESCRIBED.but(dag_status="running", action_lifecycle="Processing"),
            ),
        ],
    ),
    # A stop sets `failed`, and nothing takes it back on the way there.
    *(
        control(
            f"{verb} of an action that is being stopped",
            "stopping",
            verb,
            code=409,
            answer=refused(verb, stands),
            then=[audit("invoke", "stop")],
        )
        for verb, stands in (("stop", "being stopped"), ("pause", "being stopped"), ("unpause", "running"))
    ),
    control(
        "unpause of an action that was stopped, and is paused all the same",
        "stopped_and_paused",
        "unpause",
        code=202,
        answer=Nothing(),
        then=[audit("invoke", "stop", "unpause")],
    ),
    control("with a verbosity, as the client sends it", "running", "pause?verbosity=1", code=202, answer=Nothing()),
    *(
        control(
            f"{verb} is no verb",
            "running",
            verb,
            code=404,
            answer=error(
                404,
                "Control not supported",
                f"Unknown control {verb}",
                cause=".+ one of: pause, unpause, stop, retry, acknowledge",
            ),
            then=[audit("invoke")],
        )
        for verb in ("restart", "STOP", "Pause", "resume", "delete")
    ),
    *(
        Case(
            section="6.7",
            name=f"{verb} of an action that there is not",
            given="running",
            ask=f"POST actions/{UNKNOWN_ULID}/control/{verb}",
            code=404,
            answer=unknown_action(UNKNOWN_ULID),
        )
        for verb in NEEDED
    ),
    # The action stands first in the table of 6.7.
    *(
        Case(
            section="6.7",
            name=f"{verb} is no verb, and {action} no action",
            given="running",
            ask=f"POST actions/{action}/control/{verb}",
            code=404,
            answer=unknown_action(action),
        )
        for verb in ("restart", "Stop")
        for action in (UNKNOWN_ULID, "x")
    ),
    Case(
        section="6.7",
        name="an id of any form is looked up",
        given="running",
        ask="POST actions/x/control/stop",
        code=404,
        answer=unknown_action("x"),
    ),
    control("who may only read commands nothing", "running", "stop", who=Who.VIEWER, code=403, answer=FORBIDDEN),
]
