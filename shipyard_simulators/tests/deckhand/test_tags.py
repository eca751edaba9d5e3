"""Tags of revisions (contract, A11)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.tests.deckhand.client import FAST, GOOD, Deckhand, Start, doc, error


@pytest.mark.parametrize("data", [None, {"dag_id": "x"}], ids=["plain", "with-data"])
def test_a_tag(deckhand: Deckhand, data: Any):
    deckhand.put("b", doc("a"))
    assert deckhand.get("/revisions/1/tags") == {}
    answer = deckhand.post("/revisions/1/tags/committed", data)
    assert (answer.status_code, yaml.load(answer.text, Loader=FAST)) == (201, {"committed": data or {}})
    assert deckhand.get("/revisions/1/tags") == deckhand.get("/revisions/1/tags/committed") == {"committed": data or {}}
    assert deckhand.call("DELETE", "/revisions/1/tags/committed").status_code == 204
    assert deckhand.get("/revisions/1/tags") == {}


def test_all_tags_can_be_taken_off(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    for tag in ("one", "two"):
        deckhand.post(f"/revisions/1/tags/{tag}")
    assert deckhand.call("DELETE", "/revisions/1/tags").status_code == 204
    assert deckhand.get("/revisions/1/tags") == {}


def test_a_tag_set_twice_cannot_be_shown_until_it_is_deleted(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    for number in (1, 2):
        assert deckhand.post("/revisions/1/tags/t", {"n": number}).status_code == 201
    assert error(deckhand.call("GET", "/revisions/1/tags/t"))[0] == 500
    assert deckhand.get("/revisions/1/tags") == {"t": {"n": 2}}
    assert deckhand.call("DELETE", "/revisions/1/tags/t").status_code == 204
    assert error(deckhand.call("GET", "/revisions/1/tags/t")) == (404, "RevisionTagNotFound")


@pytest.mark.parametrize(
    ("path", "body", "as_seen", "well_behaved"),
    [
        ("/revisions/9/tags/t", None, (500, "AttributeError"), (404, "RevisionNotFound")),
        ("/revisions/1/tags/t", [1], (500, "AttributeError"), (400, "HTTPBadRequest")),
        (f"/revisions/1/tags/{'t' * 65}", None, (500, "DBError"), (500, "DBError")),
    ],
    ids=["revision", "data", "name"],
)
def test_tags_that_are_refused(start: Start, path: str, body: Any, as_seen: Any, well_behaved: Any):
    for behaviour, outcome in ((Behaviour(), as_seen), (GOOD, well_behaved)):
        deckhand = start(behaviour=behaviour)
        deckhand.put("b", doc("a"))
        assert error(deckhand.post(path, body)) == outcome


def test_a_well_behaved_one_updates_a_tag(start: Start):
    deckhand = start(behaviour=GOOD)
    deckhand.put("b", doc("a"))
    for number in (1, 2):
        deckhand.post("/revisions/1/tags/t", {"n": number})
    assert deckhand.get("/revisions/1/tags/t") == {"t": {"n": 2}}
