"""Chapter 11: versions and health."""

from tests.integration.api.contract.case import Case, Nothing, Who, error, framework

VERSIONS = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}

CASES = [
    *(
        Case(section="11", name=f"versions for {who.value}", ask="GET /versions", who=who, code=200, answer=VERSIONS)
        for who in Who
    ),
    *(
        Case(section="11", name=f"health for {who.value}", ask="GET health", who=who, code=204, answer=Nothing())
        for who in Who
    ),
    Case(
        section="11", name="health checks nothing", given="database_down", ask="GET health", code=204, answer=Nothing()
    ),
    Case(
        section="11",
        name="versions need no database",
        given="database_down",
        ask="GET /versions",
        code=200,
        answer=VERSIONS,
    ),
    Case(section="11", name="health with a verbosity", ask="GET health?verbosity=5", code=204, answer=Nothing()),
    Case(section="11", name="versions with a verbosity", ask="GET /versions?verbosity=0", code=200, answer=VERSIONS),
    Case(
        section="11",
        name="there is no other version",
        ask="GET /api/v1.1/health",
        who=Who.NOBODY,
        code=404,
        answer=framework(404, "HTTPRouteNotFound", version="N/A"),
    ),
    Case(
        section="11",
        name="an id of a note has 26 letters, nothing else is checked",
        ask="GET notedetails/--------------------------",
        code=404,
        answer=error(404, "No note found", "Note -------------------------- is not found"),
    ),
]
