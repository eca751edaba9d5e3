"""Validations of an action: what was found wrong in its design (contract: shipyard-rest, 6.5 and 6.6)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import falcon

from shipyard_api.domain.actions import ActionId, RunState
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.notes import note_id
from tests.integration.api.recorded import record
from tests.integration.api.wire import Site, kept, messages, small_design

FOUND = (
    FindingReported(Finding("DD1", Level.INFO, "fine", source="Drydock")),
    FindingReported(Finding("DD2", Level.WARNING, "odd", source="Drydock")),
    FindingReported(Finding("DD3", Level.ERROR, "two networks overlap", source="Drydock")),
)


@kept
def action(site: Site) -> str:
    site.commit(*small_design())
    action = site.create_action()
    record(site.store, action, FOUND)
    return action


def listed(site: Site, action: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.viewer.get(f"/actions/{action}").json["validations"]
    return found


def test_an_action_lists_what_was_found_wrong(site: Site, action: str) -> None:
    found = listed(site, action)

    assert [(one["validation_name"], one["details"]) for one in found] == [
        ("DD2", "odd"),
        ("DD3", "two networks overlap"),
    ]
    assert {one["action_id"] for one in found} == {action}
    assert len({one["id"] for one in found}) == 2


def test_they_are_shown_whatever_the_verbosity(site: Site, action: str) -> None:
    assert len(site.viewer.get(f"/actions/{action}", verbosity="0").json["validations"]) == 2


def test_a_validation_is_found_by_its_id(site: Site, action: str) -> None:
    for one in listed(site, action):
        answer = site.viewer.get(f"/actions/{action}/validations/{one['id']}")
        assert (answer.status, answer.json) == (falcon.HTTP_200, one)


def test_it_need_not_belong_to_that_action(site: Site, action: str) -> None:
    first = listed(site, action)[0]
    assert site.admin.post(f"/actions/{action}/control/stop").status == falcon.HTTP_202
    with site.store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=datetime.now(UTC) + timedelta(seconds=5), worker="w")
        assert claim is not None
        tx.turns.end_action(claim, RunState.FAILED, now=datetime.now(UTC))
    other = site.create_action()

    assert site.viewer.get(f"/actions/{other}/validations/{first['id']}").json == first


def refused(answer: Any, message: str, reason: str) -> None:
    assert (answer.status, answer.json["message"], answer.json["reason"]) == (falcon.HTTP_404, message, reason)
    assert messages(answer) == [{"message": reason, "error": True}]


def test_an_unknown_validation(site: Site, action: str) -> None:
    for written in ("Z" * 26, "é" * 26, "0" * 26, "0" * 3000):
        answer = site.viewer.get(f"/actions/{action}/validations/{written}")

        refused(answer, "Validation not found", f"Unknown validation {written}")


def test_an_id_that_was_made_up_about_a_line_that_there_is(site: Site, action: str) -> None:
    with site.store.begin() as tx:
        info, odd, _ = tx.journal.entries(ActionId(action), ("finding",))
    made_up = [
        note_id(info.at, info.id, 0),  # good to know is not wrong
        note_id(odd.at, odd.id, 1),
        note_id(odd.at + timedelta(milliseconds=1), odd.id, 0),
        note_id(odd.at, odd.id, 0).lower(),
        action,
    ]

    assert site.viewer.get(f"/actions/{action}/validations/{note_id(odd.at, odd.id, 0)}").status == falcon.HTTP_200
    for written in made_up:
        answer = site.viewer.get(f"/actions/{action}/validations/{written}")
        refused(answer, "Validation not found", f"Unknown validation {written}")
