"""The command that approves what follows a wave."""

import json

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

ID = "01M7XV7VKPMDHXJVA7WMC7P6XP"
GATE = {"group": "a", "wave": "canary", "place": 0, "index": 0, "deployed": 1, "since": "2026-11-26T10:00:00+00:00"}
GIVEN = {**GATE, "approve": False, "by": "ann", "at": "2026-11-26T11:00:00+00:00", "reason": "loud"}


def test_what_waits_and_what_was_answered_is_shown(api, run):
    api.replies[f"GET /actions/{ID}/approvals"] = Reply(200, {"waiting": [GATE], "given": [GIVEN]})

    result = run("approve", ID, "--show")

    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "Waits After Wave Of Group Nodes Deployed Since",
        "canary a 1 2026-11-26 10:00:00",
        "",
        "Wave Group Answer By At Reason",
        "canary a refused ann 2026-11-26 11:00:00 loud",
    ]


@table(
    ("words", "sent"),
    {
        "the only one": ([ID], {"approve": True}),
        "refused, by name": (
            [ID, "--refuse", "--wave", "canary", "--group", "a", "--reason", "loud"],
            {"approve": False, "wave": "canary", "group": "a", "reason": "loud"},
        ),
    },
)
def test_an_answer_is_sent(api, run, words, sent):
    api.replies[f"POST /actions/{ID}/approvals"] = Reply(200, {"waiting": [], "given": [GIVEN]})

    result = run("approve", *words)

    assert json.loads(api.requests[0].body) == sent
    assert result.stdout == "Refused: what follows wave canary of group a.\n"


PLAN = {
    "id": ID,
    "hash": "0" * 64,
    "name": "test_site",
    "request": {"name": "test_site"},
    "stored_by": "ann",
    "stored_at": "2026-11-26T10:00:00.000000Z",
    "signatures": [{"by": "bob", "at": "2026-11-26T11:00:00.000000Z", "reason": ""}],
    "action": None,
}


def test_a_plan_is_signed_by_its_hash(api, run):
    api.replies[f"GET /plans/{ID}"] = Reply(200, PLAN)
    api.replies[f"POST /plans/{ID}/approvals"] = Reply(200, PLAN)

    result = run("approve", f"plan/{ID}", "--reason", "as discussed")

    assert json.loads(api.requests[1].body) == {"hash": "0" * 64, "reason": "as discussed"}
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        f"Stored: plan/{ID}",
        f"Hash: {'0' * 64}",
        "By: ann at 2026-11-26 10:00:00",
        "Approved: bob at 2026-11-26 11:00:00",
    ]


def test_the_newest_plan_needs_no_id(api, run):
    api.replies["GET /plans"] = [Reply(200, {"plans": [PLAN]}), Reply(200, {"plans": []})]
    api.replies[f"GET /plans/{ID}"] = Reply(200, PLAN)

    api.replies[f"POST /plans/{ID}/approvals"] = Reply(200, PLAN)

    assert run("approve", "plan/latest").exit_code == 0
    paths = ["/plans", f"/plans/{ID}", f"/plans/{ID}/approvals"]
    assert [request.path.removeprefix("/api/v1.0") for request in api.requests] == paths
    none = run("approve", "plan/latest")
    assert (none.exit_code, none.stdout) == (1, "Error: There is no stored plan yet.\n")


def test_a_plan_that_is_unknown_is_not_signed(api, run):
    api.replies[f"GET /plans/{ID}"] = Reply(404, {"kind": "Status", "message": "Plan not found"})

    assert run("approve", f"plan/{ID}").exit_code == 1
    assert len(api.requests) == 1
    assert run("approve", f"plan/{ID}", "--refuse").exit_code == 2
    assert run("approve", "plan/nothing").exit_code == 2
