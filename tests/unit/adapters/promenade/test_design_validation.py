"""What Promenade says about a design, and what it means when it says something else."""

import json
from typing import Any

import pytest

from shipyard_api.adapters.promenade.design_validation import PromenadeValidation
from shipyard_api.domain.findings import DocumentRef, Level
from shipyard_api.ports.errors import Unavailable
from tests.peer import Answer, Peer

ROUTE = "POST /validatedesign"
DESIGN = "deckhand+https://deckhand:secret-word@deckhand/revisions/3/rendered-documents"


def status(*messages: Any, good: bool = False) -> dict[str, Any]:
    """Promenade's answer, in its own form."""
    return {
        "kind": "Status",
        "reason": "Validation",
        "message": f"Promenade validations {'succeeded' if good else 'failed'}",
        "status": "Success" if good else "Failure",
        "details": {"errorCount": len(messages), "messageList": list(messages)},
    }


def said(message: str, **fields: Any) -> dict[str, Any]:
    plain = {"name": None, "documents": [], "level": "Error", "diagnostic": None, "kind": "ValidationMessage"}
    return {"message": message, "error": True, **plain, **fields}


@pytest.fixture
def promenade(peer: Peer) -> Peer:
    return peer


def asked(promenade: Peer, token: str = "secret-token") -> PromenadeValidation:
    return PromenadeValidation(promenade.url, token=lambda: token, connect_timeout=2, read_timeout=2)


def test_a_sound_design_has_no_findings(promenade: Peer) -> None:
    promenade.on(ROUTE, Answer(200, status(good=True)))

    assert asked(promenade).validate_design("deckhand+http://x/revisions/3/rendered-documents") == ()

    (request,) = promenade.asked(ROUTE)
    # Promenade takes a body of any other type, even with a charset, for none.
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-auth-token"] == "secret-token"


def test_every_message_becomes_a_finding(promenade: Peer) -> None:
    document = {"schema": "promenade/Docker/v1", "name": "docker"}
    promenade.on(
        ROUTE,
        Answer(
            400,
            status(
                said("no Genesis"),
                said("odd", error=False, level="Warning", name="P1", documents=[document], diagnostic="look here"),
                "a bare text",
                said("cannot read it with secret-word"),
            ),
        ),
    )

    *findings, quoting = asked(promenade).validate_design(DESIGN)

    assert quoting.message.startswith("cannot read")
    assert "secret-word" not in quoting.message

    assert [(one.level, one.message, one.source) for one in findings] == [
        (Level.ERROR, "no Genesis", "Promenade"),
        (Level.WARNING, "odd", "Promenade"),
        (Level.ERROR, "a bare text", "Promenade"),
    ]
    assert (findings[1].name, findings[1].diagnostic) == ("P1", "look here")
    assert findings[1].documents == (DocumentRef("promenade/Docker/v1", "docker"),)


def test_a_failure_without_a_message_is_no_sound_design(promenade: Peer) -> None:
    promenade.on(ROUTE, Answer(400, status()))

    (finding,) = asked(promenade).validate_design("d")

    assert (finding.level, finding.message) == (Level.ERROR, "Promenade validations failed Validation")


@pytest.mark.parametrize("body", [["a list"], {"details": None, "said": "no"}], ids=["a list", "no details"])
def test_an_answer_without_details_is_one_error_with_the_whole_answer(promenade: Peer, body: Any) -> None:
    promenade.on(ROUTE, Answer(200, body))

    (finding,) = asked(promenade).validate_design("d")

    assert (finding.level, json.loads(finding.message)) == (Level.ERROR, body)


def test_anything_else_is_no_validation(promenade: Peer) -> None:
    for answer in (
        Answer(500, status()),
        Answer(404, {}),
        Answer(401, {}),
        Answer(200, b"<html>"),
        Answer(200, status(good=True), cut=3),
        Answer(503, b""),
    ):
        promenade.requests.clear()
        promenade.on(ROUTE, answer)
        with pytest.raises(Unavailable) as caught:
            asked(promenade).validate_design("d")
        assert "secret-token" not in str(caught.value)
        assert len(promenade.requests) == (2 if answer.status == 401 else 1)


def test_a_rejected_token_is_renewed_once(promenade: Peer) -> None:
    promenade.on(ROUTE, Answer(401, {}), Answer(200, status(good=True)))
    tokens = ["new", "old"]
    validation = PromenadeValidation(promenade.url, token=lambda: tokens[-1], renew_token=lambda: tokens.remove("old"))
    assert validation.validate_design("d") == ()
    assert [request.headers["x-auth-token"] for request in promenade.requests] == ["old", "new"]
