"""Chapters 2 and 3: the error form of a Status, and the errors that any resource can give."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, V1, YAML, Exchange, Who, asked, error, framework
from tests.integration.api.contract.matching import Pattern, Words
from tests.integration.api.contract.states import extra
from tests.integration.api.contract.texts import (
    CHALLENGE,
    COMMITTED,
    FORBIDDEN,
    LOCKED,
    NO_ROUTE,
    UNAUTHENTICATED,
    WRONG_METHOD,
)

ACT = '{"name": "deploy_site"}'
# Every resource that is guarded, and what asking it needs.
GUARDED = (
    *("GET configdocs", "GET configdocs/design", "POST configdocs/design", "GET renderedconfigdocs"),
    *("POST commitconfigdocs", "GET actions", "POST actions", "GET actions/x", "POST actions/x/control/stop"),
    *("GET actions/x/validations/y", "GET actions/x/steps/y", "GET actions/x/steps/y/logs"),
    *("GET notedetails/01BTTMFVDKZFRJM80FGD7J1AKN", "GET workflows", "GET workflows/x", "GET site_statuses"),
)
WRITES = tuple(ask for ask in GUARDED if ask.startswith("POST"))
# The database: docs/design/conformance.md has 503 and retry true, where the contract has 500 and false.
# An outage is not a configuration, so the reason is another one as well.
NO_DATABASE = error(
    503,
    "No database connection",
    "The database cannot be reached at this moment. Ask again.",
    kind="DatabaseError",
    retry=True,
)
# 3, with docs/design/conformance.md: the class of the exception stands where its text would.
BUG = error(
    500,
    "Unhandled Exception raised: RuntimeError",
    "",
    kind="RuntimeError",
    retry=True,
    messages=[{"message": "An error occurred, but was not specified", "error": True}],
)

CASES = [
    *(
        asked(
            "3",
            f"401: {ask} without a token",
            ask,
            401,
            UNAUTHENTICATED,
            who=Who.NOBODY,
            sends=JSON if ask == "POST actions" else {},
            headers={"WWW-Authenticate": CHALLENGE},
        )
        for ask in GUARDED
    ),
    *(asked("3", f"403: {ask} of who may only read", ask, 403, FORBIDDEN, who=Who.VIEWER) for ask in WRITES),
    asked(
        "2",
        "404 of an address, complete",
        "GET x",
        404,
        {
            "kind": "status",
            "apiVersion": "v1.0",
            "metadata": {},
            "status": "Failure",
            "message": None,
            "reason": "404 Not Found",
            "details": {
                "errorType": "HTTPRouteNotFound",
                "errorCount": 1,
                "messageList": [{"message": Pattern("There is no address /api/v1.0/x. .+"), "error": True}],
            },
            "code": "404 Not Found",
            "retry": False,
        },
    ),
    asked(
        "2",
        "the example of the contract, to the letter",
        "GET actions/01BTTMFVDKZFRJM80FGD7J1AKN",
        404,
        {
            "kind": "status",
            "apiVersion": "v1.0",
            "metadata": {},
            "status": "Failure",
            "message": "Action not found",
            "reason": "Unknown Action: 01BTTMFVDKZFRJM80FGD7J1AKN",
            "details": {
                "errorType": "ApiError",
                "errorCount": 1,
                "messageList": [{"message": "Unknown Action: 01BTTMFVDKZFRJM80FGD7J1AKN", "error": True}],
            },
            "code": "404 Not Found",
            "retry": False,
        },
    ),
    asked(
        "2",
        "405 of a method, complete",
        "PUT actions",
        405,
        WRONG_METHOD,
        headers={"Allow": Words("GET, OPTIONS, POST")},
    ),
    asked(
        "2",
        "outside the version's prefix there is no version",
        "PATCH /versions",
        405,
        framework(405, "HTTPMethodNotAllowed", version="N/A"),
        headers={"Allow": Words("GET, OPTIONS")},
    ),
    asked(
        "3",
        "409: a load while another process holds the lock",
        "POST configdocs/other?buffermode=append",
        409,
        LOCKED,
        given="locked",
        sends=YAML,
        body=write_documents([extra("one")]),
    ),
    asked(
        "3", "409: a commit while another process holds the lock", "POST commitconfigdocs", 409, LOCKED, given="locked"
    ),
    asked(
        "3",
        "409: a dry run while another process holds the lock",
        "POST commitconfigdocs?dryrun=true",
        409,
        LOCKED,
        given="locked",
    ),
    asked("3", "reading needs no lock", "GET actions", 200, [], given="locked"),
    asked(
        "3",
        "the lock is given back when a commit has ended",
        "POST commitconfigdocs?dryrun=bad",
        400,
        framework(
            400,
            "HTTPInvalidParam",
            message='The "dryrun" parameter is invalid. The value of the parameter must be "true" or "false".',
        ),
        given="buffered",
        then=[Exchange(ask="POST commitconfigdocs", code=200, answer=COMMITTED)],
    ),
    asked("3", "500: what nobody foresaw", "GET actions/x", 500, BUG, given="broken"),
    *(
        asked(
            "3",
            f"no database: {ask}",
            ask,
            503,
            NO_DATABASE,
            given="database_down",
            sends=JSON if ask == "POST actions" else {},
            body=ACT if ask == "POST actions" else None,
        )
        for ask in ("GET actions", "GET configdocs", "POST commitconfigdocs", "POST actions", "GET workflows")
    ),
    asked("3", "no database, and no such address", f"GET {V1}/nowhere", 404, NO_ROUTE, given="database_down"),
]
