"""The commands about roles and tags: what each asks for, and what it prints."""

import json

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

TAG = {"name": "mysql", "meta": {"has_primary": True}, "owner": "release", "predefined": True}
DONE = Reply(204, b"", content_type="")

ASKED = {
    "of a release": ("tag list --release 2", "GET /releases/2/tags", None, Reply(200, [TAG]), "mysql"),
    "set": (
        "tag set own --no-primary --cluster 3",
        "PUT /clusters/3/tags/own",
        {"meta": {"has_primary": False}},
        Reply(200, {"name": "own", "meta": {"has_primary": False}}),
        "own no",
    ),
    "unassign": ("tag unassign n1 a b", "DELETE /nodes/n1/tags", None, DONE, "n1 has no longer: a, b"),
    "check with findings": (
        "tag check",
        "GET /clusters/1/tag_check",
        None,
        Reply(200, [{"name": "T", "level": "Warning", "message": "No node has x."}]),
        "Warning No node has x.",
    ),
    "assign a role to a set of nodes": (
        "role assign n[1-2],x db",
        "POST /clusters/1/assignment",
        [{"id": name, "roles": ["db"]} for name in ("n1", "n2", "x")],
        Reply(200, {}),
        "n[1-2],x have the roles: db",
    ),
}


@table(("line", "request_line", "body", "reply", "prints"), ASKED)
def test_a_command_asks_and_prints(api, run, line, request_line, body, reply, prints):
    method, path = request_line.split()
    api.replies[f"{method} /api/v1{path}"] = reply

    result = run(*line.split())

    (request,) = api.requests
    assert (json.loads(request.body) if request.body else None) == body
    assert prints in " ".join(result.stdout.split()), result.output
    assert result.exit_code == 0


def test_unassigned_tags_are_in_the_query(api, run):
    api.replies["DELETE /api/v1/nodes/n1/tags"] = DONE

    run("tag", "unassign", "n1", "a", "b")

    assert ("tags", "a,b") in api.requests[0].query


def test_an_error_is_its_message(api, run):
    api.replies["DELETE /api/v1/clusters/1/tags/x"] = Reply(409, {"message": "Tag 'x' is assigned", "errors": []})
    api.replies["POST /api/v1/clusters/1/tags"] = Reply(400, {"message": "one\ntwo", "errors": []})

    assert run("tag", "delete", "x").stdout.startswith("Error: Tag 'x' is assigned\n")
    refused = run("tag", "create", "x")
    assert (refused.stdout.splitlines()[:2], refused.exit_code) == (["Error: one", "two"], 1)
