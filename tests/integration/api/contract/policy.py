"""Chapter 4: which rule guards what. Our roles stand for the chart's: admin writes, viewer reads, peer fetches.

A rule that lets somebody through shows by an answer that is neither 401 nor 403.
"""

from typing import Any

from tests.integration.api.contract.case import JSON, YAML, Case, Exchange, Nothing, Who, error
from tests.integration.api.contract.entities import CREATED
from tests.integration.api.contract.matching import SOME, Either
from tests.integration.api.contract.states import KEYSTONE, UNKNOWN_ULID
from tests.integration.api.contract.texts import (
    ANY_DOCUMENTS,
    EMPTY_BUFFER,
    FORBIDDEN,
    LENGTH_REQUIRED,
    LOADED,
    NO_BODY,
    UNAUTHENTICATED,
    no_version,
    unknown_action,
)

NOT_IN_BUFFER = error(
    404,
    "No documents to retrieve",
    "The Shipyard buffer is empty or does not contain this collection",
    kind=Either("ApiError", "AppError"),
)
MACHINES: dict[str, Any] = {"nodes_provision_status": [], "machines_powerstate": []}
NO_WORKFLOW = "A Workflow with id a__b was not found"
# Rule: what it guards, who may, and what those who may are told on an empty site.
RULES: dict[str, tuple[str, str, int, Any]] = {
    "list_actions": ("GET actions", "read", 200, []),
    "create_action": ("POST actions", "write", 400, NO_BODY),
    "get_action": ("GET actions/x", "read", 404, error(404, "Action not found", "Unknown Action: x")),
    "get_action_step": ("GET actions/x/steps/y", "read", 404, unknown_action("x")),
    "get_action_step_logs": (
        f"GET actions/{UNKNOWN_ULID}/steps/y/logs",
        "read",
        404,
        error(404, "Action Not Found!", f"Unknown Action {UNKNOWN_ULID}"),
    ),
    "get_action_validation": ("GET actions/x/validations/y", "read", 404, unknown_action("x")),
    "invoke_action_control": ("POST actions/x/control/stop", "write", 404, unknown_action("x")),
    "get_configdocs_status": ("GET configdocs", "read", 200, []),
    "create_configdocs": ("POST configdocs/x", "write", 400, LENGTH_REQUIRED),
    "get_configdocs": ("GET configdocs/x", "read", 404, NOT_IN_BUFFER),
    "get_configdocs_cleartext": ("GET configdocs/x?cleartext-secrets=true", "write", 404, NOT_IN_BUFFER),
    "commit_configdocs": ("POST commitconfigdocs", "write", 409, EMPTY_BUFFER),
    "get_renderedconfigdocs": ("GET renderedconfigdocs", "design", 404, no_version("buffer")),
    "get_renderedconfigdocs_cleartext": (
        "GET renderedconfigdocs?cleartext-secrets=true",
        "secrets",
        404,
        no_version("buffer"),
    ),
    "list_workflows": ("GET workflows", "read", 200, []),
    "get_workflow": ("GET workflows/a__b", "read", 404, error(
        404, "Workflow not found", Either(NO_WORKFLOW, [NO_WORKFLOW]),
        messages=[{"message": Either(NO_WORKFLOW, [NO_WORKFLOW]), "error": True}])),
    "get_notedetails": (
        f"GET notedetails/{UNKNOWN_ULID}",
        "read",
        404,
        error(404, "No note found", f"Note {UNKNOWN_ULID} is not found"),
    ),
    "get_site_statuses": ("GET site_statuses", "read", 200, MACHINES),
}  # fmt: skip
# product, 2: a provisioner may read designs in clear, and nothing else.
MAY = {
    "read": {Who.ADMIN, Who.VIEWER},
    "write": {Who.ADMIN},
    "design": {Who.ADMIN, Who.VIEWER, Who.PEER},
    "secrets": {Who.ADMIN, Who.PEER},
}

CASES = [
    # --- rules of an operator's own ---------------------------------------------------------------------------------
    Case(section="4", name="deny_all lets nobody list", given="ruled", ask="GET actions", code=403, answer=FORBIDDEN),
    Case(
        section="4",
        name="an action has a rule of its own",
        given="ruled",
        ask="POST actions",
        sends=JSON,
        body='{"name": "deploy_site"}',
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="6.4",
        name="the name of an action comes before its rule",
        given="ruled",
        ask="POST actions",
        sends=JSON,
        body='{"name": "none"}',
        code=400,
        answer=error(400, "Unable to start action", "Unsupported Action: none", cause="There is no action .+"),
    ),
    Case(
        section="4",
        name="the rule of another action is another one",
        given="ruled",
        ask="POST actions",
        sends=JSON,
        body='{"name": "test_site"}',
        code=201,
        headers={"Location": "/api/v1.0/actions/$id"},
        answer=CREATED,
    ),
    Case(
        section="4",
        name="create_action comes first, whatever the action's rule says",
        given="ruled",
        ask="POST actions",
        who=Who.VIEWER,
        sends=JSON,
        body='{"name": "test_site"}',
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="4",
        name="a rule may be narrower",
        given="ruled",
        ask="GET actions/x",
        who=Who.VIEWER,
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="3",
        name="417: the policy itself failed",
        given="rules_out_of_order",
        ask="GET actions",
        code=417,
        answer=error(417, "Expectation Failed", None, messages=[{"message": SOME, "error": True}]),
    ),
    Case(
        section="1",
        name="a Keystone's callers are told where it is",
        given="keystone",
        ask="GET actions",
        who=Who.NOBODY,
        code=401,
        headers={"WWW-Authenticate": f'Keystone uri="{KEYSTONE}"'},
        answer=UNAUTHENTICATED,
    ),
    *(
        Case(
            section="4",
            name=f"{rule}: {who.value} {'may' if who in MAY[group] else 'may not'}",
            given="no_machines",
            ask=ask,
            who=who,
            sends=JSON if ask == "POST actions" else {},
            code=code if who in MAY[group] else 403,
            answer=answer if who in MAY[group] else FORBIDDEN,
        )
        for rule, (ask, group, code, answer) in RULES.items()
        for who in (Who.ADMIN, Who.VIEWER, Who.PEER)
    ),
    *(
        Case(
            section="4",
            name=f"{ask} is not guarded",
            ask=ask,
            who=Who.NOBODY,
            code=code,
            answer=answer,
            headers=headers,
        )
        for ask, code, answer, headers in (
            ("OPTIONS actions", 200, Nothing(), {"Allow": "GET, OPTIONS, POST"}),
            ("GET health", 204, Nothing(), {}),
        )
    ),
    Case(
        section="4",
        name="who may write may also read",
        ask="POST configdocs/design",
        sends=YAML,
        body="{schema: a/B/v1, metadata: {schema: metadata/Document/v1, name: a, storagePolicy: cleartext, "
        "layeringDefinition: {abstract: false, layer: site}}, data: {}}",
        code=201,
        headers={"Location": "/api/v1.0/configdocs/design"},
        answer=LOADED,
        then=[Exchange(ask="GET configdocs/design", code=200, answer=ANY_DOCUMENTS)],
    ),
]
