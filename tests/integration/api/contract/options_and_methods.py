"""Chapter 1: which methods each resource has; OPTIONS says so to everybody, everything else is a 405."""

from tests.integration.api.contract.case import Case, Nothing, Who, framework
from tests.integration.api.contract.matching import Words
from tests.integration.api.contract.texts import WRONG_METHOD

# The table of the contract; for OPTIONS it writes Allow in alphabetical order, of a 405 it says nothing.
READ, BOTH, WRITE = "GET, OPTIONS", "GET, OPTIONS, POST", "OPTIONS, POST"
RESOURCES = {
    "/versions": READ,
    "health": READ,
    "configdocs": READ,
    "configdocs/design": BOTH,
    "renderedconfigdocs": READ,
    "commitconfigdocs": WRITE,
    "actions": BOTH,
    "actions/x": READ,
    "actions/x/control/stop": WRITE,
    "actions/x/validations/y": READ,
    "actions/x/steps/y": READ,
    "actions/x/steps/y/logs": READ,
    "notedetails/x": READ,
    "workflows": READ,
    "workflows/x": READ,
    "site_statuses": READ,
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "TRACE")

CASES = [
    *(
        Case(
            section="1",
            name=f"OPTIONS of {path} for {who.value}",
            ask=f"OPTIONS {path}",
            who=who,
            code=200,
            headers={"Allow": allowed},
            answer=Nothing(),
        )
        for path, allowed in RESOURCES.items()
        for who in (Who.NOBODY, Who.ADMIN)
    ),
    *(
        Case(
            section="1",
            name=f"{method} of {path} is not there",
            ask=f"{method} {path}",
            code=405,
            headers={"Allow": Words(allowed)},
            answer=Nothing()
            if method == "HEAD"
            else framework(405, "HTTPMethodNotAllowed", version="N/A")
            if path.startswith("/")
            else WRONG_METHOD,
        )
        for path, allowed in RESOURCES.items()
        for method in METHODS
        if method not in allowed.split(", ")
    ),
]
