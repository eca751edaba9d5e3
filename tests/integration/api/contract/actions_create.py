"""Chapter 6.4: POST /actions, with chapters 3 and 4 of the contract of actions (parameters, checks)."""

import json
from typing import Any

from tests.integration.api.contract.case import JSON, Case, Exchange, Who, error
from tests.integration.api.contract.entities import CREATED, DESCRIBED, FINDING, LISTED
from tests.integration.api.contract.matching import SOME, All, Among, Each, Entity, Lacks, Named, Pattern
from tests.integration.api.contract.texts import BAD_TARGETS, FORBIDDEN, INTERMEDIATE, NO_BODY, NO_COMMIT

NAMES = ("deploy_site", "update_site", "update_software", "redeploy_server", "relabel_nodes", "test_site")
SITE = NAMES[:3]
TARGETED = NAMES[3:5]
LOCATION = {"Location": "/api/v1.0/actions/$id"}


def body(name: str, **parameters: Any) -> str:
    """What a client posts."""
    return json.dumps({"name": name, "parameters": parameters} if parameters else {"name": name})


def create(name: str, posted: str | bytes | None, given: str = "committed", query: str = "", **rest: Any) -> Case:
    """A POST of JSON to /actions; the contract's section is 6.4 unless said otherwise."""
    fields = {"section": "6.4", "name": name, "given": given, "ask": f"POST actions{query}", "sends": JSON}
    return Case(**{**fields, "body": posted, **rest})


def created(name: str, posted: str | bytes, given: str = "committed", query: str = "", **rest: Any) -> Case:
    """One that is accepted."""
    narrowed = rest.pop("shows", {})
    answer = CREATED.but(**{"user": "ann", "context_marker": "$request", **narrowed})
    return create(name, posted, given, query, **{"code": 201, "headers": LOCATION, "answer": answer, **rest})


def refused(name: str, posted: str | bytes | None, given: str, query: str = "", *, answer: Any, **rest: Any) -> Case:
    """One that is refused, by the code that stands in the answer; nothing is stored."""
    code = int(answer["code"].split()[0])
    return create(name, posted, given, query, **{"code": code, "answer": answer, **rest})


def targeted(name: str) -> str:
    """A body of that name that lacks nothing."""
    return body(name, target_nodes="n1,n2") if name in TARGETED else body(name)


def not_valid(keyword: str) -> dict[str, Any]:
    """400: the body breaks the schema of actions."""
    return error(
        400,
        Pattern("JSON validation failed: .+"),
        f"Failed validator: {keyword}",
        kind="InvalidFormatError",
        # product 12: naming the field and its place, so the list may say more than the reason.
        messages=Each(Entity({"message": SOME, "error": True}), least=1),
    )


def unsupported(name: str) -> dict[str, Any]:
    """400: there is no such action."""
    return error(
        400, "Unable to start action", f"Unsupported Action: {name}", cause="There is no action .+deploy_site.+"
    )


BAD_JSON = error(
    400, "JSON could not be decoded", Pattern("/api/v1.0/actions: Invalid JSON in body: .+"), kind="InvalidFormatError"
)


def documents_failed(*names: str, count: int) -> dict[str, Any]:
    """400: the documents are not fit for the action. 17: only errors are counted."""
    return error(
        400,
        "Document validation failed",
        "InvalidConfigurationDocuments",
        messages=All(Among(*(FINDING.but(name=name) for name in names)), Each(All(FINDING, Lacks("source")))),
        count=count,
    )


# shipyard-actions 7, overridden by product 5: two site actions at once are a 409 that names the one that runs.
BUSY = error(409, SOME, Pattern(".*deploy_site.*$action.*|.*$action.*deploy_site.*"))
# product 6: redeploy_server works from the last successful site action unless it is told otherwise.
COMMITTED = {"target-revision": "committed"}
NO_TARGET_REVISION = error(400, SOME, Pattern(".*target-revision.*"))
# No Kubernetes is configured: everything is checked and then the teardown is refused with a reason.
NOTHING_DRAINS = error(409, SOME, SOME)

TARGETS: dict[str, Any] = {
    "a text": "n1,n2",
    "blanks": "n1, n2",
    "a list": ["n1", "n2"],
    "a comma too many": "n1,",
}

_NO_JSON: dict[str, bytes | str] = {
    "YAML": "name: deploy_site",
    "cut short": '{"name": "deploy_site"',
    "single quotes": "{'name': 'deploy_site'}",
    "two objects": '{"name": "deploy_site"} {}',
    "not UTF-8": b'{"name": "\xff"}',
    "a bare word": "deploy_site",
}

