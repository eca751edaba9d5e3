"""Chapter 1: the address space, what is read from a request's headers, and the order of the checks."""

from shipyard_api.yaml_stream import write_documents
from tests.integration.api.contract.case import JSON, YAML, Case, Exchange, Who, asked, error, framework
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
    "a collection with a slash in it": "configdocs/a/b",
    "a trailing slash after a commit": "commitconfigdocs/",
    "an address with two slashes": "actions//x",
    "the address in capitals": "ACTIONS",
}
CASES = [
    *(asked("1", f"{what} is nowhere", f"GET {path}", 404, NO_ROUTE) for what, path in NOWHERE.items()),
    *(
        asked(
            "1",
            f"{path} is nowhere and has no version",
            f"GET {path}",
            404,
            framework(404, "HTTPRouteNotFound", version="N/A"),
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
    asked(
        "1",
        "a trailing slash after actions is the action with the empty id",
        "GET actions/",
        404,
        error(404, "Action not found", "Unknown Action: "),
    ),
    asked(
        "1",
        "a trailing slash after notedetails is the note with the empty id",
        "GET notedetails/",
        400,
        error(
            400, "Notes ID values are 26 character ULID values", "Invalid note_id:  in URL", kind="InvalidFormatError"
        ),
    ),
    asked(
        "1",
        "a trailing slash after an action's steps is the step with the empty id",
        "GET actions/$action/steps/",
        404,
        error(404, "Step not found", "Unknown step "),
        given="queued",
    ),
    # --- who asks ---------------------------------------------------------------------------------------------------
    asked(
        "1",
        "without a token",
        "GET actions",
        401,
        UNAUTHENTICATED,
        who=Who.NOBODY,
        headers={"WWW-Authenticate": CHALLENGE},
    ),
    asked(
        "1",
        "with a token that nobody gave out",
        "GET actions",
        401,
        UNAUTHENTICATED,
        who=Who.STRANGER,
        headers={"WWW-Authenticate": CHALLENGE},
    ),
    asked(
        "1",
        "the end user is not read from callers",
        "POST actions",
        201,
        CREATED.but(user="ann"),
        given="committed",
        sends={**JSON, "X-End-User": "root"},
        body=ACT,
        headers={"Location": "/api/v1.0/actions/$id"},
    ),
    asked(
        "1",
        "what the token filter tells is not read from callers",
        "GET actions",
        401,
        UNAUTHENTICATED,
        who=Who.NOBODY,
        sends={"X-IDENTITY-STATUS": "Confirmed", "X-ROLES": "admin", "X-USER-NAME": "root", "X-PROJECT-ID": "1"},
        headers={"WWW-Authenticate": CHALLENGE},
    ),
    # --- X-Context-Marker: stored with the action (17: the caller's if given, else the request id) ------------------
    *(
        asked(
            "1",
            f"a context marker {spelled}",
            "POST actions",
            201,
            CREATED.but(context_marker=kept),
            given="committed",
            sends={**JSON, "X-Context-Marker": sent},
            body=ACT,
            headers={"Location": "/api/v1.0/actions/$id"},
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
        asked(
            "1",
            f"an action as {kind}",
            "POST actions",
            201,
            CREATED,
            given="committed",
            sends={"Content-Type": kind},
            body=ACT,
            headers={"Location": "/api/v1.0/actions/$id"},
        )
        for kind in ("application/json", "Application/JSON", "application/json; charset=utf-8")
    ),
    *(
        asked(
            "1",
            f"an action as {kind} has no body",
            "POST actions",
            400,
            NO_BODY,
            given="committed",
            sends={"Content-Type": kind},
            body=ACT,
        )
        for kind in ("application/x-yaml", "text/plain", "text/json", "application/x-www-form-urlencoded")
    ),
    *(
        asked(
            "1",
            f"documents as {kind or 'nothing in particular'}",
            "POST configdocs/design",
            201,
            LOADED,
            sends={"Content-Type": kind} if kind else {},
            body=DESIGN,
            headers={"Location": "/api/v1.0/configdocs/design"},
        )
        for kind in ("application/json", "application/octet-stream", "")
    ),
    # --- parameters in general --------------------------------------------------------------------------------------
    asked(
        "1",
        "a parameter that is not known is ignored",
        "GET configdocs/design?version=committed&colour=blue&sort=name",
        200,
        ANY_DOCUMENTS,
        given="committed",
        who=Who.VIEWER,
    ),
    asked(
        "1",
        "names are case sensitive: bufferMode is not buffermode",
        "POST configdocs/other?bufferMode=replace",
        409,
        BUFFER_NOT_EMPTY,
        given="buffered",
        sends=YAML,
        body=DESIGN,
    ),
    asked("1", "names are case sensitive: Verbosity is not verbosity", "GET actions?Verbosity=9", 200, []),
    asked("1", "names are case sensitive: Versions is not versions", "GET configdocs?Versions=x", 200, []),
    asked("1", "an empty verbosity is none", "GET actions?verbosity=", 200, []),
    asked(
        "1",
        "an empty buffermode is none",
        "POST configdocs/other?buffermode=",
        409,
        BUFFER_NOT_EMPTY,
        given="buffered",
        sends=YAML,
        body=DESIGN,
    ),
    *(
        asked(
            "1",
            f"a query that is not UTF-8: {query}",
            f"{ask}?{query}",
            400,
            error(400, "Invalid address", Pattern(r"The query is not UTF-8 at the byte %[0-9A-F]{2}; .*")),
            given=given,
        )
        for given, ask, query in (
            ("empty", "GET actions", "user=%ff"),
            ("empty", "GET actions", "unknown=%C3"),
            ("empty", "GET actions", "%E9=1&verbosity=1"),
            ("empty", "GET nowhere", "a=%ED%A0%80"),
            ("buffered", "POST commitconfigdocs", "force=tru%80"),
        )
    ),
    asked("1", "a query that is UTF-8", "GET actions?user=%C3%A9%E2%82%AC%F0%9F%98%80", 200, []),
    asked("1", "empty versions are none", "GET configdocs?versions=&versions=", 200, []),
    asked(
        "1",
        "an empty boolean is none",
        "POST commitconfigdocs?dryrun=&force=&verbosity=1",
        200,
        COMMITTED,
        given="buffered",
    ),
    asked(
        "1",
        "a comma does not split a version",
        "GET renderedconfigdocs?version=committed,buffer",
        400,
        BAD_VERSION,
        given="committed",
    ),
    # --- the order of the checks: verbosity, route and method, policy, lock, body, parameters -----------------------
    asked("1", "verbosity comes before the address", "GET nowhere?verbosity=6", 400, BAD_VERBOSITY, who=Who.NOBODY),
    asked("1", "verbosity comes before the method", "DELETE actions?verbosity=6", 400, BAD_VERBOSITY, who=Who.NOBODY),
    asked(
        "1", "verbosity comes before the token", "POST commitconfigdocs?verbosity=x", 400, BAD_VERBOSITY, who=Who.NOBODY
    ),
    asked("1", "the address comes before the token", "GET nowhere", 404, NO_ROUTE, who=Who.NOBODY),
    asked(
        "1",
        "the method comes before the token",
        "DELETE actions",
        405,
        WRONG_METHOD,
        who=Who.NOBODY,
        headers={"Allow": Words("GET, OPTIONS, POST")},
    ),
    asked(
        "1",
        "the token comes before the lock",
        "POST commitconfigdocs",
        401,
        UNAUTHENTICATED,
        given="locked",
        who=Who.NOBODY,
        headers={"WWW-Authenticate": CHALLENGE},
    ),
    asked(
        "1",
        "the policy comes before the lock",
        "POST configdocs/design",
        403,
        FORBIDDEN,
        given="locked",
        who=Who.VIEWER,
        sends=YAML,
        body=DESIGN,
    ),
    asked(
        "1", "the policy comes before the body", "POST actions", 403, FORBIDDEN, who=Who.VIEWER, sends=JSON, body="{"
    ),
    asked(
        "1",
        "the policy comes before the parameters",
        "POST commitconfigdocs?force=perhaps",
        403,
        FORBIDDEN,
        given="buffered",
        who=Who.VIEWER,
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
    asked(
        "1",
        "so do the parameters",
        "POST configdocs/other?buffermode=none",
        400,
        error(400, "Invalid buffermode", Pattern("'none' is none of: .*"), kind=OF_DOCUMENTS),
        given="locked",
        sends=YAML,
        body=DESIGN,
    ),
    asked(
        "1",
        "the body comes before the parameters",
        "POST configdocs/other?buffermode=none",
        400,
        LENGTH_REQUIRED,
        sends=YAML,
    ),
    asked(
        "1",
        "two requests have two ids",
        "GET /versions",
        200,
        {"v1.0": {"path": "/api/v1.0", "status": "stable"}},
        then=[Exchange(ask="GET nowhere", code=404, answer=NO_ROUTE)],
    ),
]
