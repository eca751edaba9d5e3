"""Chapter 1: the address space, what is read from a request's headers, and the order of the checks."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, YAML, Case, Exchange, Who, error, framework
from tests.integration.api.contract.entities import CREATED
from tests.integration.api.contract.matching import Pattern, Words
from tests.integration.api.contract.states import UNKNOWN_ULID
from tests.integration.api.contract.texts import (
    ANY_DOCUMENTS,
    BAD_VERBOSITY,
    BAD_VERSION,
    BUFFER_NOT_EMPTY,
    CHALLENGE,
    COMMITTED,
    FORBIDDEN,
    LENGTH_REQUIRED,
    LOADED,
    NO_BODY,
    NO_ROUTE,
    OF_DOCUMENTS,
    UNAUTHENTICATED,
    WRONG_METHOD,
)
from tests.integration.api.wire import small_design

DESIGN = write_documents(small_design())
# 1, order of checks. The body is read before the lock is taken, and its parameters before it.
ACT = '{"name": "deploy_site"}'
MARKER = "a13b0122-0885-4745-84e9-39d1ce42b025"

NOWHERE = {
    "an unknown address": "nowhere",
    "an address below an action": "actions/x/y",
    "an address below a step": "actions/x/steps/y/z",
    "an action's steps without an id": "actions/x/steps",
    "an action's control without a verb": "actions/x/control",
    "a collection with a slash in it": "configdocs/a/b",
    "a trailing slash after a commit": "commitconfigdocs/",
    "a trailing slash after the list of site statuses": "site_statuses/",
    "a trailing slash after health": "health/",
    "an address below a log": "actions/x/steps/y/logs/z",
    "an address below a workflow": "workflows/x/y",
    "an address with two slashes": "actions//x",
    "the address in capitals": "ACTIONS",
}
CASES = [
    *(
        Case(section="1", name=f"{what} is nowhere", ask=f"GET {path}", code=404, answer=NO_ROUTE)
        for what, path in NOWHERE.items()
    ),
    *(
        Case(
            section="1",
            name=f"{path} is nowhere and has no version",
            ask=f"GET {path}",
            code=404,
            answer=framework(404, "HTTPRouteNotFound", version="N/A"),
        )
        for path in ("/nowhere", "/api", "/api/v1.1/actions", "/api/v2.0/actions", "/versions/")
    ),
    Case(
        section="1",
        name="the version's prefix alone is nowhere",
        ask="GET /api/v1.0",
        code=404,
        # The path names no version of the API until something follows it.
        answer=framework(404, "HTTPRouteNotFound", version=Pattern("(v1.0|N/A)")),
    ),
    # A trailing slash is not stripped: it is an id without a letter.
    Case(
        section="1",
        name="a trailing slash after actions is the action with the empty id",
        ask="GET actions/",
        code=404,
        answer=error(404, "Action not found", "Unknown Action: "),
    ),
    Case(
        section="1",
        name="a trailing slash after notedetails is the note with the empty id",
        ask="GET notedetails/",
        code=400,
        answer=error(
            400,
            "Notes ID values are 26 character ULID values",
            "Invalid note_id:  in URL",
            kind="InvalidFormatError",
        ),
    ),
    Case(
        section="1",
        name="a trailing slash after an action's steps is the step with the empty id",
        given="queued",
        ask="GET actions/$action/steps/",
        code=404,
        answer=error(404, "Step not found", "Unknown step "),
    ),
    # --- who asks ---------------------------------------------------------------------------------------------------
    Case(
        section="1",
        name="without a token",
        ask="GET actions",
        who=Who.NOBODY,
        code=401,
        headers={"WWW-Authenticate": CHALLENGE},
        answer=UNAUTHENTICATED,
    ),
    Case(
        section="1",
        name="with a token that nobody gave out",
        ask="GET actions",
        who=Who.STRANGER,
        code=401,
        headers={"WWW-Authenticate": CHALLENGE},
        answer=UNAUTHENTICATED,
    ),
    Case(
        section="1",
        name="the end user is not read from callers",
        given="committed",
        ask="POST actions",
        sends={**JSON, "X-End-User": "root"},
        body=ACT,
        code=201,
        headers={"Location": "/api/v1.0/actions/$id"},
        answer=CREATED.but(user="ann"),
    ),
    Case(
        section="1",
        name="what the token filter tells is not read from callers",
        ask="GET actions",
        who=Who.NOBODY,
        sends={"X-IDENTITY-STATUS": "Confirmed", "X-ROLES": "admin", "X-USER-NAME": "root", "X-PROJECT-ID": "1"},
        code=401,
        headers={"WWW-Authenticate": CHALLENGE},
        answer=UNAUTHENTICATED,
    ),
    # --- X-Context-Marker: stored with the action (17: the caller's if given, else the request id) ------------------
    *(
        Case(
            section="1",
            name=f"a context marker {spelled}",
            given="committed",
            ask="POST actions",
            sends={**JSON, "X-Context-Marker": sent},
            body=ACT,
            code=201,
            headers={"Location": "/api/v1.0/actions/$id"},
            answer=CREATED.but(context_marker=kept),
        )
        for spelled, sent, kept in (
            ("with dashes", MARKER, MARKER),
            ("in capitals", MARKER.upper(), MARKER),
            ("that is none", "my-marker", "$request"),
            ("that is an action's id", UNKNOWN_ULID, "$request"),
            ("as a name", f"urn:uuid:{MARKER}", MARKER),
            # int() reads these, and so does uuid.UUID.
            ("with an underscore", "1_345678123412341234123456789abc", "$request"),
            ("without a letter", "", "$request"),
            ("of 5,000 letters", "a" * 5000, "$request"),
        )
    ),
    # --- Content-Type -----------------------------------------------------------------------------------------------
    *(
        Case(
            section="1",
            name=f"an action as {kind}",
            given="committed",
            ask="POST actions",
            sends={"Content-Type": kind},
            body=ACT,
            code=201,
            headers={"Location": "/api/v1.0/actions/$id"},
            answer=CREATED,
        )
        for kind in ("application/json", "Application/JSON", "application/json; charset=utf-8")
    ),
    *(
        Case(
            section="1",
            name=f"an action as {kind} has no body",
            given="committed",
            ask="POST actions",
            sends={"Content-Type": kind},
            body=ACT,
            code=400,
            answer=NO_BODY,
        )
        for kind in ("application/x-yaml", "text/plain", "text/json", "application/x-www-form-urlencoded")
    ),
    *(
        Case(
            section="1",
            name=f"documents as {kind or 'nothing in particular'}",
            ask="POST configdocs/design",
            sends={"Content-Type": kind} if kind else {},
            body=DESIGN,
            code=201,
            headers={"Location": "/api/v1.0/configdocs/design"},
            answer=LOADED,
        )
        for kind in ("application/x-yaml", "application/json", "text/plain", "application/octet-stream", "")
    ),
    # --- parameters in general --------------------------------------------------------------------------------------
    Case(
        section="1",
        name="a parameter that is not known is ignored",
        given="committed",
        ask="GET configdocs/design?version=committed&colour=blue&sort=name",
        who=Who.VIEWER,
        code=200,
        answer=ANY_DOCUMENTS,
    ),
    Case(
        section="1",
        name="names are case sensitive: bufferMode is not buffermode",
        given="buffered",
        ask="POST configdocs/other?bufferMode=replace",
        sends=YAML,
        body=DESIGN,
        code=409,
        answer=BUFFER_NOT_EMPTY,
    ),
    Case(
        section="1",
        name="names are case sensitive: Verbosity is not verbosity",
        ask="GET actions?Verbosity=9",
        code=200,
        answer=[],
    ),
    Case(
        section="1",
        name="names are case sensitive: Versions is not versions",
        ask="GET configdocs?Versions=x",
        code=200,
        answer=[],
    ),
    Case(section="1", name="an empty verbosity is none", ask="GET actions?verbosity=", code=200, answer=[]),
    Case(
        section="1",
        name="an empty buffermode is none",
        given="buffered",
        ask="POST configdocs/other?buffermode=",
        sends=YAML,
        body=DESIGN,
        code=409,
        answer=BUFFER_NOT_EMPTY,
    ),
    *(
        Case(
            section="1",
            name=f"a query that is not UTF-8: {query}",
            given=given,
            ask=f"{ask}?{query}",
            code=400,
            answer=error(400, "Invalid address", Pattern(r"The query is not UTF-8 at the byte %[0-9A-F]{2}; .*")),
        )
        for given, ask, query in (
            ("empty", "GET actions", "user=%ff"),
            ("empty", "GET actions", "unknown=%C3"),
            ("empty", "GET actions", "%E9=1&verbosity=1"),
            ("empty", "GET nowhere", "a=%ED%A0%80"),
            ("buffered", "POST commitconfigdocs", "force=tru%80"),
        )
    ),
    Case(
        section="1",
        name="a query that is UTF-8",
        ask="GET actions?user=%C3%A9%E2%82%AC%F0%9F%98%80",
        code=200,
        answer=[],
    ),
    Case(section="1", name="empty versions are none", ask="GET configdocs?versions=&versions=", code=200, answer=[]),
    Case(
        section="1",
        name="an empty boolean is none",
        given="buffered",
        ask="POST commitconfigdocs?dryrun=&force=&verbosity=1",
        code=200,
        answer=COMMITTED,
    ),
    Case(
        section="1",
        name="a comma does not split a version",
        given="committed",
        ask="GET renderedconfigdocs?version=committed,buffer",
        code=400,
        answer=BAD_VERSION,
    ),
    # --- the order of the checks: verbosity, route and method, policy, lock, body, parameters -----------------------
    Case(
        section="1",
        name="verbosity comes before the address",
        ask="GET nowhere?verbosity=6",
        who=Who.NOBODY,
        code=400,
        answer=BAD_VERBOSITY,
    ),
    Case(
        section="1",
        name="verbosity comes before the method",
        ask="DELETE actions?verbosity=6",
        who=Who.NOBODY,
        code=400,
        answer=BAD_VERBOSITY,
    ),
    Case(
        section="1",
        name="verbosity comes before the token",
        ask="POST commitconfigdocs?verbosity=x",
        who=Who.NOBODY,
        code=400,
        answer=BAD_VERBOSITY,
    ),
    Case(
        section="1",
        name="the address comes before the token",
        ask="GET nowhere",
        who=Who.NOBODY,
        code=404,
        answer=NO_ROUTE,
    ),
    Case(
        section="1",
        name="the method comes before the token",
        ask="DELETE actions",
        who=Who.NOBODY,
        code=405,
        headers={"Allow": Words("GET, OPTIONS, POST")},
        answer=WRONG_METHOD,
    ),
    Case(
        section="1",
        name="the token comes before the lock",
        given="locked",
        ask="POST commitconfigdocs",
        who=Who.NOBODY,
        code=401,
        headers={"WWW-Authenticate": CHALLENGE},
        answer=UNAUTHENTICATED,
    ),
    Case(
        section="1",
        name="the policy comes before the lock",
        given="locked",
        ask="POST configdocs/design",
        who=Who.VIEWER,
        sends=YAML,
        body=DESIGN,
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="1",
        name="the policy comes before the body",
        ask="POST actions",
        who=Who.VIEWER,
        sends=JSON,
        body="{",
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="1",
        name="the policy comes before the parameters",
        given="buffered",
        ask="POST commitconfigdocs?force=perhaps",
        who=Who.VIEWER,
        code=403,
        answer=FORBIDDEN,
    ),
    Case(
        section="1",
        # The lock is taken when everything is read, so that nobody waits for a slow sender (our differences).
        name="the body comes before the lock",
        given="locked",
        ask="POST configdocs/other",
        sends=YAML,
        code=400,
        answer=LENGTH_REQUIRED,
    ),
    Case(
        section="1",
        name="so do the parameters",
        given="locked",
        ask="POST configdocs/other?buffermode=none",
        sends=YAML,
        body=DESIGN,
        code=400,
        answer=error(400, "Invalid buffermode", Pattern("'none' is none of: .*"), kind=OF_DOCUMENTS),
    ),
    Case(
        section="1",
        name="the body comes before the parameters",
        ask="POST configdocs/other?buffermode=none",
        sends=YAML,
        code=400,
        answer=LENGTH_REQUIRED,
    ),
    Case(
        section="1",
        name="two requests have two ids",
        ask="GET /versions",
        code=200,
        answer={"v1.0": {"path": "/api/v1.0", "status": "stable"}},
        then=[Exchange(ask="GET nowhere", code=404, answer=NO_ROUTE)],
    ),
]
