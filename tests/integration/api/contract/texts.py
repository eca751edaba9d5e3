"""Answers that several chapters share, and every text that scripts parse, each once."""

from typing import Any

from tests.integration.api.contract.case import Yaml, error, framework, verdict
from tests.integration.api.contract.entities import DOCUMENT, FINDING
from tests.integration.api.contract.matching import All, Each, Lacks, Pattern

# Scripts of the field compare these; chapter 3.
UNAUTHENTICATED = error(
    401,
    "Unauthenticated",
    "Credentials are not established",
    cause="(No token was sent.+|The token that was sent is not valid: .+)",
)
FORBIDDEN = error(403, "Forbidden", "Credentials do not permit access")
BAD_VERBOSITY = error(
    400, "Invalid verbosity parameter", "If specified, verbosity parameter should be a value from 0 to 5"
)
NO_ROUTE = framework(404, "HTTPRouteNotFound")
WRONG_METHOD = framework(405, "HTTPMethodNotAllowed")
# docs/design/conformance.md: asking again helps, so retry is true where the contract has false.
LOCKED = error(
    409,
    "Blocked by another process",
    "Another process is currently blocking this request with a lock for configdocs_update. "
    "Lock expires in not more than 60 seconds",
    retry=True,
)
# 1: `Keystone uri="<identity URL>"` where there is a Keystone; with tokens of our own there is no such address.
CHALLENGE = Pattern('(Keystone uri="https?://[^"]+"|(?!Keystone)[A-Za-z]+( .+)?)')

# 5.1.
COUNT_OF_VERSIONS = error(
    400,
    "Incorrect number of versions for comparison",
    "User must pass in 2 valid versions for comparison",
    kind="AppError",
)

# 5.1 says AppError for all its errors; of 5.2 to 5.5 this was recorded.
OF_DOCUMENTS = "ApiError"

# 5.2.
LENGTH_REQUIRED = error(
    400, "Content-Length is a required header", "Content Length is 0 or not specified", kind=OF_DOCUMENTS
)
LOADED = verdict(201, "Validations succeeded", [])


def buffer_refused(mode: str) -> dict[str, Any]:
    """409: the buffer holds something, and the mode does not allow that."""
    return error(
        409,
        "Invalid collection specified for buffer",
        f"Buffermode : {mode}",
        kind=OF_DOCUMENTS,
        messages=[
            {
                "message": "Buffer is either not empty or the collection already exists in buffer. "
                "Setting a different buffermode may provide the desired functionality",
                "error": True,
            }
        ],
    )


BUFFER_NOT_EMPTY = buffer_refused("rejectoncontents")

# 5.3 and 5.4.
BAD_VERSION = error(
    400,
    "Invalid version query parameter specified",
    "version must be buffer, committed, last_site_action, successful_site_action",
    kind=OF_DOCUMENTS,
)


def no_version(version: str) -> dict[str, Any]:
    """404: there is no such revision to render."""
    return error(
        404,
        "This revision does not exist",
        f"{version} version does not exist",
        kind=OF_DOCUMENTS,
        cause="(The buffer is empty.|Nothing is committed yet.|No site action has (ended|succeeded) yet).*",
    )


# 5.5.
EMPTY_BUFFER = error(
    409,
    "Unable to commit configuration documents",
    "There are no documents in the buffer to commit",
    kind=OF_DOCUMENTS,
    retry=True,
)

# 6.
NO_BODY = error(
    400, "Json body is required", "/api/v1.0/actions: Bad input, no body provided", kind="InvalidFormatError"
)
NO_COMMIT = error(
    400,
    "No committed configdocs",
    "Unable to locate a committed revision in Deckhand",
    cause="Nothing is committed yet.+: shipyard commit configdocs",
)
BAD_TARGETS = error(
    400,
    "Invalid target_nodes parameter",
    "The target_nodes parameter for this action should be a list with one or more string values representing "
    "node names",
)
INTERMEDIATE = error(
    409,
    "Intermediate commit detected",
    "The current committed revision of documents has other prior commits that have not been used as part of a site "
    "action, e.g. update_site. If you are aware and these other commits are intended, please rerun this action with "
    "the option `allow-intermediate-commits=True`",
)


def unknown_action(action: str) -> dict[str, Any]:
    """404 of what is below an action; the action itself says ``Unknown Action:``."""
    return error(404, "Action not found", f"Unknown action {action}")


def bad_boolean(name: str) -> dict[str, Any]:
    """400: a boolean in a spelling that is none."""
    return framework(
        400,
        "HTTPInvalidParam",
        message=f'The "{name}" parameter is invalid. The value of the parameter must be "true" or "false".',
    )


ANY_DOCUMENTS = Yaml(Each(DOCUMENT))

# 12.3: what a commit of a design without a strategy says. Shipyard's own messages name no source.
NO_STRATEGY = All(
    Lacks("source"),
    FINDING.but(
        message="A deployment strategy document was not specified in the deployment configuration. Because of this, "
        "the strategy used will be all-at-once.",
        error=False,
        name="DeploymentStrategyNotSpecified",
        level="Info",
        diagnostic="Message generated by Shipyard.",
    ),
)
COMMITTED = verdict(200, "Validations succeeded", [NO_STRATEGY])
