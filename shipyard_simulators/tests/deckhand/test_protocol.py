"""What all calls of Deckhand share: tokens, media types, rights and errors (contract, A1 and A2)."""

from typing import Any

import pytest
import yaml

from shipyard_simulators.tests.deckhand.client import (
    DEFECTS,
    DUMPER,
    FAST,
    YAML,
    Deckhand,
    Start,
    doc,
    error,
    policy,
    take,
)


@pytest.mark.parametrize(("path", "status"), [("/versions", 200), ("/health", 204)])
def test_two_calls_need_no_token(deckhand: Deckhand, path: str, status: int):
    assert Deckhand(deckhand.simulator, "").call("GET", path).status_code == status


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/revisions"),
        ("DELETE", "/revisions"),
        ("PUT", "/buckets/b/documents"),
        ("POST", "/rollback/0"),
        ("GET", "/no/such/route"),
    ],
)
def test_all_other_calls_need_one_and_are_refused_without_yaml(deckhand: Deckhand, method: str, path: str):
    answer = Deckhand(deckhand.simulator, "").call(method, path)
    assert answer.status_code == 401
    assert "X-Deckhand-Req" not in answer.headers
    with pytest.raises(yaml.YAMLError):
        yaml.load(answer.text, Loader=FAST)


def test_a_simulator_with_a_token_lets_in_no_other(start: Start):
    deckhand = start(token="right")
    assert deckhand.call("GET", "/revisions").status_code == 401
    assert Deckhand(deckhand.simulator, "right").call("GET", "/revisions").status_code == 200


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"Content-Type": "application/json"}, (415, "HTTPUnsupportedMediaType")),
        ({"Content-Type": "text/plain"}, (415, "HTTPUnsupportedMediaType")),
        ({}, (400, "HTTPMissingHeader")),
        ({"Content-Type": "application/x-yaml; charset=utf-8"}, 200),
    ],
    ids=["json", "text", "none", "with-parameter"],
)
def test_the_type_of_a_body(deckhand: Deckhand, headers: dict[str, str], outcome: Any):
    answer = deckhand.call(
        "PUT", "/buckets/b/documents", data=yaml.dump(doc("a"), Dumper=DUMPER).encode(), headers=headers
    )
    assert (answer.status_code if outcome == 200 else error(answer)) == outcome


def test_headers_are_given_and_echoed(deckhand: Deckhand):
    sent = {"X-Context-Marker": "c1", "X-End-User": "eve"}
    answer = deckhand.call("GET", "/revisions", headers=sent)
    assert {key: answer.headers[key] for key in sent} == sent
    assert answer.headers["X-User-Name"]
    assert answer.headers["X-Deckhand-Req"] != deckhand.call("GET", "/revisions").headers["X-Deckhand-Req"]


