"""Chapters 2 and 3: the error form of a Status, and the errors that any resource can give."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, V1, YAML, Case, Exchange, Who, error, framework
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
        Case(
            section="3",
            name=f"401: {ask} {'without a token' if who is Who.NOBODY else 'with a wrong token'}",
            ask=ask,
            who=who,
            sends=JSON if ask == "POST actions" else {},
            code=401,
            headers={"WWW-Authenticate": CHALLENGE},
            answer=UNAUTHENTICATED,
        )
        for ask in GUARDED
        for who in (Who.NOBODY, Who.STRANGER)
    ),
    *(
        Case(section="3", name=f"403: {ask} of who may only read", ask=ask, who=Who.VIEWER, code=403, answer=FORBIDDEN)
        for ask in WRITES
    ),
    Case(
        section="2",
        name="404 of an address, complete",
        ask="GET x",
        code=404,
        answer={
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
    Case(
        section="2",
        name="the example of the contract, to the letter",
        ask="GET actions/01BTTMFVDKZFRJM80FGD7J1AKN",
        code=404,
        answer={
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
    Case(
        section="2",
        name="405 of a method, complete",
        ask="PUT actions",
        code=405,
        headers={"Allow": Words("GET, OPTIONS, POST")},
        answer=WRONG_METHOD,
    ),
    Case(
        section="2",
        name="outside the version's prefix there is no version",
        ask="PATCH /versions",
        code=405,
        headers={"Allow": Words("GET, OPTIONS")},
        answer=framework(405, "HTTPMethodNotAllowed", version="N/A"),
    ),
    Case(
        section="3",
        name="409: a load while another process holds the lock",
        given="locked",
        ask="POST configdocs/other?buffermode=append",
        sends=YAML,
        body=write_documents([extra("one")]),
        code=409,
        answer=LOCKED,
    ),
    Case(
        section="3",
        name="409: a commit while another process holds the lock",
        given="locked",
        ask="POST commitconfigdocs",
        code=409,
        answer=LOCKED,
    ),
    Case(
        section="3",
        name="409: a dry run while another process holds the lock",
        given="locked",
        ask="POST commitconfigdocs?dryrun=true",
        code=409,
        answer=LOCKED,
    ),
    Case(section="3", name="reading needs no lock", given="locked", ask="GET actions", code=200, answer=[]),
    Case(
        section="3",
        name="the lock is given back when a commit has ended",
        given="buffered",
        ask="POST commitconfigdocs?dryrun=bad",
        code=400,
        answer=framework(
            400,
            "HTTPInvalidParam",
            message='The "dryrun" parameter is invalid. The value of the parameter must be "true" or "false".',
        ),
        then=[Exchange(ask="POST commitconfigdocs", code=200, answer=COMMITTED)],
    ),
    Case(section="3", name="500: what nobody foresaw", given="broken", ask="GET actions/x", code=500, answer=BUG),
    *(
        Case(
            section="3",
            name=f"no database: {ask}",
            given="database_down",
            ask=ask,
            sends=JSON if ask == "POST actions" else {},
            body=ACT if ask == "POST actions" else None,
            code=503,
            answer=NO_DATABASE,
        )
        for ask in ("GET actions", "GET configdocs", "POST commitconfigdocs", "POST actions", "GET workflows")
    ),
    Case(
        section="3",
        name="no database, and no such address",
        given="database_down",
        ask=f"GET {V1}/nowhere",
        code=404,
        answer=NO_ROUTE,
    ),
]
