"""Workflows: actions as the runs of an engine: contract shipyard-rest, chapter 9, row by row."""

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import falcon
import sqlalchemy as sa

from shipyard_api.storage import tables as t
from tests.integration.api.wire import Site, kept, small_design

# What upstream's client accepts as an id, and nothing else (contract: shipyard-cli).
PRINTED = re.compile(r"deploy_site__\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")


@kept
def action(site: Site) -> dict[str, Any]:
    """An action that was just created, as it is listed."""
    site.commit(*small_design())
    site.create_action()
    (listed,) = site.viewer.get("/actions").json
    return dict(listed)


def workflows(site: Site, **params: Any) -> list[dict[str, Any]]:
    answer = site.viewer.get("/workflows", **params)
    assert answer.status == falcon.HTTP_200, answer.text
    found: list[dict[str, Any]] = answer.json
    return found


def created(site: Site, engine: sa.Engine, action: str, at: datetime) -> None:
    with engine.begin() as connection:
        connection.execute(t.actions.update().where(t.actions.c.id == action).values(created_at=at))


def test_the_request_is_kept_as_it_was_sent(site: Site, engine: sa.Engine) -> None:
    """With its members that mean nothing to Shipyard; one that Shipyard has a value for is overwritten."""
    site.commit(*small_design())
    sent = {"name": "deploy_site", "parameters": {"a": 1}, "user": "me", "ticket": {"number": 7}, "tags": ["x"]}
    created = site.admin.act(json.dumps(sent)).json

    (found,) = workflows(site)

    assert (found["id"], found["dag_run_id"], found["external_trigger"]) == (created["id"], created["id"], True)
    kept = found["conf"]["action"]
    assert kept["timestamp"] == created["timestamp"]
    assert {key: kept[key] for key in ("parameters", "ticket", "tags", "user", "id")} == {
        **{key: sent[key] for key in ("parameters", "ticket", "tags")},
        "user": "ann",
        "id": created["id"],
    }
    assert site.viewer.get(f"/workflows/{found['workflow_id']}").json["conf"] == found["conf"]


def test_a_workflow_has_the_full_records_of_its_steps(site: Site, action: dict[str, Any]) -> None:
    (listed,) = workflows(site)
    found = site.viewer.get(f"/workflows/{listed['workflow_id']}").json
    records = [site.viewer.get(step["url"]).json for step in action["steps"]]

    assert found == {**listed, "sub_dags": [], "steps": found["steps"]}
    assert found["steps"] == [
        {name: value for name, value in one.items() if name not in ("index", "notes")} for one in records
    ]
    assert [one["priority_weight"] for one in found["steps"] if "." not in one["task_id"]][-1] == 1


def test_the_id_has_the_form_that_the_client_insists_on_with_and_without_a_zone(
    site: Site, engine: sa.Engine, action: dict[str, Any]
) -> None:
    for microsecond in (0, 1, 999_999):
        created(site, engine, action["id"], datetime.now(UTC).replace(microsecond=microsecond))

        (found,) = workflows(site)

        assert PRINTED.fullmatch(found["workflow_id"])
        # A zone may come escaped, or with its plus lost; how far back lists go is in the wire cases.
        for zone in ("", quote("+00:00"), " 00:00"):
            answer = site.viewer.get(f"/workflows/{found['workflow_id']}{zone}")
            assert (answer.status, answer.json["run_id"]) == (falcon.HTTP_200, action["id"])
