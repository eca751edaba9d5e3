"""Chapter 11: versions and health."""

from tests.integration.api.contract.case import Nothing, Who, asked, error, framework

VERSIONS = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}

CASES = [
    *(asked("11", f"versions for {who.value}", "GET /versions", 200, VERSIONS, who=who) for who in Who),
    *(asked("11", f"health for {who.value}", "GET health", 204, Nothing(), who=who) for who in Who),
    asked("11", "health checks nothing", "GET health", 204, Nothing(), given="database_down"),
    asked("11", "versions need no database", "GET /versions", 200, VERSIONS, given="database_down"),
    asked("11", "health with a verbosity", "GET health?verbosity=5", 204, Nothing()),
    asked("11", "versions with a verbosity", "GET /versions?verbosity=0", 200, VERSIONS),
    asked(
        "11",
        "there is no other version",
        "GET /api/v1.1/health",
        404,
        framework(404, "HTTPRouteNotFound", version="N/A"),
        who=Who.NOBODY,
    ),
    asked(
        "11",
        "an id of a note has 26 letters, nothing else is checked",
        "GET notedetails/--------------------------",
        404,
        error(404, "No note found", "Note -------------------------- is not found"),
    ),
]