CASES = [
    # --- the entity -------------------------------------------------------------------------------------------------
    *(
        created(
            f"{name} on what is committed",
            body(name),
            shows={
                "name": name,
                "dag_id": name,
                "parameters": {},
                "committed_rev_id": Named("committed"),
                "allow_intermediate_commits": None,
            },
        )
        for name in SITE
    ),
    created("test_site", body("test_site"), shows={"name": "test_site", "dag_id": "test_site"}),
    created(
        "test_site of one release", body("test_site", release="keystone"), shows={"parameters": {"release": "keystone"}}
    ),
    created(
        "parameters as posted",
        body("deploy_site", a="1", b=["x", {"y": None}], c=1.5),
        shows={"parameters": {"a": "1", "b": ["x", {"y": None}], "c": 1.5}},
    ),
    created("parameters that are empty", '{"name": "deploy_site", "parameters": {}}', shows={"parameters": {}}),
    created(
        "further keys are echoed",
        '{"name": "deploy_site", "note": {"a": [1]}, "ticket": null}',
        shows={"note": {"a": [1]}, "ticket": None},
    ),
    created(
        "keys of ours are overwritten",
        json.dumps(
            {
                "name": "deploy_site",
                "id": "mine",
                "user": "root",
                "dag_id": "x",
                "dag_status": "success",
                "committed_rev_id": 99,
                "timestamp": "then",
                "context_marker": "m",
                "allow_intermediate_commits": True,
                "dag_execution_date": "never",
            }
        ),
        shows={"dag_id": "deploy_site", "committed_rev_id": Named("committed"), "allow_intermediate_commits": None},
    ),
    created(
        "the new action is listed at once",
        body("deploy_site"),
        then=[
            Exchange(
                ask="GET actions",
                code=200,
                answer=[LISTED.but(id="$id", dag_status="queued", action_lifecycle="Pending")],
            ),
            Exchange(
                ask="GET actions/$id",
                code=200,
                answer=DESCRIBED.but(
                    context_marker=Named("request"),
                    command_audit=[Entity({"command": "invoke", "user": "ann"})],
                    notes=[Entity({"note_val": "Configdoc revision $committed", "verbosity": 1})],
                ),
            ),
        ],
    ),
    created(
        "all that is typed, rightly",
        json.dumps(
            {
                "name": "deploy_site",
                "time": "now",
                "dagStatus": "running",
                "actionStatus": "Pending",
                "validations": [{"status": "Passed"}],
                "steps": [{"status": "Complete"}],
            }
        ),
    ),
    created(
        "the revision is that of the commit, not of the buffer",
        body("deploy_site"),
        "changed",
        shows={"committed_rev_id": Named("committed")},
    ),
    # --- bodies that are none ---------------------------------------------------------------------------------------
    refused("no body", None, "committed", answer=NO_BODY),
    refused("an empty body", b"", "committed", answer=NO_BODY),
    refused("no content type", body("deploy_site"), "committed", answer=NO_BODY, sends={}),
    refused(
        "another content type", body("deploy_site"), "committed", answer=NO_BODY, sends={"Content-Type": "text/plain"}
    ),
    *(refused(f"no JSON: {what}", posted, "committed", answer=BAD_JSON) for what, posted in _NO_JSON.items()),
    *(
        refused(
            f"the schema: {what}",
            posted if isinstance(posted, str) else json.dumps(posted),
            "committed",
            answer=not_valid(keyword),
        )
        for what, posted, keyword in (
            ("no name", {}, "required : ['name']"),
            ("no name, but parameters", {"parameters": {}}, "required : ['name']"),
            ("a name that is a number", {"name": 5}, "type : string"),
            ("a name that is null", {"name": None}, "type : string"),
            ("a list", [], "type : object"),
            ("a text", '"deploy_site"', "type : object"),
            ("a number", "5", "type : object"),
            ("null", "null", "type : object"),
            ("parameters that are a list", {"name": "deploy_site", "parameters": []}, "type : object"),
            ("parameters that are a text", {"name": "deploy_site", "parameters": "a=b"}, "type : object"),
            ("parameters that are null", {"name": "deploy_site", "parameters": None}, "type : object"),
            ("an id that is a number", {"name": "deploy_site", "id": 5}, "type : string"),
            ("a user that is a list", {"name": "deploy_site", "user": []}, "type : string"),
            ("a time that is a number", {"name": "deploy_site", "time": 5}, "type : string"),
            ("a dagStatus that is a number", {"name": "deploy_site", "dagStatus": 5}, "type : string"),
            (
                "an actionStatus that is none",
                {"name": "deploy_site", "actionStatus": "Paused"},
                "enum : ['Pending', 'Validation Failed', 'Processing', 'Complete', 'Failed']",
            ),
            (
                "the status of a validation",
                {"name": "deploy_site", "validations": [{"status": "Complete"}]},
                "enum : ['Passed', 'Failed', 'Pending']",
            ),
            (
                "the status of a step",
                {"name": "deploy_site", "steps": [{"status": "Passed"}]},
                "enum : ['Pending', 'Processing', 'Complete', 'Failed']",
            ),
        )
    ),
    # --- names ------------------------------------------------------------------------------------------------------
    *(
        refused(f"the name {name!r}", json.dumps({"name": name}), "committed", answer=unsupported(name))
        for name in ("destroy_site", "Deploy_Site", "deploy-site", "deploy_site ", "")
    ),
    refused(
        "an unknown name comes before what is not committed", '{"name": "none"}', "empty", answer=unsupported("none")
    ),
    refused("the body comes before what is not committed", "{}", "empty", answer=not_valid("required : ['name']")),
    # --- policy -----------------------------------------------------------------------------------------------------
    *(
        create(f"who may only read creates no {name}", targeted(name), who=Who.VIEWER, code=403, answer=FORBIDDEN)
        for name in NAMES
    ),
    # --- a committed revision ---------------------------------------------------------------------------------------
    *(
        refused(f"{name} with nothing {what}", targeted(name), given, answer=NO_COMMIT)
        for name in NAMES[:5]
        for what, given in (("loaded", "empty"), ("committed", "buffered"))
    ),
    created("test_site with nothing committed", body("test_site"), "empty", shows={"committed_rev_id": None}),
    # --- target_nodes -----------------------------------------------------------------------------------------------
    *(
        refused(f"{name}: {what}", posted, "committed", answer=BAD_TARGETS)
        for name in TARGETED
        for what, posted in {
            "no target_nodes": body(name),
            "target_nodes that are an empty text": body(name, target_nodes=""),
            "target_nodes that are an empty list": body(name, target_nodes=[]),
            "target_nodes that are a number": body(name, target_nodes=5),
            "target_nodes that are numbers": body(name, target_nodes=[1]),
            "target_nodes with something that is no text": body(name, target_nodes=["n1", None]),
            "target_nodes that are only commas": body(name, target_nodes=" , ,"),
            "target_nodes that are null": json.dumps({"name": name, "parameters": {"target_nodes": None}}),
        }.items()
    ),
    *(
        refused(f"{name}: target_nodes come before what is not committed", body(name), "empty", answer=BAD_TARGETS)
        for name in TARGETED
    ),
    *(
        refused(
            f"redeploy_server: {what}",
            body("redeploy_server", target_nodes=nodes, **COMMITTED),
            "committed",
            answer=NOTHING_DRAINS,
        )
        for what, nodes in TARGETS.items()
    ),
    *(
        created(
            f"relabel_nodes: {what}",
            body("relabel_nodes", target_nodes=nodes),
            shows={"name": "relabel_nodes", "dag_id": "relabel_nodes", "parameters": {"target_nodes": nodes}},
        )
        for what, nodes in TARGETS.items()
    ),
    refused(
        "redeploy_server, and no site action has succeeded",
        body("redeploy_server", target_nodes="n1"),
        "acted_between",
        answer=NO_TARGET_REVISION,
    ),
    refused("redeploy_server, and one has", body("redeploy_server", target_nodes="n1"), "acted", answer=NOTHING_DRAINS),
    refused(
        "redeploy_server, of the last site action",
        body("redeploy_server", target_nodes="n1", **{"target-revision": "last-site-action"}),
        "acted_between",
        answer=NOTHING_DRAINS,
    ),
    refused(
        "redeploy_server, of the last site action, and there was none",
        body("redeploy_server", target_nodes="n1", **{"target-revision": "last-site-action"}),
        "committed",
        answer=NO_TARGET_REVISION,
    ),
    # --- intermediate commits ---------------------------------------------------------------------------------------
    *(refused(f"{name} after two commits", body(name), "intermediate", answer=INTERMEDIATE) for name in SITE),
    *(
        created(
            f"{name} after two commits, allowed",
            body(name),
            "intermediate",
            "?allow-intermediate-commits=True",
            shows={"committed_rev_id": Named("committed"), "allow_intermediate_commits": True},
        )
        for name in SITE
    ),
    refused(
        "after two commits, expressly not allowed",
        body("deploy_site"),
        "intermediate",
        "?allow-intermediate-commits=False",
        answer=INTERMEDIATE,
    ),
    # 16, seed 004: it may come as a parameter of the action, too.
    created(
        "after two commits, allowed by a parameter of the action",
        json.dumps({"name": "deploy_site", "parameters": {"allow-intermediate-commits": "true"}}),
        "intermediate",
        shows={"parameters": {"allow-intermediate-commits": "true"}},
    ),
    created("after two commits, test_site", body("test_site"), "intermediate"),
    refused(
        "redeploy_server after two commits is not checked for that",
        body("redeploy_server", target_nodes="n1,n2", **COMMITTED),
        "intermediate",
        answer=NOTHING_DRAINS,
    ),
    created(
        "relabel_nodes after two commits is not checked for that",
        body("relabel_nodes", target_nodes="n1,n2"),
        "intermediate",
        shows={"name": "relabel_nodes", "dag_id": "relabel_nodes", "parameters": {"target_nodes": "n1,n2"}},
    ),
    created("an action on the commit before, though it failed, is enough", body("deploy_site"), "acted_between"),
    # --- documents --------------------------------------------------------------------------------------------------
    *(
        refused(
            f"{name} on a strategy that is a circle",
            body(name),
            "circular_committed",
            answer=documents_failed("DeploymentGroupCycleError", count=1),
        )
        for name in ("deploy_site", "update_site")
    ),
    created("update_software does not look at the strategy", body("update_software"), "circular_committed"),
    *(
        refused(
            f"{name} without a deployment configuration",
            targeted(name),
            "unconfigured_committed",
            answer=documents_failed("DocumentNotFoundError", count=1),
        )
        for name in NAMES[:5]
    ),
    created("test_site looks at no document", body("test_site"), "unconfigured_committed"),
    # shipyard-actions 3: a failed check is logged and ignored, as long as there is something to freeze (product 5;
    # docs/howto/fix-a-failure.md).
    *(
        created(
            f"continue-on-fail={written!r} on documents that lack something",
            json.dumps({"name": "deploy_site", "parameters": {"continue-on-fail": written}}),
            "version_missing_committed",
        )
        for written in ("true", "True", True)
    ),
    refused(
        "continue-on-fail on a strategy that is a circle",
        body("deploy_site", **{"continue-on-fail": "true"}),
        "circular_committed",
        answer=documents_failed("DeploymentGroupCycleError", count=1),
    ),
    refused(
        "continue-on-fail that is not true",
        body("deploy_site", **{"continue-on-fail": "false"}),
        "circular_committed",
        answer=documents_failed("DeploymentGroupCycleError", count=1),
    ),
    # 17: a deployment version that is missing refuses an action only where that is an error.
    created("without a deployment version, which is told", body("deploy_site"), "version_commit_info"),
    created("without a deployment version, which is a warning", body("deploy_site"), "version_commit_warning"),
    refused(
        "without a deployment version, which is an error",
        body("deploy_site"),
        "version_missing_committed",
        answer=documents_failed("DocumentNotFoundError", count=1),
    ),
    created(
        "without a deployment version, which is an error, in software",
        body("update_software"),
        "version_missing_committed",
    ),
    # --- two at once ------------------------------------------------------------------------------------------------
    *(
        create(f"{name} while another action is {given}", body(name), given, code=409, answer=BUSY)
        for name in SITE
        for given in ("queued", "running", "paused")
    ),
    # Until the teardown is there the reason may be another one; the code is the same.
    *(
        create(
            f"{name} while another action runs",
            body(name, target_nodes="n1,n2", **(COMMITTED if name == "redeploy_server" else {})),
            "running",
            code=409,
            answer=NOTHING_DRAINS,
        )
        for name in TARGETED
    ),
    *(
        created(f"test_site while another action is {given}", body("test_site"), given)
        for given in ("queued", "running")
    ),
    *(
        created(f"deploy_site after one that has {given}", body("deploy_site"), given)
        for given in ("succeeded", "failed")
    ),
    # --- Idempotency-Key (product, 5) -------------------------------------------------------------------------------
    created(
        "the same key and body give the same action",
        body("deploy_site"),
        sends={**JSON, "Idempotency-Key": "k1"},
        then=[
            # shipyard-cli 4: the client takes any code but 201 for an error.
            Exchange(
                ask="POST actions",
                sends={**JSON, "Idempotency-Key": "k1"},
                body=body("deploy_site"),
                code=201,
                headers=LOCATION,
                answer=CREATED.but(id="$id", context_marker=SOME),
            ),
            Exchange(ask="GET actions", code=200, answer=[LISTED.but(id="$id")]),
        ],
    ),
    created(
        "another key is another action",
        body("test_site"),
        sends={**JSON, "Idempotency-Key": "k1"},
        then=[
            Exchange(
                ask="POST actions",
                sends={**JSON, "Idempotency-Key": "k2"},
                body=body("test_site"),
                code=201,
                headers={"Location": Pattern("/api/v1.0/actions/(?!$id)[0-9A-Z]{26}")},
                answer=CREATED,
            ),
            Exchange(ask="GET actions", code=200, answer=[LISTED, LISTED]),
        ],
    ),
]
