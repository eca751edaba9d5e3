"""Chapter 9: the runs behind the actions."""

from typing import Any

from tests.integration.api.contract.case import Case, Who, error
from tests.integration.api.contract.entities import RUN, WORKFLOW
from tests.integration.api.contract.matching import Among, Each, Either, Entity, Pattern

MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}"
TIME = Pattern(MOMENT + "Z")
STATES = {"queued": "queued", "running": "running", "paused": "paused", "succeeded": "success", "failed": "failed"}
SINCE_LONG_AGO = "2017-01-01"
OURS: dict[str, Any] = {
    "workflow_id": Pattern(f"deploy_site__{MOMENT}"),
    "dag_id": "deploy_site",
    "run_id": "$action",
    "execution_date": "$mark",
    "conf": Entity({"action": Entity({"name": "deploy_site", "id": "$action", "user": "ann"})}),
}


def not_found(workflow: str) -> dict[str, Any]:
    """404. 17: upstream answered 200 and nothing; a text as the reason is safe for clients."""
    text = f"A Workflow with id {workflow} was not found"
    return error(404, "Workflow not found", Either(text, [text]), messages=Entry(text))


def bad_id() -> dict[str, Any]:
    """400: not the form of an id."""
    text = "Workflow id must use {dag id}__{execution date} format"
    return error(400, "Invalid Workflow ID specified", Either(text, [text]), messages=Entry(text))


def Entry(text: str) -> Any:  # noqa: N802 - reads as the matcher that it is
    """A message list with that text, once."""
    return [Entity({"message": Either(text, [text]), "error": True})]


def listing(name: str, given: str, query: str = "", **rest: Any) -> Case:
    """A read of the list."""
    fields = {"section": "9.1", "name": name, "given": given, "ask": f"GET workflows{query}", "who": Who.VIEWER}
    return Case(**{**fields, **rest})


def one(name: str, given: str, workflow: str, **rest: Any) -> Case:
    """A read of one run."""
    fields = {"section": "9.2", "name": name, "given": given, "ask": f"GET workflows/{workflow}", "who": Who.VIEWER}
    return Case(**{**fields, **rest})


CASES = [
    listing("no run", "empty", code=200, answer=[]),
    *(
        listing(f"a run that is {state}", given, code=200, answer=[RUN.but(**OURS, state=state)])
        for given, state in STATES.items()
    ),
    listing("one that has not begun has no dates", "queued", code=200, answer=[RUN.but(end_date=None)]),
    listing(
        "one that runs has begun and not ended", "running", code=200, answer=[RUN.but(start_date=TIME, end_date=None)]
    ),
    listing(
        "one that has ended has both dates", "succeeded", code=200, answer=[RUN.but(start_date=TIME, end_date=TIME)]
    ),
    listing("an admin may list", "running", who=Who.ADMIN, code=200, answer=[RUN]),
    listing("with a verbosity, as the client sends it", "running", "?verbosity=1", code=200, answer=[RUN]),
    listing("several", "retried", code=200, answer=Among(RUN.but(run_id="$first"), RUN.but(run_id="$action"))),
    # since: a date or a time; by default, and for anything that cannot be read, 30 days ago.
    listing("older than 30 days", "old", code=200, answer=[]),
    *(
        listing(f"since {since}", "old", f"?since={since}", code=200, answer=[RUN.but(run_id="$action")])
        for since in (SINCE_LONG_AGO, "2017-01-01T00:00:00", "2017-01-01T00:00:00Z", "2017-01-01T00:00:00.000000")
    ),
    listing("since tomorrow", "running", "?since=2999-01-01", code=200, answer=[]),
    *(
        listing(f"since {since!r}, which is none, means 30 days", "old", f"?since={since}", code=200, answer=[])
        for since in ("P90D", "yesterday", "1", "", "2017-13-45")
    ),
    *(
        listing(
            f"since {since!r}, which is none, keeps what is new", "running", f"?since={since}", code=200, answer=[RUN]
        )
        for since in ("P1D", "yesterday", "")
    ),
    # --- one run ----------------------------------------------------------------------------------------------------
    *(
        one(
            f"a run that is {state}, by the id that is listed",
            given,
            "deploy_site__$mark_unzoned",
            code=200,
            answer=WORKFLOW.but(
                **{**OURS, "workflow_id": "deploy_site__$mark_unzoned"},
                state=state,
                sub_dags=[],
                steps=Each(WORKFLOW.fields["steps"].entry, least=5),
            ),
        )
        for given, state in STATES.items()
    ),
    # 17: with and without Z.
    one(
        "by its id with a zone",
        "running",
        "deploy_site__$mark",
        code=200,
        answer=WORKFLOW.but(**{**OURS, "workflow_id": Pattern(f"deploy_site__{MOMENT}")}),
    ),
    one("one that is older than 30 days", "old", "deploy_site__$then", code=200, answer=WORKFLOW.but(run_id="$action")),
    one("an admin may read too", "running", "deploy_site__$mark_unzoned", who=Who.ADMIN, code=200, answer=WORKFLOW),
    *(
        one(f"{workflow!r} is no id", "running", workflow, code=400, answer=bad_id())
        for workflow in ("deploy_site", "x", "deploy_site_2026-11-21T01:23:55.745506", "")
    ),
    *(
        one(f"there is no {workflow!r}", "running", workflow, code=404, answer=not_found(workflow))
        for workflow in (
            *("deploy_site__2016-11-21T01:23:55.745506", "deploy_site__yesterday", "deploy_site__", "__"),
            *("nothing__2026-11-21T01:23:55.745506", "deploy_site__0001-01-01T00:00:00", "deploy_site__P7D"),
        )
    ),
    one(
        "the same time with another name is another run",
        "running",
        "update_site__$mark_unzoned",
        code=404,
        answer=not_found("update_site__$mark_unzoned"),
    ),
]
