"""Validation results of revisions (contract, A12)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import FAST, GOOD, Deckhand, Start, control, doc, error


def result(status: str = "success", **more: Any) -> dict[str, Any]:
    return {"status": status, "validator": {"name": "v", "version": "1"}, **more}


def test_validation_results(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    base = "/revisions/1/validations"
    assert deckhand.get(base) == {"count": 0, "results": []}
    answer = deckhand.post(f"{base}/site", result())
    assert (answer.status_code, yaml.load(answer.text, Loader=FAST)) == (201, result())
    deckhand.post(f"{base}/site", result("failure", errors=[{"message": "bad"}]))
    deckhand.post(f"{base}/site", result())
    assert deckhand.get(base) == {"count": 1, "results": [{"name": "site", "status": "failure"}]}
    by_name = [{"id": 0, "status": "success"}, {"id": 1, "status": "failure"}, {"id": 2, "status": "success"}]
    assert deckhand.get(f"{base}/site") == {"count": 3, "results": by_name}
    entry = {"name": "site", "status": "failure", "createdAt": None, "expiresAfter": None}
    assert deckhand.get(f"{base}/site/entries/1") == {**entry, "errors": [{"message": "bad"}]}
    assert [each["id"] for each in deckhand.get(f"{base}/detail")["results"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("path", "body", "outcome"),
    [
        ("/revisions/1/validations/v", None, (400, "HTTPBadRequest")),
        ("/revisions/1/validations/v", {"status": "success"}, (400, "HTTPBadRequest")),
        ("/revisions/1/validations/v", {"validator": {}}, (400, "HTTPBadRequest")),
        ("/revisions/1/validations/v", result("ninechars"), (500, "DBError")),
        ("/revisions/9/validations/v", result(), (404, "RevisionNotFound")),
    ],
    ids=["nothing", "no-validator", "no-status", "long-status", "revision"],
)
def test_validation_results_that_are_refused(deckhand: Deckhand, path: str, body: Any, outcome: Any):
    deckhand.put("b", doc("a"))
    assert error(deckhand.post(path, body)) == outcome


def test_an_entry_that_is_no_number(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert deckhand.call("GET", "/revisions/1/validations/v/entries/x").status_code == 400


def test_a_validation_policy_decides_which_results_count(deckhand: Deckhand):
    wanted = [{"name": "wanted-validation"}, {"name": "missing-validation"}]
    deckhand.put("b", control("deckhand/ValidationPolicy/v1", "p", {"validations": wanted}))
    for name in ("wanted-validation", "stray-validation"):
        deckhand.post(f"/revisions/1/validations/{name}", result())
    assert {each["name"]: each["status"] for each in deckhand.get("/revisions/1/validations")["results"]} == {
        "wanted-validation": "success",
        "stray-validation": "ignored [success]",
        "missing-validation": "failure",
    }


@pytest.mark.parametrize(("behaviour", "status"), [(Behaviour(), "failure"), (GOOD, "success")])
def test_the_summary_hears_other_revisions(start: Start, behaviour: Behaviour, status: str):
    deckhand = start(behaviour=behaviour)
    for number, outcome in ((1, "failure"), (2, "success")):
        deckhand.put("b", doc("a", number))
        deckhand.post(f"/revisions/{number}/validations/site", result(outcome))
    assert deckhand.get("/revisions/2/validations")["results"] == [{"name": "site", "status": status}]
    assert [each["status"] for each in deckhand.get("/revisions/2/validations/detail")["results"]] == ["success"]
