"""``shipyard diff site``: the table, and exit codes for scripts."""

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table

ROW = {
    "node": "n1",
    "kind": "released",
    "expected": "deployed",
    "seen": "Ready",
    "since": "2026-11-21T01:31:14.000000Z",
    "system": "MAAS",
}
NOTHING = {
    "since": "successful-site-action",
    "action": {"id": "01M7XV7VKPMDHXJVA7WMC7P6XP", "name": "deploy_site", "ended_at": None},
    "compared": 16,
    "differences": [],
    "unanswered": [],
    "skipped": [],
    "unsighted": [],
    "to_do": None,
}
DEAD = {"unanswered": [{"system": "Kubernetes", "why": "no answer"}]}
TITLE = "16 nodes compared with deploy_site action/01M7XV7VKPMDHXJVA7WMC7P6XP"
CASES = {
    "nothing": ({}, 0, [f"{TITLE}: no difference"]),
    "a difference": (
        {"differences": [ROW]},
        2,
        [
            f"{TITLE}: 1 difference",
            "",
            "Node       Difference    Expected    Seen     Since                  System",
            "node/n1    released      deployed    Ready    2026-11-21 01:31:14    MAAS",
        ],
    ),
    "no drift, and something to do": (
        {"to_do": [{"node": name, "class": "reinstall", "aspects": ["image"]} for name in ("n1", "n2")]},
        0,
        [f"{TITLE}: no difference", "", "To do, as `shipyard plan update_site` shows:", "  reinstall: n1, n2"],
    ),
    "nothing, as far as is known": (
        {**DEAD, "skipped": [{"node": "n2", "action_id": "A"}], "unsighted": ["n3"]},
        3,
        [
            f"{TITLE}: no difference",
            "",
            "Kubernetes could not be asked: no answer",
            "Left out, because an action works on them: n2",
            "Not yet known which machine they had: n3",
        ],
    ),
}


@table(("found", "code", "lines"), CASES)
def test_the_exit_code_says_whether_anything_differs(api, run, found, code, lines):
    api.replies["GET /site/differences"] = Reply(200, {**NOTHING, **found})
    result = run("diff", "site")
    assert (result.exit_code, [line.rstrip() for line in result.stdout.splitlines()]) == (code, lines)
    assert ("since", "successful-site-action") in api.requests[0].query


def test_a_difference_counts_although_a_system_was_not_asked(api, run):
    api.replies["GET /site/differences"] = Reply(200, {**NOTHING, **DEAD, "differences": [ROW]})
    assert run("diff", "site", "--since=last-site-action").exit_code == 2


def test_a_refusal_is_no_difference(api, run):
    api.replies["GET /site/differences"] = Reply(404, {"message": "No site action"})
    assert run("diff", "site").exit_code == 1