def test_versions(deckhand: Deckhand):
    assert deckhand.get("/versions") == {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


def test_several_documents_are_a_stream_and_none_is_nothing(deckhand: Deckhand):
    answer = deckhand.send("b", doc("a"), doc("b"))
    assert answer.headers["Content-Type"] == "application/x-yaml"
    assert not answer.text.startswith("---")
    assert answer.text.count("\n---\n") == 1
    assert deckhand.call("GET", "/revisions/1/documents?limit=0").content == b""


def test_an_object_shown_twice_is_an_alias(start: Start):
    deckhand = start(behaviour=DEFECTS)
    user = doc("user", substitutions=[take("source", ".v", ".a.all", ".b.all")])
    deckhand.put("b", policy(), doc("source", {"v": {"deep": {"x": 1}}}), user)
    assert "&id001" in deckhand.call("GET", "/revisions/1/rendered-documents").text
    assert deckhand.rendered(1)["user"] == {"a": {"all": {"deep": {"x": 1}}}, "b": {"all": {"deep": {"x": 1}}}}


def test_unknown_query_parameters_are_ignored(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert len(deckhand.list("/revisions/1/documents", {"colour": "red", "offset": "7"})) == 1


@pytest.mark.parametrize(
    ("right", "method", "path"),
    [
        ("create_cleartext_documents", "PUT", "/buckets/b/documents"),
        ("list_revisions", "GET", "/revisions"),
        ("delete_revisions", "DELETE", "/revisions"),
        ("show_revision", "GET", "/revisions/1"),
        ("list_cleartext_documents", "GET", "/revisions/1/documents"),
        ("show_revision_diff", "GET", "/revisions/0/diff/0"),
        ("show_revision_deepdiff", "GET", "/revisions/0/deepdiff/0"),
        ("create_tag", "POST", "/revisions/1/tags/t"),
        ("list_tags", "GET", "/revisions/1/tags"),
        ("list_validations", "GET", "/revisions/1/validations"),
    ],
)
def test_a_right_that_is_missing(start: Start, right: str, method: str, path: str):
    deckhand = start(denied=frozenset({right}))
    assert error(deckhand.call(method, path)) == (403, "HTTPForbidden")


def test_without_the_right_to_secrets_they_are_left_out(start: Start):
    deckhand = start(denied=frozenset({"list_encrypted_documents"}))
    revision = deckhand.put("b", policy(), doc("open", {"x": 1}), doc("secret", {"x": 2}, secret=True))
    assert "secret" not in deckhand.raw(revision)
    assert set(deckhand.rendered(revision)) == {"open"}


@pytest.mark.parametrize(
    ("method", "path", "outcome"),
    [
        ("GET", "/nowhere", (404, "HTTPRouteNotFound")),
        ("POST", "/revisions", (405, "HTTPMethodNotAllowed")),
        ("GET", "/buckets/b/documents", (405, "HTTPMethodNotAllowed")),
        ("GET", "/revisions/9", (404, "RevisionNotFound")),
        ("GET", "/revisions/9/documents", (404, "HTTPNotFound")),
        ("GET", "/revisions/9/rendered-documents", (404, "HTTPNotFound")),
        ("GET", "/revisions/9/tags", (404, "RevisionNotFound")),
        ("GET", "/revisions/9/diff/1", (404, "RevisionNotFound")),
        ("GET", "/revisions/1/diff/x", (400, "InvalidInputException")),
        ("GET", "/revisions/x/deepdiff/1", (400, "InvalidInputException")),
        ("POST", "/rollback/9", (404, "RevisionNotFound")),
        ("GET", "/revisions/1/tags/none", (404, "RevisionTagNotFound")),
        ("DELETE", "/revisions/1/tags/none", (404, "RevisionTagNotFound")),
        ("GET", "/revisions/1/validations/v/entries/0", (404, "ValidationNotFound")),
        ("GET", "/revisions/1/documents?limit=x", (400, "HTTPInvalidParam")),
        ("GET", "/revisions/1/documents?cleartext-secrets=perhaps", (400, "HTTPInvalidParam")),
        ("GET", "/revisions/one", (500, "DBError")),
        ("GET", "/revisions/one/documents", (500, "DBError")),
        ("GET", "/revisions/one/tags", (500, "DBError")),
        ("POST", "/rollback/one", (500, "DBError")),
    ],
)
def test_errors(deckhand: Deckhand, method: str, path: str, outcome: tuple[int, str]):
    deckhand.put("b", doc("a"))
    assert error(deckhand.call(method, path)) == outcome


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("a: [", "YAML"),
        ("- 1", "[1]"),
        ("schema: a/b/v1\n---\n---\ntext", "[2, 3]"),
        ("--- {}", "[1]"),
    ],
    ids=["broken", "list", "empty-and-text", "empty-mapping"],
)
def test_bodies_that_hold_no_documents(deckhand: Deckhand, body: str, said: str):
    answer = deckhand.call("PUT", "/buckets/b/documents", data=body, headers=YAML)
    assert error(answer) == (400, "HTTPBadRequest")
    assert said in yaml.load(answer.text, Loader=FAST)["message"]
