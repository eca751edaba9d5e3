"""Chapter 5.5: POST /commitconfigdocs, the buffer checked and put into force; its messages are those of 2 and 12.3."""

from typing import Any

from tests.integration.api.contract.case import YAML, Case, Exchange, Who, Yaml, error, verdict
from tests.integration.api.contract.entities import DOCUMENT, FINDING
from tests.integration.api.contract.matching import SOME, All, Among, Each, Either, Entity, Lacks, Pattern, Type
from tests.integration.api.contract.states import MTU, TOLD_INFO
from tests.integration.api.contract.texts import ANY_DOCUMENTS, COMMITTED, EMPTY_BUFFER, NO_STRATEGY, OF_DOCUMENTS

# The path of a circle belongs to the diagnostic: the message is one that scripts compare (12.3).
GOOD, BAD = "Validations succeeded", "Validations failed"
OURS = Lacks("source")
CONFIGURATION = "shipyard/DeploymentConfiguration/v1"
CIRCLE = All(
    OURS,
    FINDING.but(
        error=True,
        level="Error",
        name="DeploymentGroupCycleError",
        message="The deployment groups specified in the Deployment Strategy have groups that form a cycle.",
        diagnostic=Pattern("The following are involved in a circular dependency: .+"),
    ),
)
NO_CONFIGURATION = All(
    OURS,
    FINDING.but(
        error=True,
        level="Error",
        name="DocumentNotFoundError",
        message=f"Missing required document {CONFIGURATION}",
        diagnostic=f"The configuration documents must include a document with schema: {CONFIGURATION} and name: "
        "deployment-configuration",
    ),
)
NO_STRATEGY_DOCUMENT = All(
    OURS,
    FINDING.but(
        error=True,
        level="Error",
        name="DocumentNotFoundError",
        message="Missing required document shipyard/DeploymentStrategy/v1",
        diagnostic="The configuration documents must include a document with schema: shipyard/DeploymentStrategy/v1 "
        "and name: by-rack",
    ),
)
NO_DEPLOYMENT_VERSION = All(
    OURS,
    FINDING.but(
        error=True,
        level="Error",
        name="DocumentNotFoundError",
        message="Missing required document pegleg/DeploymentData/v1",
    ),
)
OF_DRYDOCK = {"source": "Drydock", "kind": "ValidationMessage"}
# No diagnostic is null or an empty text: 2 has both types.
NO_DIAGNOSTIC = {"diagnostic": Either(None, "")}
DRYDOCK_OBJECTS = Entity(MTU | OF_DRYDOCK | NO_DIAGNOSTIC)
DRYDOCK_REMARKS = Entity(TOLD_INFO | OF_DRYDOCK | NO_DIAGNOSTIC)
# A peer that answers neither 200 nor 400; Armada is retired (product, 5) and never asked.
DRYDOCK_UNABLE = Entity(
    {
        "message": "Drydock unable to validate configdocs or an invalid response has been returned",
        "error": True,
        "diagnostic": SOME,
    }
)
IN_BUFFER = Exchange(ask="GET configdocs/design", code=200, answer=ANY_DOCUMENTS)
IN_FORCE = Exchange(ask="GET configdocs/design?version=committed", code=200, answer=Yaml(Each(DOCUMENT, least=1)))
NOT_IN_BUFFER = Exchange(
    ask="GET configdocs/design",
    code=404,
    answer=error(
        404,
        "No documents to retrieve",
        "The Shipyard buffer is empty or does not contain this collection",
        kind=OF_DOCUMENTS,
    ),
)
NOT_IN_FORCE = Exchange(
    ask="GET configdocs/design?version=committed",
    code=404,
    answer=error(404, "No documents to retrieve", "No collection design for revision committed", kind=OF_DOCUMENTS),
)
KEPT, DONE = (IN_BUFFER, NOT_IN_FORCE), (NOT_IN_BUFFER, IN_FORCE)


def commit(name: str, given: str, query: str = "", **rest: Any) -> Case:
    """A commit of what the state has in its buffer."""
    return Case(**{"section": "5.5", "name": name, "given": given, "ask": f"POST commitconfigdocs{query}", **rest})


