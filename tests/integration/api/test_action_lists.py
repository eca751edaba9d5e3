"""Lists of actions in parts: filters, and pages that lead to the next one (RFC 8288); and that nothing else changed."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import falcon
import pytest
from falcon.testing import Result

from shipyard_api.storage import tables as t
from tests.integration.api.wire import V1, Site, kept, small_design

NOW = datetime.now(UTC)
HOURS = (700, 48, 3, 2, 1)
IDS = [f"01BX5ZZKBKACTAV9WEVGEM000{number}" for number in range(len(HOURS))]
ROWS = [
    {"name": "deploy_site", "state": "failed", "user_name": "ann"},
    {"name": "update_site", "state": "success", "user_name": "bob"},
    {"name": "deploy_site", "state": "success", "user_name": "ann & co"},
    {"name": "test_site", "state": "failed", "user_name": "bob"},
    {"name": "deploy_site", "state": "running", "user_name": "ann"},
]


@kept
def actions(site: Site) -> list[str]:
    """Five actions, in order of creation: from a month ago to an hour ago."""
    site.commit(*small_design())
    with site.store._engine.begin() as connection:
        for row, action, hours in zip(ROWS, IDS, HOURS, strict=True):
            at = NOW - timedelta(hours=hours)
            ended = at if row["state"] in ("failed", "success") else None
            connection.execute(
                t.actions.insert().values(
                    id=action,
                    parameters={},
                    context_marker="a13b0122-0885-4745-84e9-39d1ce42b025",
                    revision=1,
                    exclusive=row["state"] == "running",
                    inputs={},
                    created_at=at,
                    started_at=at,
                    ended_at=ended,
                    **row,
                )
            )
    return IDS


FIRST = "0" * 26  # before all ids
LISTS = {"/actions": "id", "/workflows": "run_id"}


def following(answer: Result) -> str | None:
    link = answer.headers.get("Link")
    if link is None:
        return None
    assert link.startswith("</api/v1.0/")
    assert link.endswith('>; rel="next"')
    return link[1:].partition(">")[0]


@pytest.mark.parametrize("path", list(LISTS))
def test_pages_lead_from_one_to_the_next_and_are_the_same_question(site: Site, actions: list[str], path: str) -> None:
    whole = site.viewer.get(path)
    assert ([one[LISTS[path]] for one in whole.json], "Link" in whole.headers) == (actions, False)
    for order, limit, sizes in (("asc", 1, [1] * 5), ("asc", 2, [2, 2, 1]), ("desc", 3, [3, 2]), ("asc", 5, [5])):
        answer = site.viewer.get(path, limit=str(limit), order=order)
        pages = [[one[LISTS[path]] for one in answer.json]]
        while (link := following(answer)) is not None and len(pages) <= len(sizes):
            parts = urlsplit(link)
            answer = site.viewer.ask("GET", parts.path, query=parts.query)
            pages.append([one[LISTS[path]] for one in answer.json])
        assert [len(page) for page in pages] == sizes
        assert [one for page in pages for one in page] == (actions if order == "asc" else actions[::-1])

    query = "state=failed&state=success&user=ann%20%26%20co&user=ann&verbosity=0&limit=1&since=P40D&x=%3E%22"
    query += f"&marker={FIRST}"
    link = following(site.viewer.ask("GET", f"{V1}{path}", query=query))
    assert link is not None
    assert urlsplit(link).path == f"{V1}{path}"
    assert parse_qs(urlsplit(link).query) == {
        "state": ["failed", "success"],
        "user": ["ann & co", "ann"],
        "verbosity": ["0"],
        "limit": ["1"],
        "since": ["P40D"],
        "x": ['>"'],
        "marker": [actions[0]],
    }
    assert link.isascii()
    assert not set('<>" \r\n') & set(link)


MOMENT = (NOW - timedelta(hours=2.5)).isoformat()
FILTERS: dict[str, list[int]] = {
    "name=deploy_site&name=test_site": [0, 2, 3, 4],
    "name=redeploy_server": [],
    "state=queued&state=running": [4],
    "lifecycle=Complete": [1, 2],
    "lifecycle=Complete&state=failed": [],
    "user=ann&user=ann%20%26%20co": [0, 2, 4],
    "user=an": [],
    "user=ann,bob": [],
    "since=P7D": [1, 2, 3, 4],
    "since=P999999Y": [0, 1, 2, 3, 4],
    f"since={MOMENT.replace('+', '%2B')}": [3, 4],
    f"since={MOMENT.replace('+00:00', 'Z')}": [3, 4],
    f"since={(NOW + timedelta(days=2)).date().isoformat()}": [],
    "name=deploy_site&state=success&user=ann%20%26%20co&since=P1D": [2],
    f"marker={IDS[2]}&name=deploy_site": [4],
    f"marker={'Z' * 26}": [],
    f"order=desc&marker={IDS[2]}&name=deploy_site": [0],
    "name=&state=&lifecycle=&user=&since=&marker=&limit=&order=": list(range(5)),
    "Name=test_site&NAME=x&foo=bar": [0, 1, 2, 3, 4],
}
REFUSED = (
    *(f"limit={value}" for value in ("0", "1001", "x", "%D9%A3")),
    *(f"marker={value}" for value in ("x", "%27", "a%0d%0aX-Evil:1", "0" * 27)),
    *("order=DESC", "order=asc,desc", "name=Deploy_Site", "name=deploy_site,test_site", "state=paused,running"),
    *("lifecycle=complete", "state=failed&state=x"),
)


def test_filters_let_through_what_fits_all_of_them_or_say_which_cannot_be_meant(site: Site, actions: list[str]) -> None:
    for path in LISTS:
        for query, expected in FILTERS.items():
            found = site.viewer.ask("GET", f"{V1}{path}", query=query).json
            assert [IDS.index(one[LISTS[path]]) for one in found] == expected, query
    # A list of workflows guesses since when.
    refused = [(path, query) for path in LISTS for query in REFUSED]
    refused += [("/actions", f"since={written}") for written in ("x", "P", "2026-13-01", "-P1D")]
    for path, query in refused:
        answer = site.viewer.ask("GET", f"{V1}{path}", query=query)
        assert answer.status == falcon.HTTP_400, query
        assert answer.json["message"].startswith(f'The "{query.partition("=")[0]}" parameter is invalid. ')
        assert (answer.json["reason"], answer.json["details"]["errorType"]) == ("Invalid parameter", "HTTPInvalidParam")


def test_a_page_of_actions_has_their_steps_and_notes(site: Site, actions: list[str]) -> None:
    with site.store.begin() as tx:
        tx.turns._connection.execute(t.actions.update().values(state="failed", ended_at=NOW, exclusive=False))
    created = site.create_action()

    (shown,) = site.viewer.get("/actions", marker=IDS[-1], limit="1").json

    assert shown["id"] == created
    assert len(shown["steps"]) > 5
    assert [note["sub_type"] for note in shown["notes"]] == ["action metadata"]
    (all_of_it,) = [one for one in site.viewer.get("/actions").json if one["id"] == created]
    assert shown == all_of_it
