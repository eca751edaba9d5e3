"""Lists of actions in parts: filters, and pages that lead to the next one (RFC 8288); and that nothing else changed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import falcon
import pytest
from falcon.testing import Result

from shipyard_api.storage import tables as t
from tests.integration.api.wire import V1, Caller, Site, kept, small_design

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
both = pytest.mark.parametrize("path", list(LISTS))


def listed(caller: Caller, path: str, **params: Any) -> list[str]:
    answer = caller.get(path, **params)
    assert answer.status == falcon.HTTP_200, answer.text
    return [one[LISTS[path]] for one in answer.json]


def numbers(caller: Caller, path: str, **params: Any) -> list[int]:
    return [IDS.index(one) for one in listed(caller, path, **params)]


def following(answer: Result) -> str | None:
    link = answer.headers.get("Link")
    if link is None:
        return None
    assert link.startswith("</api/v1.0/")
    assert link.endswith('>; rel="next"')
    return link[1:].partition(">")[0]


@both
def test_without_parameters_everything_comes_at_once_and_leads_nowhere(
    site: Site, actions: list[str], path: str
) -> None:
    answer = site.viewer.get(path)

    assert [one[LISTS[path]] for one in answer.json] == actions
    assert "Link" not in answer.headers


@both
@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (4, [4, 1]), (5, [5]), (1000, [5])])
def test_pages_lead_from_one_to_the_next_in_order_of_creation(
    site: Site, actions: list[str], path: str, limit: int, sizes: list[int]
) -> None:
    answer = site.viewer.get(path, limit=str(limit))
    pages = [[one[LISTS[path]] for one in answer.json]]
    while (link := following(answer)) is not None:
        parts = urlsplit(link)
        answer = site.viewer.ask("GET", parts.path, query=parts.query)
        pages.append([one[LISTS[path]] for one in answer.json])
        assert len(pages) <= len(sizes)

    assert [len(page) for page in pages] == sizes
    assert [one for page in pages for one in page] == actions


@both
def test_pages_lead_from_the_newest_to_the_oldest(site: Site, actions: list[str], path: str) -> None:
    answer = site.viewer.get(path, limit="3", order="desc")
    link = following(answer)
    assert link is not None

    parts = urlsplit(link)
    last = site.viewer.ask("GET", parts.path, query=parts.query)

    assert [one[LISTS[path]] for one in (*answer.json, *last.json)] == actions[::-1]
    assert following(last) is None


@both
def test_the_next_page_is_the_same_question(site: Site, actions: list[str], path: str) -> None:
    query = "state=failed&state=success&user=ann%20%26%20co&user=ann&verbosity=0&limit=1&since=P40D&x=%3E%22"
    query += f"&marker={FIRST}"

    link = following(site.viewer.ask("GET", f"{V1}{path}", query=query))

    assert link is not None
    parts = urlsplit(link)
    assert parts.path == f"{V1}{path}"
    assert parse_qs(parts.query) == {
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


@both
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("name=deploy_site", [0, 2, 4], id="a name"),
        pytest.param("name=deploy_site&name=test_site", [0, 2, 3, 4], id="two names"),
        pytest.param("name=redeploy_server", [], id="a name that none has"),
        pytest.param("state=failed", [0, 3], id="a state"),
        pytest.param("state=queued&state=running", [4], id="two states"),
        pytest.param("lifecycle=Complete", [1, 2], id="a lifecycle"),
        pytest.param("lifecycle=Complete&state=success&state=failed", [1, 2], id="both"),
        pytest.param("lifecycle=Complete&state=failed", [], id="a lifecycle and another state"),
        pytest.param("user=ann", [0, 4], id="a user"),
        pytest.param("user=ann&user=ann%20%26%20co", [0, 2, 4], id="two users"),
        pytest.param("user=an", [], id="the beginning of a user"),
        pytest.param("user=ann,bob", [], id="commas do not split"),
        pytest.param("since=P7D", [1, 2, 3, 4], id="days ago"),
        pytest.param("since=PT150M", [3, 4], id="minutes ago"),
        pytest.param("since=P999999Y", [0, 1, 2, 3, 4], id="before everything"),
        pytest.param("name=deploy_site&state=success&user=ann%20%26%20co&since=P1D", [2], id="all of it"),
        pytest.param(f"marker={IDS[2]}", [3, 4], id="after one"),
        pytest.param(f"marker={IDS[2]}&name=deploy_site", [4], id="after one, filtered"),
        pytest.param(f"marker={'Z' * 26}", [], id="after all"),
        pytest.param("order=asc", [0, 1, 2, 3, 4], id="oldest first"),
        pytest.param("order=desc", [4, 3, 2, 1, 0], id="newest first"),
        pytest.param(f"order=desc&marker={IDS[2]}&name=deploy_site", [0], id="newest first, after one, filtered"),
        pytest.param(f"marker={'0' * 26}", [0, 1, 2, 3, 4], id="after none"),
        pytest.param(
            "name=&state=&lifecycle=&user=&since=&marker=&limit=&order=", list(range(5)), id="nothing is absent"
        ),
        pytest.param("Name=test_site&NAME=x&foo=bar", [0, 1, 2, 3, 4], id="what is unknown is ignored"),
    ],
)
def test_filters_let_through_what_fits_all_of_them(
    site: Site, actions: list[str], path: str, query: str, expected: list[int]
) -> None:
    answer = site.viewer.ask("GET", f"{V1}{path}", query=query)

    assert [IDS.index(one[LISTS[path]]) for one in answer.json] == expected


def test_since_is_a_moment_too(site: Site, actions: list[str]) -> None:
    for path in LISTS:
        moment = (NOW - timedelta(hours=2.5)).isoformat()
        assert numbers(site.viewer, path, since=moment) == [3, 4]
        assert numbers(site.viewer, path, since=moment.replace("+00:00", "Z")) == [3, 4]
        assert numbers(site.viewer, path, since=(NOW + timedelta(days=2)).date().isoformat()) == []


@both
@pytest.mark.parametrize(
    "query",
    [
        *(f"limit={value}" for value in ("0", "-1", "1001", "x", "1.0", "%D9%A3", "99999999999")),
        *(f"marker={value}" for value in ("x", "%00", "a-b", "%27", "%C3%A9", "a%0d%0aX-Evil:1", "0" * 27)),
        *(f"order={value}" for value in ("DESC", "newest", "asc,desc")),
        *(f"name={value}" for value in ("deploy", "Deploy_Site", "deploy_site,test_site", "%00")),
        *(f"state={value}" for value in ("Failed", "paused,running", "scheduled")),
        *(f"lifecycle={value}" for value in ("complete", "Unknown")),
        "user=%00",
        "state=failed&state=x",
    ],
)
def test_what_cannot_be_meant_is_a_400_that_names_the_parameter(
    site: Site, actions: list[str], path: str, query: str
) -> None:
    answer = site.viewer.ask("GET", f"{V1}{path}", query=query)

    assert answer.status == falcon.HTTP_400
    assert answer.json["message"].startswith(f'The "{query.partition("=")[0]}" parameter is invalid. ')
    assert (answer.json["reason"], answer.json["details"]["errorType"]) == ("Invalid parameter", "HTTPInvalidParam")


@pytest.mark.parametrize("written", ["x", "P", "yesterday", "2026-13-01", "-P1D", "%00"])
def test_a_list_of_actions_does_not_guess_since_when(site: Site, actions: list[str], written: str) -> None:
    answer = site.viewer.ask("GET", f"{V1}/actions", query=f"since={written}")

    assert answer.status == falcon.HTTP_400
    assert answer.json["message"].startswith('The "since" parameter is invalid. ')


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