def refused(name: str, given: str, messages: Any, *, every_way: bool = False) -> list[Case]:
    """What is wrong; ``every_way``: also by force, as a dry run, and as a dry run by force, which wins."""
    plainly = commit(name, given, code=400, answer=verdict(400, BAD, messages, errors=1), then=KEPT)
    if not every_way:
        return [plainly]
    forced = verdict(200, f"{BAD} FORCED SUCCESS", messages, errors=1)
    tried = verdict(200, f"{BAD} DRYRUN", messages, errors=1)
    return [
        plainly,
        commit(f"{name}, force", given, "?force=true", code=200, answer=forced, then=DONE),
        commit(f"{name}, dryrun", given, "?dryrun=true", code=200, answer=tried, then=KEPT),
        commit(f"{name}, dryrun and force", given, "?dryrun=true&force=true", code=200, answer=tried, then=KEPT),
    ]


CASES = [
    commit("all is well", "buffered", code=200, answer=COMMITTED, then=DONE),
    commit(
        "as the client sends it",
        "buffered",
        "?force=False&dryrun=False&verbosity=1",
        sends={**YAML, "Content-Length": "0"},
        code=200,
        answer=COMMITTED,
        then=DONE,
    ),
    commit("all is well, force", "buffered", "?force=true", code=200, answer=COMMITTED, then=DONE),
    commit(
        "all is well, dryrun",
        "buffered",
        "?dryrun=true",
        code=200,
        answer=verdict(200, f"{GOOD} DRYRUN", [NO_STRATEGY]),
        then=KEPT,
    ),
    commit(
        "all is well, dryrun and force",
        "buffered",
        "?dryrun=true&force=true",
        code=200,
        answer=verdict(200, f"{GOOD} DRYRUN", [NO_STRATEGY]),
        then=KEPT,
    ),
    commit("a change of what is committed", "changed", code=200, answer=COMMITTED, then=DONE),
    *(
        commit(f"an empty buffer{words}: {what}", given, query, code=409, answer=EMPTY_BUFFER)
        for what, given in (("nothing was ever loaded", "empty"), ("all is committed", "committed"))
        for words, query in (("", ""), (", force", "?force=true"), (", dryrun", "?dryrun=true"))
    ),
    commit(
        "who may only read may not even try",
        "buffered",
        "?dryrun=true",
        who=Who.VIEWER,
        code=403,
        answer=error(403, "Forbidden", "Credentials do not permit access"),
    ),
    # --- 1: rendering; 2: what the store found; 3: Shipyard's own checks --------------------------------------------
    *refused("a document takes from one that does not exist", "unrenderable", [FINDING.but(error=True, level="Error")]),
    *refused(
        "a document fails its schema",
        "schema_broken",
        Among(FINDING.but(error=True, level="Error", documents=[Entity({"schema": "a/Kind/v1", "name": "big"})])),
    ),
    *refused("groups wait for each other", "circular", [CIRCLE], every_way=True),
    *refused("there is no deployment configuration", "unconfigured", Among(NO_CONFIGURATION)),
    *refused("the strategy that is named is not there", "strategy_missing", [NO_STRATEGY_DOCUMENT]),
    *refused(
        "there is no deployment version, which a commit must have",
        "version_commit_error",
        Among(NO_STRATEGY, NO_DEPLOYMENT_VERSION),
    ),
    # --- the peers ---------------------------------------------------------------------------------------------------
    *refused("Drydock objects", "drydock_objects", [NO_STRATEGY, DRYDOCK_OBJECTS], every_way=True),
    *refused("Drydock objects with a 400, an answer too", "drydock_objects_400", [NO_STRATEGY, DRYDOCK_OBJECTS]),
    *refused("Drydock breaks", "drydock_breaks", [NO_STRATEGY, DRYDOCK_UNABLE]),
    *refused("Drydock hangs up", "drydock_down", [NO_STRATEGY, DRYDOCK_UNABLE], every_way=True),
    *refused(
        "Drydock answers without details: the answer is the message",
        "drydock_without_details",
        [NO_STRATEGY, Entity({"message": Type(str), "error": True})],
    ),
    commit(
        "Drydock remarks on something",
        "drydock_remarks",
        code=200,
        answer=verdict(200, GOOD, [NO_STRATEGY, DRYDOCK_REMARKS]),
        then=DONE,
    ),
]
