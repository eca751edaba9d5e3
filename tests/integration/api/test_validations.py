"""Validations of an action: what was found wrong in its design (contract: shipyard-rest, 6.5 and 6.6)."""

from datetime import UTC, datetime, timedelta

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


def test_an_action_lists_what_was_found_wrong_and_each_is_found_by_its_id(site: Site, action: str) -> None:
    """Whatever the verbosity, and below any action."""
    found = site.viewer.get(f"/actions/{action}", verbosity="0").json["validations"]
    assert [(one["validation_name"], one["details"]) for one in found] == [
        ("DD2", "odd"),
        ("DD3", "two networks overlap"),
    ]
    assert {one["action_id"] for one in found} == {action}
    with site.store.begin() as tx:
        info, odd, _ = tx.journal.entries(ActionId(action), ("finding",))
        claim = tx.turns.claim(ActionId(action), now=datetime.now(UTC) + timedelta(seconds=5), worker="w")
        assert claim is not None
        tx.turns.end_action(claim, RunState.FAILED, now=datetime.now(UTC))
    other = site.create_action()
    for one in found:
        for asked in (action, other):
            answer = site.viewer.get(f"/actions/{asked}/validations/{one['id']}")
            assert (answer.status, answer.json) == (falcon.HTTP_200, one)
    unknown = [
        note_id(info.at, info.id, 0),  # good to know is not wrong
        note_id(odd.at, odd.id, 1),
        note_id(odd.at + timedelta(milliseconds=1), odd.id, 0),
        note_id(odd.at, odd.id, 0).lower(),
        *(action, "Z" * 26, "é" * 26, "0" * 3000),
    ]
    for written in unknown:
        answer = site.viewer.get(f"/actions/{action}/validations/{written}")
        reason = f"Unknown validation {written}"
        told = (answer.status, answer.json["message"], answer.json["reason"])
        assert told == (falcon.HTTP_404, "Validation not found", reason)
        assert messages(answer) == [{"message": reason, "error": True}]
