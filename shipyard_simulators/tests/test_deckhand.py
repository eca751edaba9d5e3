"""The Deckhand simulator against the contract it speaks: plain HTTP, no adapter of ours between."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.simulator import DeckhandSimulator, running
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, refusal

ROOT = Path(__file__).parents[2]
SITES = ROOT.parent / "shared" / "data" / "sites"
PATIENCE = 30.0  # seconds; nothing takes that long, it only ends a test that would hang
YAML = {"Content-Type": "application/x-yaml"}
TOKEN = {"X-Auth-Token": "any"}
FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
GOOD = Behaviour().well_behaved()
DEFECTS = Behaviour().with_defects()


class Deckhand:
    """A client of a running simulator that knows nothing but paths."""

    def __init__(self, simulator: DeckhandSimulator, token: str = "any") -> None:
        self.simulator, self.token = simulator, token

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        prefix = "" if path.startswith(("/simulator", "/versions")) else "/api/v1.0"
        headers = {"X-Auth-Token": self.token, **options.pop("headers", {})}
        url = f"{self.simulator.url}{prefix}{path}"
        return HTTP.request(method, url, headers=headers, timeout=PATIENCE, **options)

    def get(self, path: str, **query: Any) -> Any:
        """Return the one document of the answer."""
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return yaml.load(answer.text, Loader=FAST)

    def list(self, path: str, query: Any = None) -> list[Any]:
        """Return all documents of the answer."""
        answer = self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return list(yaml.load_all(answer.text, Loader=FAST))

    def send(self, bucket: str, *documents: Any) -> requests.Response:
        body = yaml.dump_all(documents, Dumper=DUMPER, sort_keys=False) if documents else ""
        return self.call("PUT", f"/buckets/{bucket}/documents", data=body, headers=YAML)

    def put(self, bucket: str, *documents: Any) -> int:
        """Put the documents and return the revision made."""
        answer = self.send(bucket, *documents)
        assert answer.status_code == 200, answer.text
        return int(next(yaml.load_all(answer.text, Loader=FAST))["status"]["revision"])

    def post(self, path: str, body: Any = None) -> requests.Response:
        text = None if body is None else yaml.dump(body, Dumper=DUMPER)
        return self.call("POST", path, data=text, headers=YAML if text else {})

    def rendered(self, revision: int, **query: Any) -> dict[str, Any]:
        """Return the data of the rendered plain documents by name."""
        path = f"/revisions/{revision}/rendered-documents"
        return {name_of(each): each["data"] for each in self.list(path, query) if "/Kind/" in each["schema"]}

    def raw(self, revision: int, **query: Any) -> dict[str, Any]:
        return {name_of(each): each["data"] for each in self.list(f"/revisions/{revision}/documents", query)}

    def faults(self, *faults: dict[str, Any]) -> None:
        assert self.call("POST", "/simulator/faults", json=list(faults)).status_code == 200


def name_of(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])


def error(answer: requests.Response) -> tuple[int, str]:
    """Return code and class of an error, after looking whether its body is whole."""
    body = yaml.load(answer.text, Loader=FAST)
    assert answer.headers["Content-Type"] == "application/x-yaml"
    assert set(body) == {"kind", "apiVersion", "metadata", "status", "code", "message", "reason", "retry", "details"}
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1.0", "Failure")
    assert body["code"].split(" ")[0] == str(answer.status_code)
    assert body["retry"] == (answer.status_code == 500)
    assert body["details"]["errorCount"] == len(body["details"]["messageList"]) > 0
    return answer.status_code, body["details"]["errorType"]


def messages(answer: requests.Response) -> list[dict[str, Any]]:
    return list(yaml.load(answer.text, Loader=FAST)["details"]["messageList"])


def doc(name: str, data: Any = None, *, layer: str = "site", schema: str = "example/Kind/v1", **metadata: Any) -> Any:
    """Return a document; ``parent``: labels of its parent, ``actions``: pairs of method and path."""
    layering: dict[str, Any] = {"layer": layer, "abstract": metadata.pop("abstract", False)}
    if "parent" in metadata:
        layering["parentSelector"] = metadata.pop("parent")
        pairs = metadata.pop("actions", [("merge", ".")])
        layering["actions"] = [{"method": method, "path": path} for method, path in pairs]
    if "secret" in metadata:
        metadata["storagePolicy"] = "encrypted" if metadata.pop("secret") else "cleartext"
    return {
        "schema": schema,
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": name,
            "storagePolicy": "cleartext",
            "layeringDefinition": layering,
            **metadata,
        },
        "data": {} if data is None else data,
    }


def control(schema: str, name: str, data: Any) -> Any:
    return {"schema": schema, "metadata": {"schema": "metadata/Control/v1", "name": name}, "data": data}


def policy(*layers: str, name: str = "policy") -> Any:
    return control(
        "deckhand/LayeringPolicy/v1", name, {"layerOrder": list(layers) or ["global", "type", "region", "site"]}
    )


def data_schema(schema: str, content: Any) -> Any:
    return control("deckhand/DataSchema/v1", schema, {"$schema": "http://json-schema.org/schema#", **content})


def take(source: str, path: str, *dest: Any, schema: str = "example/Kind/v1", **src: Any) -> Any:
    """Return a substitution; a destination is a path or a mapping."""
    places = [{"path": each} if isinstance(each, str) else each for each in dest]
    return {"src": {"schema": schema, "name": source, "path": path, **src}, "dest": places}


def sha(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def site_file(name: str) -> Path:
    """Return a real site design; skip the test where the data is not there."""
    path = SITES / name
    if not path.is_file():
        pytest.skip(f"the real site designs are not beside this checkout ({path})")
    return path


Start = Callable[..., Deckhand]


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts an empty Deckhand with the given options."""
    with ExitStack() as cleanup:
        yield lambda **options: Deckhand(cleanup.enter_context(running(**options)))


@pytest.fixture(scope="module")
def _shared() -> Iterator[Deckhand]:
    with running() as simulator:
        yield Deckhand(simulator)


@pytest.fixture
def deckhand(_shared: Deckhand) -> Deckhand:
    """An empty Deckhand with the default behaviour."""
    assert _shared.call("DELETE", "/revisions").status_code == 204
    _shared.faults()
    return _shared


# A1: common to all calls


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
def test_all_others_need_one_and_are_refused_without_yaml(deckhand: Deckhand, method: str, path: str):
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


# A2: errors


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


# A3: putting


def test_a_put_replaces_the_whole_bucket(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"x": 1}), doc("b"))
    deckhand.put("two", doc("c"))
    revision = deckhand.put("one", doc("a", {"x": 2}), doc("d"))
    assert deckhand.raw(revision) == {"c": {}, "a": {"x": 2}, "d": {}}


def test_the_answer_shows_what_was_stored_in_the_new_revision(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    answer = deckhand.send("b", doc("a"), doc("z"))
    shown = list(yaml.load_all(answer.text, Loader=FAST))
    assert [name_of(each) for each in shown] == ["a", "z"]
    assert all(set(each) == {"id", "schema", "metadata", "data", "status"} for each in shown)
    assert all(each["status"] == {"bucket": "b", "revision": 2} for each in shown)


def test_emptying_a_bucket(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert yaml.load(deckhand.send("b").text, Loader=FAST) == {"status": {"bucket": "b", "revision": 2}}
    assert deckhand.list("/revisions/2/documents") == []


def test_emptying_nothing_does_nothing(deckhand: Deckhand):
    answer = deckhand.send("b")
    assert (answer.status_code, answer.content) == (200, b"")
    assert deckhand.get("/revisions")["count"] == 0


def test_an_empty_body_needs_no_type(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert deckhand.call("PUT", "/buckets/b/documents").status_code == 200
    assert deckhand.list("/revisions/2/documents") == []


def test_the_same_body_makes_a_revision_without_a_difference(deckhand: Deckhand):
    body = [doc("a", {"x": 1}), doc("s", {"y": 1}, secret=True)]
    assert [deckhand.put("b", *body), deckhand.put("b", *body)] == [1, 2]
    assert deckhand.get("/revisions/1/diff/2") == {"b": "unmodified"}
    assert [each["status"]["revision"] for each in deckhand.list("/revisions/2/documents")] == [1, 1]


@pytest.mark.parametrize(
    "body",
    [[doc("taken")], [doc("a"), doc("a")], [doc("n" * 65)]],
    ids=["taken", "twice", "too-long"],
)
def test_what_the_store_refuses_stores_nothing_and_uses_up_a_number(deckhand: Deckhand, body: list[Any]):
    deckhand.put("other", doc("taken"))
    assert deckhand.send("b", *body).status_code in (409, 500)
    assert deckhand.get("/revisions")["count"] == 1
    assert deckhand.put("b", doc("fine")) == 3


def test_designs_that_do_not_render_are_stored(deckhand: Deckhand):
    broken = doc("a", substitutions=[take("nobody", ".x", ".y")], layer="nowhere")
    assert deckhand.put("b", broken) == 1


@pytest.mark.parametrize(
    ("bucket", "document", "status"),
    [
        ("b" * 36, doc("n" * 64, layer="l" * 64), 200),
        ("b" * 37, doc("a"), 500),
        ("b", doc("n" * 65), 500),
        ("b", doc("a", layer="l" * 65), 500),
        ("b", doc("a", schema=f"example/{'K' * 55}/v1"), 500),
    ],
    ids=["longest", "bucket", "name", "layer", "schema"],
)
def test_words_that_are_too_long(deckhand: Deckhand, bucket: str, document: Any, status: int):
    answer = deckhand.send(bucket, document)
    assert answer.status_code == status
    if status == 500:
        assert error(answer) == (500, "DBError")


# A4: conflicts


def test_a_document_of_another_bucket_is_refused(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    answer = deckhand.send("two", doc("a"))
    assert error(answer) == (409, "DuplicateDocumentExists")
    assert "one" in yaml.load(answer.text, Loader=FAST)["message"]


def test_unless_a_third_bucket_was_written_last(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"of": "one"}), doc("b"))
    deckhand.put("three", doc("c"))
    revision = deckhand.put("two", doc("a", {"of": "two"}))
    owners = {name_of(each): each["status"]["bucket"] for each in deckhand.list(f"/revisions/{revision}/documents")}
    assert owners == {"a": "two", "b": "one", "c": "three"}
    assert deckhand.raw(revision)["a"] == {"of": "two"}


def test_a_second_layering_policy_is_refused_with_the_same_blindness(deckhand: Deckhand):
    deckhand.put("one", policy(name="first"))
    assert error(deckhand.send("two", policy(name="second"))) == (409, "SingletonDocumentConflict")
    deckhand.put("three", doc("c"))
    assert deckhand.send("two", policy(name="second")).status_code == 200


def test_a_document_can_be_moved(deckhand: Deckhand):
    deckhand.put("one", doc("a"), doc("b"))
    deckhand.put("one", doc("b"))
    assert deckhand.put("two", doc("a")) == 3


def test_a_well_behaved_one_is_not_blind(start: Start):
    deckhand = start(behaviour=GOOD)
    deckhand.put("one", doc("a"), policy(name="first"))
    deckhand.put("three", doc("c"))
    assert error(deckhand.send("two", doc("a"))) == (409, "DuplicateDocumentExists")
    assert error(deckhand.send("two", policy(name="second"))) == (409, "SingletonDocumentConflict")


# A5: documents


def test_a_document_as_it_is_listed(deckhand: Deckhand):
    deckhand.put("one", doc("a", {"x": 1}, labels={"k": "v"}))
    deckhand.put("two", doc("b"))
    shown = deckhand.list("/revisions/2/documents")[0]
    assert shown["metadata"] == doc("a", labels={"k": "v"})["metadata"] | {"replacement": False}
    assert (shown["schema"], shown["data"]) == ("example/Kind/v1", {"x": 1})
    assert shown["status"] == {"bucket": "one", "revision": 1}
    assert isinstance(shown["id"], int)


def test_a_revision_never_changes(deckhand: Deckhand):
    deckhand.put("b", doc("a", {"x": 1}))
    deckhand.put("b", doc("a", {"x": 2}))
    assert deckhand.raw(1) == {"a": {"x": 1}}


QUERIES = [
    ({}, "a b c d"),
    ({"schema": "example"}, "a b c"),
    ({"schema": "example/Kind"}, "a b"),
    ({"schema": "example/Kind/v1"}, "a b"),
    ({"schema": "exam"}, ""),
    ({"schema": "example/Ki"}, ""),
    ({"schema": ["example/Kind/v1", "other/Kind/v2"]}, "a b d"),
    ({"schema": ["example/Kind/v1", "other/Kind"]}, "a b"),
    ({"metadata.name": "b"}, "b"),
    ({"metadata.name": ["b", "d"]}, "b d"),
    ({"metadata.label": "k=v"}, "a b"),
    ({"metadata.label": ["k=v", "n=m=o"]}, "b"),
    ({"metadata.label": "k=x"}, ""),
    ({"metadata.layeringDefinition.layer": "global"}, "c"),
    ({"metadata.layeringDefinition.layer": ["global", "type"]}, "c d"),
    ({"status.bucket": "two"}, "c d"),
    ({"status.bucket": ["one", "two"]}, "a b c d"),
    ({"sort": "metadata.name", "order": "desc"}, "d c b a"),
    ({"sort": "schema"}, "c a b d"),
    ({"sort": ["schema", "metadata.name"], "order": "desc"}, "d b a c"),
    ({"sort": "no.such.path", "order": "desc"}, "a b c d"),
    ({"order": "desc"}, "a b c d"),
    ({"limit": 2}, "a b"),
    ({"limit": -1}, "a"),
    ({"limit": 0}, ""),
    ({"limit": 99}, "a b c d"),
    ({"sort": "metadata.name", "order": "desc", "limit": 1}, "d"),
    ({"schema": "example", "status.bucket": "two"}, "c"),
]


@pytest.fixture(scope="module")
def filled() -> Iterator[Deckhand]:
    with running() as simulator:
        deckhand = Deckhand(simulator)
        deckhand.put(
            "one",
            doc("a", labels={"k": "v"}),
            doc("b", labels={"k": "v", "n": "m=o"}),
            control("deckhand/ValidationPolicy/v1", "p", {"validations": [{"name": "x-validation"}]}),
        )
        deckhand.put(
            "two", doc("c", schema="example/First/v1", layer="global"), doc("d", schema="other/Kind/v2", layer="type")
        )
        deckhand.put("policy", policy())
        yield deckhand


@pytest.mark.parametrize("kind", ["documents", "rendered-documents"])
@pytest.mark.parametrize(("query", "names"), QUERIES, ids=str)
def test_queries(filled: Deckhand, kind: str, query: dict[str, Any], names: str):
    # The layering policy came later; revision 2 renders with it all the same.
    found = [name_of(each) for each in filled.list(f"/revisions/2/{kind}", query)]
    if kind == "rendered-documents" and "sort" not in query:
        assert (len(found), set(found) <= set("abcd")) == (len(names.split()), True)
    else:
        assert found == names.split()


@pytest.mark.parametrize(("abstract", "names"), [("true", ["a"]), ("false", ["b"])])
def test_abstract_documents_can_be_asked_for(deckhand: Deckhand, abstract: str, names: list[str]):
    deckhand.put("b", doc("a", abstract=True), doc("b"))
    assert list(deckhand.raw(1, **{"metadata.layeringDefinition.abstract": abstract})) == names


# A6: rendered documents


def test_what_is_rendered(deckhand: Deckhand):
    revision = deckhand.put("b", policy(), doc("a"), doc("abstract", abstract=True), data_schema("x/Y/v1", {}))
    shown = {name_of(each) for each in deckhand.list(f"/revisions/{revision}/rendered-documents")}
    assert shown == {"policy", "a", "x/Y/v1"}


def test_a_rendering_is_remembered(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": 1}))
    assert deckhand.rendered(1) == {"a": {"x": 1}}
    # The newest data schemas count for every revision, but only where it was not rendered before.
    deckhand.put("schemas", data_schema("example/Kind/v1", {"required": ["y"]}))
    assert deckhand.rendered(1) == {"a": {"x": 1}}
    assert error(deckhand.call("GET", "/revisions/2/rendered-documents")) == (400, "InvalidDocumentFormat")


def test_the_newest_data_schemas_hold_for_old_revisions(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": 1}))
    deckhand.put("schemas", data_schema("example/Kind/v1", {"required": ["y"]}))
    assert deckhand.call("GET", "/revisions/1/rendered-documents").status_code == 400


def test_every_fault_of_the_rendered_data_is_listed(deckhand: Deckhand):
    rules = {"properties": {"n": {"type": "integer"}}, "required": ["y"]}
    deckhand.put(
        "b",
        policy(),
        data_schema("example/Kind/v1", rules),
        doc("source", {"y": 1, "secret": "hunter2"}),
        doc("a", {"n": "x"}, substitutions=[take("source", ".secret", ".n")]),
        doc("abstract", {"n": "x"}, abstract=True),
        doc("other", {"n": "x"}, schema="example/Kind/v2"),
    )
    answer = deckhand.call("GET", "/revisions/1/rendered-documents")
    assert error(answer) == (400, "InvalidDocumentFormat")
    listed = messages(answer)
    assert yaml.load(answer.text, Loader=FAST)["reason"] == "Validation"
    assert [(each["name"], each["kind"], each["level"]) for each in listed] == [
        ("D002", "ValidationMessage", "Error")
    ] * 2
    assert all(each["documents"] == [{"schema": "example/Kind/v1", "layer": "site", "name": "a"}] for each in listed)
    assert all(set(each["diagnostic"]) == {"schema_path", "validation_schema", "error_section"} for each in listed)
    assert "hunter2" not in answer.text


# A7: revisions


def test_revisions_are_listed_with_the_buckets_they_wrote(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    deckhand.put("two", doc("b"))
    deckhand.send("one")
    deckhand.post("/revisions/2/tags/zeta")
    deckhand.post("/revisions/2/tags/alpha")
    listed = deckhand.get("/revisions")
    assert listed["count"] == 3
    assert [(each["id"], each["buckets"]) for each in listed["results"]] == [(1, ["one"]), (2, ["two"]), (3, ["one"])]
    assert listed["results"][1]["tags"] == ["alpha", "zeta"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", each["createdAt"]) for each in listed["results"])


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({"tag": "red"}, [1, 3]),
        ({"tag": ["red", "blue"]}, [1, 2, 3]),
        ({"tag": "red,blue"}, []),
        ({"sort": "id", "order": "desc"}, [3, 2, 1]),
        ({"sort": "createdAt", "order": "desc"}, [1, 2, 3]),
        ({"order": "desc"}, [1, 2, 3]),
        ({"limit": 1}, [1, 2, 3]),
    ],
    ids=str,
)
def test_queries_of_revisions(deckhand: Deckhand, query: dict[str, Any], ids: list[int]):
    for number, tag in ((1, "red"), (2, "blue"), (3, "red")):
        deckhand.put("b", doc("a", number))
        deckhand.post(f"/revisions/{number}/tags/{tag}")
    listed = deckhand.get("/revisions", **query)
    assert [each["id"] for each in listed["results"]] == ids
    assert listed["count"] == len(ids)


def test_one_revision(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    deckhand.post("/revisions/1/tags/red", {"x": 1})
    shown = deckhand.get("/revisions/1")
    assert shown.pop("createdAt")
    assert shown == {
        "id": 1,
        "url": "https://deckhand/api/v1.0/revisions/1",
        "status": "success",
        "buckets": ["b"],
        "tags": {"red": {"x": 1}},
        "validationPolicies": [],
    }


def test_a_validation_policy_makes_a_revision_look_failed(deckhand: Deckhand):
    deckhand.put("b", control("deckhand/ValidationPolicy/v1", "p", {"validations": [{"name": "x-validation"}]}))
    shown = deckhand.get("/revisions/1")
    assert (shown["status"], [each["name"] for each in shown["validationPolicies"]]) == ("failed", ["p"])


def test_deleting_revisions_numbers_from_one_again(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"x": "old"}))
    assert deckhand.rendered(1) == {"a": {"x": "old"}}
    answer = deckhand.call("DELETE", "/revisions")
    assert (answer.status_code, answer.content) == (204, b"")
    assert deckhand.get("/revisions") == {"count": 0, "results": []}
    assert deckhand.put("b", policy(), doc("a", {"x": "new"})) == 1
    assert deckhand.rendered(1) == {"a": {"x": "new"}}


# A8 and A9: differences


@pytest.fixture
def four(deckhand: Deckhand) -> Deckhand:
    """Four revisions: one and two made, one changed, two emptied."""
    deckhand.put("one", policy(), doc("a", {"x": 1}), doc("b"))
    deckhand.put("two", doc("z"))
    deckhand.put("one", policy(), doc("a", {"x": 2}), doc("c"))
    deckhand.send("two")
    return deckhand


@pytest.mark.parametrize(
    ("pair", "changes"),
    [
        ("0/0", {}),
        ("0/2", {"one": "created", "two": "created"}),
        ("2/0", {"one": "created", "two": "created"}),
        ("1/1", {"one": "unmodified"}),
        ("1/2", {"one": "unmodified", "two": "created"}),
        ("2/1", {"one": "unmodified", "two": "created"}),
        ("2/3", {"one": "modified", "two": "unmodified"}),
        ("3/4", {"one": "unmodified", "two": "deleted"}),
        ("4/3", {"one": "unmodified", "two": "deleted"}),
        ("1/4", {"one": "modified"}),
    ],
)
def test_diff(four: Deckhand, pair: str, changes: dict[str, str]):
    assert four.get(f"/revisions/{pair.replace('/', '/diff/')}") == changes


def test_deep_diff(four: Deckhand):
    assert four.get("/revisions/2/deepdiff/3") == {
        "one": "modified",
        "one diff": {
            "document_added": {"count": 1, "details": [["example/Kind/v1", "c"]]},
            "document_deleted": {"count": 1, "details": [["example/Kind/v1", "b"]]},
            "document_changed": {
                "count": 1,
                "details": {
                    "('example/Kind/v1', 'a')": {
                        "data_changed": {"values_changed": {"root['x']": {"new_value": 2, "old_value": 1}}},
                        "metadata_changed": {},
                    }
                },
            },
        },
        "two": "unmodified",
    }


@pytest.mark.parametrize(
    ("pair", "changes"),
    [("0/0", {}), ("0/1", {"one": "created"}), ("2/4", {"one": "modified", "two": "deleted"}), ("4/2", "created")],
)
def test_the_order_of_a_deep_diff_matters(four: Deckhand, pair: str, changes: Any):
    shown = four.get(f"/revisions/{pair.replace('/', '/deepdiff/')}")
    plain = {key: value for key, value in shown.items() if not key.endswith(" diff")}
    assert plain == changes if isinstance(changes, dict) else plain["two"] == changes


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (1, 2, {"values_changed": {"root['k']": {"new_value": 2, "old_value": 1}}}),
        (
            1,
            "1",
            {"type_changes": {"root['k']": {"old_type": "int", "new_type": "str", "old_value": 1, "new_value": "1"}}},
        ),
        ({}, {"n": 1}, {"dictionary_item_added": ["root['k']['n']"]}),
        ({"n": 1}, {}, {"dictionary_item_removed": ["root['k']['n']"]}),
        ([1], [1, 2], {"iterable_item_added": {"root['k'][1]": 2}}),
        ([1, 2], [1], {"iterable_item_removed": {"root['k'][1]": 2}}),
        ([{"a": 1}], [{"a": 2}], {"values_changed": {"root['k'][0]['a']": {"new_value": 2, "old_value": 1}}}),
    ],
    ids=["value", "type", "key-added", "key-removed", "item-added", "item-removed", "deep"],
)
def test_kinds_of_change(deckhand: Deckhand, old: Any, new: Any, change: Any):
    deckhand.put("b", policy(), doc("a", {"k": old}))
    deckhand.put("b", policy(), doc("a", {"k": new}))
    changed = deckhand.get("/revisions/1/deepdiff/2")["b diff"]["document_changed"]["details"]
    assert changed["('example/Kind/v1', 'a')"]["data_changed"] == change


def test_the_change_of_a_secret_is_not_told(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", {"k": 1}, secret=True))
    deckhand.put("b", policy(), doc("a", {"k": 2}, secret=True, labels={"l": "m"}))
    changed = deckhand.get("/revisions/1/deepdiff/2")["b diff"]["document_changed"]["details"]
    assert changed["('example/Kind/v1', 'a')"] == {
        "data_changed": {"encrypted": True},
        "metadata_changed": {"dictionary_item_added": ["root['labels']"]},
    }


def test_a_deep_diff_fails_as_the_rendering_does(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("a", layer="nowhere"))
    assert error(deckhand.call("GET", "/revisions/0/deepdiff/1")) == (400, "InvalidDocumentLayer")


# A10: rollback


def test_a_rollback_of_one_bucket(deckhand: Deckhand):
    deckhand.put("b", doc("a", {"x": 1}), doc("gone"))
    deckhand.put("b", doc("a", {"x": 2}))
    deckhand.post("/revisions/1/tags/red")
    answer = deckhand.post("/rollback/1")
    shown = yaml.load(answer.text, Loader=FAST)
    assert (answer.status_code, shown["id"], shown["buckets"], shown["tags"]) == (201, 3, [], {})
    assert deckhand.raw(3) == {"a": {"x": 1}, "gone": {}}
    assert deckhand.get("/revisions/3")["buckets"] == ["b"]
    assert deckhand.get("/revisions/1/diff/3") == {"b": "unmodified"}


def test_a_rollback_to_nothing(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert deckhand.post("/rollback/0").status_code == 201
    assert deckhand.list("/revisions/2/documents") == []


def test_a_rollback_empties_buckets_that_came_later(deckhand: Deckhand):
    deckhand.put("one", doc("a"))
    deckhand.put("two", doc("b"))
    deckhand.post("/rollback/1")
    assert deckhand.raw(3) == {"a": {}}


ROLLBACKS = [
    (Behaviour(), {"a": {"x": 1}, "deleted": {}, "z": {}}, {"one": "modified", "two": "unmodified"}),
    (GOOD, {"a": {"x": 2}, "z": {}}, {"one": "unmodified", "two": "unmodified"}),
]


@pytest.mark.parametrize(("behaviour", "restored", "changes"), ROLLBACKS, ids=["as-seen", "well-behaved"])
def test_a_rollback_over_two_buckets(start: Start, behaviour: Behaviour, restored: Any, changes: Any):
    deckhand = start(behaviour=behaviour)
    deckhand.put("one", doc("a", {"x": 1}), doc("deleted"))
    deckhand.put("one", doc("a", {"x": 2}))
    deckhand.put("two", doc("z"))
    deckhand.put("one", doc("a", {"x": 3}))
    assert deckhand.post("/rollback/3").status_code == 201
    assert deckhand.raw(5) == restored
    assert deckhand.get("/revisions/3/diff/5") == changes


# A11: tags


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


# A12: validations


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


# A13: writers that race


@pytest.mark.parametrize(
    ("behaviour", "paths", "statuses"),
    [
        (Behaviour(), ("new", "new"), [200, 500]),
        (Behaviour(), ("one", "two"), [200, 200]),
        (GOOD, ("new", "new"), [200, 200]),
        (GOOD, ("one", "two"), [200, 409]),
    ],
    ids=["same-bucket", "same-document", "good-same-bucket", "good-same-document"],
)
def test_writers_that_race(start: Start, behaviour: Behaviour, paths: tuple[str, str], statuses: list[int]):
    deckhand = start(behaviour=behaviour)
    deckhand.faults({"method": "PUT", "path": "/buckets/*", "action": "pause", "seconds": 0.6})
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda bucket: deckhand.send(bucket, doc("a")), paths))
    assert sorted(answer.status_code for answer in answers) == statuses
    assert all(error(answer)[1] == "DBDuplicateEntry" for answer in answers if answer.status_code == 500)


# B1 and B2: the shape


def changed(change: Callable[[Any], object]) -> Any:
    """Return a good document after a change."""
    document = doc(
        "a",
        {"x": 1},
        parent={"k": "v"},
        labels={"k": 1},
        substitutions=[take("s", ".x", {"path": ".y", "pattern": "P", "recurse": {"depth": -1}})],
    )
    change(document)
    return document


def at(document: Any, *path: Any) -> Any:
    for key in path:
        document = document[key]
    return document


LAYERING, SRC, DEST = (
    ("metadata", "layeringDefinition"),
    ("metadata", "substitutions", 0, "src"),
    ("metadata", "substitutions", 0, "dest", 0),
)

WRONG_SHAPES: dict[str, Callable[[Any], object]] = {
    "no-schema": lambda d: d.pop("schema"),
    "schema-number": lambda d: d.update(schema=1),
    "schema-digits": lambda d: d.update(schema="exam2ple/Kind/v1"),
    "schema-hyphen": lambda d: d.update(schema="ex-ample/Kind/v1"),
    "schema-version": lambda d: d.update(schema="example/Kind/1"),
    "schema-four-parts": lambda d: d.update(schema="a/b/c/v1"),
    "no-metadata": lambda d: d.pop("metadata"),
    "no-name": lambda d: d["metadata"].pop("name"),
    "no-metadata-schema": lambda d: d["metadata"].pop("schema"),
    "metadata-version": lambda d: d["metadata"].update(schema="metadata/Document/v1.0"),
    "metadata-key": lambda d: d["metadata"].update(colour="red"),
    "no-storage-policy": lambda d: d["metadata"].pop("storagePolicy"),
    "storage-policy": lambda d: d["metadata"].update(storagePolicy="secret"),
    "no-layering": lambda d: d["metadata"].pop("layeringDefinition"),
    "no-layer": lambda d: at(d, *LAYERING).pop("layer"),
    "layering-key": lambda d: at(d, *LAYERING).update(colour="red"),
    "abstract-text": lambda d: at(d, *LAYERING).update(abstract="yes"),
    "selector-alone": lambda d: at(d, *LAYERING).pop("actions"),
    "actions-alone": lambda d: at(d, *LAYERING).pop("parentSelector"),
    "selector-empty": lambda d: at(d, *LAYERING).update(parentSelector={}),
    "actions-empty": lambda d: at(d, *LAYERING).update(actions=[]),
    "action-method": lambda d: at(d, *LAYERING, "actions", 0).update(method="mend"),
    "action-key": lambda d: at(d, *LAYERING, "actions", 0).update(colour="red"),
    "action-without-path": lambda d: at(d, *LAYERING, "actions", 0).pop("path"),
    "labels": lambda d: d["metadata"].update(labels=["k"]),
    "replacement": lambda d: d["metadata"].update(replacement="yes"),
    "substitution-key": lambda d: at(d, "metadata", "substitutions", 0).update(colour="red"),
    "no-src": lambda d: at(d, "metadata", "substitutions", 0).pop("src"),
    "no-dest": lambda d: at(d, "metadata", "substitutions", 0).pop("dest"),
    "dest-empty": lambda d: at(d, "metadata", "substitutions", 0).update(dest=[]),
    "src-without-name": lambda d: at(d, *SRC).pop("name"),
    "src-without-path": lambda d: at(d, *SRC).pop("path"),
    "src-key": lambda d: at(d, *SRC).update(colour="red"),
    "src-pattern": lambda d: at(d, *SRC).update(pattern=1),
    "match-group": lambda d: at(d, *SRC).update(match_group="1"),
    "deepcopy": lambda d: at(d, *SRC).update(deepcopy="yes"),
    "dest-without-path": lambda d: at(d, *DEST).pop("path"),
    "dest-key": lambda d: at(d, *DEST).update(colour="red"),
    "no-depth": lambda d: at(d, *DEST, "recurse").clear(),
    "depth": lambda d: at(d, *DEST, "recurse").update(depth=-2),
}


@pytest.mark.parametrize("change", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_wrong_shapes(deckhand: Deckhand, change: Callable[[Any], object]):
    answer = deckhand.send("b", changed(change))
    assert error(answer) == (400, "InvalidDocumentFormat")
    for each in messages(answer):
        assert (each["name"], each["kind"], each["level"], each["error"]) == (
            "D001",
            "ValidationMessage",
            "Error",
            True,
        )
        assert [set(named) for named in each["documents"]] == [{"schema", "layer", "name"}]
        assert isinstance(each["diagnostic"], str)
    assert deckhand.get("/revisions")["count"] == 0


RIGHT_SHAPES: dict[str, Callable[[Any], object]] = {
    "as-it-is": lambda _: None,
    "top-level-key": lambda d: d.update(colour="red"),
    "no-data": lambda d: d.pop("data"),
    "null-data": lambda d: d.update(data=None),
    "dest-mapping": lambda d: at(d, "metadata", "substitutions", 0).update(dest={"path": ".y"}),
    "dest-without-root": lambda d: at(d, *DEST).update(path="y"),
    "path-unreadable": lambda d: at(d, *SRC).update(path=".["),
}


@pytest.mark.parametrize("change", RIGHT_SHAPES.values(), ids=RIGHT_SHAPES)
def test_right_shapes(deckhand: Deckhand, change: Callable[[Any], object]):
    assert deckhand.put("b", changed(change)) == 1
    shown = deckhand.list("/revisions/1/documents")[0]
    assert set(shown) == {"id", "schema", "metadata", "data", "status"}


def test_only_the_first_wrong_document_is_listed_with_all_that_is_wrong(deckhand: Deckhand):
    answer = deckhand.send(
        "b",
        doc("fine"),
        changed(lambda d: d["metadata"].update(colour="red", labels=[])),
        changed(lambda d: d["metadata"].pop("name")),
    )
    assert len(messages(answer)) == 2
    assert {each["documents"][0]["name"] for each in messages(answer)} == {"a"}


@pytest.mark.parametrize("schema", ["Kind", "example/Kind", ""])
def test_a_schema_with_too_few_parts_breaks_the_service(deckhand: Deckhand, schema: str):
    assert error(deckhand.send("b", doc("a", schema=schema))) == (500, "IndexError")


def test_defaults_are_stored(deckhand: Deckhand):
    plain = doc("a")
    del plain["metadata"]["layeringDefinition"]["abstract"], plain["data"]
    deckhand.put("b", plain, policy())
    first, second = deckhand.list("/revisions/1/documents")
    assert (first["data"], first["metadata"]["replacement"]) == ({}, False)
    assert first["metadata"]["layeringDefinition"] == {"layer": "site", "abstract": False}
    assert second["metadata"]["storagePolicy"] == "cleartext"
    assert second["metadata"]["layeringDefinition"] == {"abstract": False}


@pytest.mark.parametrize(
    ("metadata", "status"), [({"labels": {"k": "v"}, "colour": "red"}, 200), ({"labels": {"k": 1}}, 400)]
)
def test_metadata_of_control_documents(deckhand: Deckhand, metadata: Any, status: int):
    document = policy()
    document["metadata"] |= metadata
    assert deckhand.send("b", document).status_code == status


# B3 and B4: data schemas, uniqueness


@pytest.mark.parametrize(
    ("documents", "faulty"),
    [
        ([data_schema("example/Kind/v1", {"required": ["y"]}), doc("a", {"x": 1})], {"a"}),
        ([data_schema("example/Kind/v2", {"required": ["y"]}), doc("a", {"x": 1})], set()),
        ([data_schema("no-schema", {"required": ["y"]}), doc("a", {"x": 1})], set()),
        ([doc("p", {"x": 1}, schema="deckhand/Passphrase/v1"), doc("q", "x", schema="deckhand/PublicKey/v1")], {"p"}),
        (
            [data_schema("deckhand/Passphrase/v1", {"type": "object"}), doc("p", "x", schema="deckhand/Passphrase/v1")],
            set(),
        ),
        ([data_schema("example/Kind/v1", {"type": 7}), doc("a")], {"example/Kind/v1"}),
        ([control("deckhand/LayeringPolicy/v1", "policy", {"layerOrder": ["site"], "more": 1})], {"policy"}),
        ([doc("p", {"x": 1}, schema="deckhand/Passphrase/v1", secret=True)], {"p"}),
    ],
    ids=[
        "broken",
        "other-version",
        "no-schema-name",
        "secret-kind",
        "built-in-wins",
        "not-a-schema",
        "policy",
        "encrypted",
    ],
)
def test_data_is_held_to_schemas_when_it_is_rendered(deckhand: Deckhand, documents: list[Any], faulty: set[str]):
    if not any("LayeringPolicy" in each["schema"] for each in documents):
        documents = [policy(), *documents]
    answer = deckhand.call("GET", f"/revisions/{deckhand.put('b', *documents)}/rendered-documents")
    found = {each["documents"][0]["name"] for each in messages(answer)} if answer.status_code == 400 else set()
    assert found == faulty


def test_the_same_name_may_be_in_two_layers_of_the_store(deckhand: Deckhand):
    revision = deckhand.put("b", policy(), doc("a", layer="global"), doc("a", layer="site"))
    answer = deckhand.call("GET", f"/revisions/{revision}/rendered-documents")
    assert error(answer) == (400, "InvalidDocumentReplacement")


# B5: layering

PARENT = {"a": {"x": 1, "y": 2}, "list": [1, 2], "word": "old", "none": None}

ACTIONS: dict[str, tuple[Any, Any, list[tuple[str, str]], Any]] = {
    "merge-root": (
        PARENT,
        {"a": {"x": 9}, "list": [3]},
        [("merge", ".")],
        PARENT | {"a": {"x": 9, "y": 2}, "list": [3]},
    ),
    "merge-null": (PARENT, {"word": None}, [("merge", ".")], PARENT | {"word": None}),
    "merge-below": (
        PARENT,
        {"a": {"z": 3}, "word": "new"},
        [("merge", ".a")],
        PARENT | {"a": {"x": 1, "y": 2, "z": 3}},
    ),
    "merge-scalar": (PARENT, {"word": {"now": 1}}, [("merge", ".word")], PARENT | {"word": {"now": 1}}),
    "merge-makes": (PARENT, {"n": {"m": 1}}, [("merge", ".n.m")], PARENT | {"n": {"m": 1}}),
    "merge-missing": (PARENT, {}, [("merge", ".a")], "MissingDocumentKey"),
    "merge-null-at-path": (PARENT, {"a": None}, [("merge", ".a")], "MissingDocumentKey"),
    "merge-text": ("old", "new", [("merge", ".")], "new"),
    "merge-over-null": (PARENT, {"none": {"k": 1}}, [("merge", ".none")], PARENT | {"none": {"k": 1}}),
    "replace": (PARENT, {"a": {"z": 3}}, [("replace", ".a")], PARENT | {"a": {"z": 3}}),
    "replace-root": (PARENT, {"only": 1}, [("replace", ".")], {"only": 1}),
    "replace-root-dollar": (PARENT, {"only": 1}, [("replace", "$")], {"only": 1}),
    "replace-false": (PARENT, {"word": False}, [("replace", ".word")], PARENT | {"word": False}),
    "replace-zero": (PARENT, {"word": 0}, [("replace", ".word")], PARENT | {"word": 0}),
    "replace-empty": (PARENT, {"word": ""}, [("replace", ".word")], PARENT | {"word": ""}),
    "replace-makes": (PARENT, {"n": [0, {"k": 5}]}, [("replace", ".n[1].k")], PARENT | {"n": [{}, {"k": 5}]}),
    "replace-element": (PARENT, {"list": [7]}, [("replace", ".list[0]")], PARENT | {"list": [7, 2]}),
    "replace-missing": (PARENT, {}, [("replace", ".a")], "MissingDocumentKey"),
    "delete": ({"a": {"x": 1, "y": 2}}, {}, [("delete", ".a.x")], {"a": {"y": 2}}),
    "delete-root": (PARENT, {"kept": 1}, [("delete", ".")], {}),
    "delete-root-dollar": (PARENT, {"kept": 1}, [("delete", "$")], {}),
    "delete-element": ({"l": [1, 2, 1]}, {}, [("delete", ".l[2]")], {"l": [1, 2]}),
    "delete-missing": (PARENT, {}, [("delete", ".nothing")], "MissingDocumentKey"),
    "delete-null": (PARENT, {}, [("delete", ".none")], "MissingDocumentKey"),
    "in-order": ({"a": 1}, {"a": 2, "b": 3}, [("delete", ".a"), ("merge", "."), ("delete", ".b")], {"a": 2}),
    "nothing-else": (PARENT, {"a": 5, "word": "new"}, [("replace", ".word")], PARENT | {"word": "new"}),
    "path-with-data": (PARENT, {"word": "new"}, [("replace", ".data.word")], PARENT | {"word": "new"}),
    "path-with-root-and-data": (PARENT, {"word": "new"}, [("replace", "$.data.word")], PARENT | {"word": "new"}),
    "path-is-data": (PARENT, {"only": 1}, [("replace", ".data")], {"only": 1}),
    "path-cut-by-letters": (
        {"base": 1, "database": 2},
        {"base": 3},
        [("replace", ".database")],
        {"base": 3, "database": 2},
    ),
    "path-without-dot": (PARENT, {"word": "new"}, [("replace", "word")], PARENT | {"word": "new"}),
    "quoted-key": ({"a.b/c": 1, "d": 1}, {"a.b/c": 2}, [("replace", ".'a.b/c'")], {"a.b/c": 2, "d": 1}),
    "blocked": ({"word": "text"}, {"word": {"k": 1}}, [("merge", ".word.k")], "AttributeError"),
    "unreadable": (PARENT, {}, [("delete", ".a[?(@.x)]")], "JsonPathLexerError"),
    "unparsable": (PARENT, {}, [("delete", ".a.")], "JsonPathParserError"),
}


@pytest.mark.parametrize(("parent", "child", "actions", "outcome"), ACTIONS.values(), ids=ACTIONS)
def test_actions(deckhand: Deckhand, parent: Any, child: Any, actions: list[tuple[str, str]], outcome: Any):
    above = doc("parent", parent, layer="global", labels={"k": "v"}, abstract=True)
    revision = deckhand.put("b", policy(), doc("child", child, parent={"k": "v"}, actions=actions), above)
    if isinstance(outcome, str) and outcome[0].isupper():
        answer = deckhand.call("GET", f"/revisions/{revision}/rendered-documents")
        assert error(answer) == (400 if outcome == "MissingDocumentKey" else 500, outcome)
    else:
        assert deckhand.rendered(revision) == {"child": outcome}


def labelled(name: str, layer: str, **options: Any) -> Any:
    return doc(name, {"from": name}, layer=layer, labels={"k": "v", "n": 1}, **options)


CHILD = doc("child", parent={"k": "v"})

PARENTS: dict[str, tuple[list[Any], Any]] = {
    "none": ([CHILD], {}),
    "nearest": ([CHILD, labelled("far", "global"), labelled("near", "region")], {"from": "near"}),
    "all-labels": ([doc("child", parent={"k": "v", "n": 1}), labelled("p", "global")], {"from": "p"}),
    "one-label-differs": ([doc("child", parent={"k": "v", "n": 2}), labelled("p", "global")], {}),
    "types-count": ([doc("child", parent={"n": "1"}), labelled("p", "global")], {}),
    "truth-is-no-number": ([doc("child", parent={"n": True}), labelled("p", "global")], {}),
    "concrete": ([CHILD, labelled("p", "type")], {"from": "p"}),
    "other-schema": ([CHILD, labelled("p", "global", schema="example/Kind/v2")], "InvalidDocumentParent"),
    "same-layer": ([CHILD, labelled("p", "site")], "InvalidDocumentParent"),
    "inner-layer": ([doc("child", layer="type", parent={"k": "v"}), labelled("p", "site")], "InvalidDocumentParent"),
    "two": ([CHILD, labelled("p", "type"), labelled("q", "type")], "IndeterminateDocumentParent"),
    "two-farther-away": (
        [CHILD, labelled("p", "global"), labelled("q", "global"), labelled("r", "type")],
        "IndeterminateDocumentParent",
    ),
    "unknown-layer": ([CHILD, doc("x", layer="nowhere")], "InvalidDocumentLayer"),
}


@pytest.mark.parametrize(("documents", "outcome"), PARENTS.values(), ids=PARENTS)
def test_parents(deckhand: Deckhand, documents: list[Any], outcome: Any):
    revision = deckhand.put("b", policy(), *documents)
    if isinstance(outcome, str):
        assert error(deckhand.call("GET", f"/revisions/{revision}/rendered-documents")) == (400, outcome)
    else:
        assert deckhand.rendered(revision)["child"] == outcome


def test_three_layers_and_nothing_but_data_is_inherited(deckhand: Deckhand):
    middle = doc("middle", {"m": 1}, layer="type", parent={"k": "v"}, labels={"j": "w"}, abstract=True)
    deckhand.put("b", policy(), doc("inner", {"i": 1}, parent={"j": "w"}), middle, labelled("outer", "global"))
    assert deckhand.rendered(1)["inner"] == {"from": "outer", "m": 1, "i": 1}
    inner = next(each for each in deckhand.list("/revisions/1/rendered-documents") if name_of(each) == "inner")
    assert "labels" not in inner["metadata"]


def test_without_a_layering_policy_nothing_renders(deckhand: Deckhand):
    deckhand.put("b", doc("a"))
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (409, "LayeringPolicyNotFound")
    deckhand.put("later", policy())
    deckhand.send("later")
    assert deckhand.rendered(1) == deckhand.rendered(3) == {"a": {}}


@pytest.mark.parametrize(
    ("behaviour", "left"), [(Behaviour(), {"twin": "v"}), (DEFECTS, {"x": "v"})], ids=["correct", "as-seen"]
)
def test_a_delete_may_hit_an_equal_neighbour(start: Start, behaviour: Behaviour, left: Any):
    deckhand = start(behaviour=behaviour)
    above = doc("parent", {"labels": {"twin": "v", "x": "v"}}, layer="global", labels={"k": "v"})
    deckhand.put("b", policy(), above, doc("child", parent={"k": "v"}, actions=[("delete", ".labels.x")]))
    assert deckhand.rendered(1)["child"] == {"labels": left}


# B6: paths

TREE = {
    "a": {"b-c": 1, "5": "five", "d.e": "dotted", "f/g": "slash", "@h": "at"},
    "list": [{"n": 1}, {"n": 2}, {"n": 3}],
    "deep": {"er": {"n": 9}},
}

READING: dict[str, Any] = {
    ".": TREE,
    "$": TREE,
    ".a.b-c": 1,
    "$.a.b-c": 1,
    ".a.5": "five",
    ".a.@h": "at",
    ".a.'d.e'": "dotted",
    '.a."f/g"': "slash",
    ".a['d.e']": "dotted",
    ".list[1].n": 2,
    ".list.[1].n": 2,
    ".list[-1].n": 3,
    ".list[*].n": 1,
    ".list[1:3].n": 2,
    ".list[2,0].n": 3,
    "..n": 1,
    ".deep.*.n": 9,
    "a.b-c": 1,
}


@pytest.mark.parametrize(("path", "value"), READING.items(), ids=READING)
def test_paths_are_read(deckhand: Deckhand, path: str, value: Any):
    user = doc("user", substitutions=[take("tree", path, ".got")])
    deckhand.put("b", policy(), doc("tree", TREE), user)
    assert deckhand.rendered(1)["user"] == {"got": value}


@pytest.mark.parametrize("path", [".5a", ".a..", ".a b", ".a[", ".a[?(@.b)]", ".a!"])
def test_paths_that_cannot_be_read(deckhand: Deckhand, path: str):
    deckhand.put("b", policy(), doc("tree", TREE), doc("user", substitutions=[take("tree", path, ".got")]))
    status, kind = error(deckhand.call("GET", "/revisions/1/rendered-documents"))
    assert (status, kind in ("JsonPathParserError", "JsonPathLexerError")) == (500, True)


WRITING: dict[str, tuple[Any, str, Any]] = {
    "key": ({}, ".k", {"k": 7}),
    "over": ({"k": {"x": 1}}, ".k", {"k": 7}),
    "below": ({}, ".k.l.m", {"k": {"l": {"m": 7}}}),
    "quoted": ({}, ".'k'.l", {"k": {"l": 7}}),
    "list": ({}, ".k[2]", {"k": [{}, {}, 7]}),
    "list-below": ({}, ".k[1].l", {"k": [{}, {"l": 7}]}),
    "padded": ({"k": [1]}, ".k[2]", {"k": [1, {}, 7]}),
    "element": ({"k": [1, 2]}, ".k[0]", {"k": [7, 2]}),
    "all-elements": ({"k": [{"n": 1}, {"n": 2}]}, ".k[*].n", {"k": [{"n": 7}, {"n": 7}]}),
    "no-elements": ({"k": []}, ".k[*].n", "UnknownSubstitutionError"),
    "through-text": ({"k": "text"}, ".k.l", "UnknownSubstitutionError"),
    "whole": ({"k": 1}, ".", 7),
    "no-root": ({}, "k", "UnknownSubstitutionError"),
    "unreadable": ({}, ".k[", "UnknownSubstitutionError"),
}


@pytest.mark.parametrize(("data", "path", "outcome"), WRITING.values(), ids=WRITING)
def test_paths_are_written(deckhand: Deckhand, data: Any, path: str, outcome: Any):
    user = doc("user", data, substitutions=[take("source", ".v", path)])
    deckhand.put("b", policy(), doc("source", {"v": 7}), user)
    if isinstance(outcome, str):
        answer = deckhand.call("GET", "/revisions/1/rendered-documents")
        assert error(answer) == (500, outcome)
        assert yaml.load(answer.text, Loader=FAST)["message"] == ""
    else:
        assert deckhand.rendered(1)["user"] == outcome


# B7: substitution


def pattern(path: str, depth: int | None = None) -> dict[str, Any]:
    return {"path": path, "pattern": "WORD"} | ({} if depth is None else {"recurse": {"depth": depth}})


NESTED = {"t": "a WORD", "m": {"t": "WORD", "l": ["WORD", 5, {"t": "WORD"}]}}
U = "UnknownSubstitutionError"

SUBSTITUTIONS: dict[str, tuple[Any, Any, list[Any], Any]] = {
    "text-whole": ("secret", {}, [take("source", ".", ".k")], {"k": "secret"}),
    "path-ignored-for-text": ("secret", {}, [take("source", ".no.such", ".k")], {"k": "secret"}),
    "root-mapping-over": ({"a": 1, "b": 2}, {"b": 0, "c": 3}, [take("source", ".", ".")], {"a": 1, "b": 2, "c": 3}),
    "root-text": ("secret", {"k": 1}, [take("source", ".", ".")], "secret"),
    "root-empty-over-text": ("", "old", [take("source", ".", ".")], U),
    "root-false-over-text": (False, "old", [take("source", ".", ".")], U),
    "two-places": ({"v": 1}, {}, [take("source", ".v", ".k", ".l.m")], {"k": 1, "l": {"m": 1}}),
    "later-sees-earlier": (
        {"v": {"w": 1}, "x": 2},
        {},
        [take("source", ".v", ".k"), take("source", ".x", ".k.w")],
        {"k": {"w": 2}},
    ),
    "false-is-a-value": ({"v": False}, {}, [take("source", ".v", ".k")], {"k": False}),
    "null-is-none": ({"v": None}, {}, [take("source", ".v", ".k")], "SubstitutionSourceDataNotFound"),
    "missing": ({"v": 1}, {}, [take("source", ".w", ".k")], "SubstitutionSourceDataNotFound"),
    "source-pattern": ({"v": "ab:12"}, {}, [take("source", ".v", ".k", pattern=r"\d+")], {"k": "12"}),
    "match-group": ({"v": "ab:12"}, {}, [take("source", ".v", ".k", pattern=r"(\w+):(\d)", match_group=2)], {"k": "1"}),
    "source-pattern-without-match": ({"v": "ab"}, {}, [take("source", ".v", ".k", pattern=r"\d+")], {"k": "ab"}),
    "source-pattern-in-number": ({"v": 12}, {}, [take("source", ".v", ".k", pattern=r"\d+")], U),
    "pattern": ({"v": "x"}, {"k": "WORD and WORD"}, [take("source", ".v", pattern(".k"))], {"k": "x and x"}),
    "pattern-without-match": ({"v": "x"}, {"k": "other"}, [take("source", ".v", pattern(".k"))], {"k": "other"}),
    "pattern-missing": ({"v": "x"}, {}, [take("source", ".v", pattern(".k"))], U),
    "pattern-in-number": ({"v": "x"}, {"k": 5}, [take("source", ".v", pattern(".k"))], U),
    "number-into-pattern": ({"v": 5}, {"k": "n=WORD"}, [take("source", ".v", pattern(".k"))], {"k": "n=5"}),
    "truth-into-pattern": ({"v": True}, {"k": "n=WORD"}, [take("source", ".v", pattern(".k"))], {"k": "n=True"}),
    "mapping-into-pattern": ({"v": {"b": 1}}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], {"k": "{'b': 1}"}),
    "backslash": ({"v": r"a\nb"}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], {"k": "a\nb"}),
    "bad-backslash": ({"v": r"a\1"}, {"k": "WORD"}, [take("source", ".v", pattern(".k"))], U),
    "recurse-none": ({"v": "x"}, {"r": NESTED}, [take("source", ".v", pattern(".r", 0))], {"r": NESTED}),
    "recurse-one": ({"v": "x"}, {"r": NESTED}, [take("source", ".v", pattern(".r", 1))], {"r": NESTED | {"t": "a x"}}),
    "recurse-two": (
        {"v": "x"},
        {"r": NESTED},
        [take("source", ".v", pattern(".r", 2))],
        {"r": {"t": "a x", "m": {"t": "x", "l": ["WORD", 5, {"t": "WORD"}]}}},
    ),
    "recurse-all": (
        {"v": "x"},
        NESTED,
        [take("source", ".v", pattern(".", -1))],
        {"t": "a x", "m": {"t": "x", "l": ["x", 5, {"t": "x"}]}},
    ),
    "recurse-needs-the-literal-word": (
        {"v": "x"},
        {"r": {"t": "aaa"}},
        [take("source", ".v", {"path": ".r", "pattern": "a+", "recurse": {"depth": -1}})],
        {"r": {"t": "aaa"}},
    ),
    "recurse-in-text": ({"v": "x"}, {"k": "WORD"}, [take("source", ".v", pattern(".k", -1))], {"k": "x"}),
    "no-such-source": ({}, {}, [take("nobody", ".v", ".k")], "SubstitutionSourceNotFound"),
    "itself": ({}, {"v": 1}, [take("user", ".v", ".k")], "SubstitutionDependencyCycle"),
}
STATUSES = {U: 500, "SubstitutionSourceNotFound": 409}


@pytest.mark.parametrize(("source", "data", "entries", "outcome"), SUBSTITUTIONS.values(), ids=SUBSTITUTIONS)
def test_substitutions(deckhand: Deckhand, source: Any, data: Any, entries: list[Any], outcome: Any):
    deckhand.put("b", policy(), doc("user", data, layer="global", substitutions=entries), doc("source", source))
    if isinstance(outcome, str) and outcome[0].isupper():
        answer = deckhand.call("GET", "/revisions/1/rendered-documents")
        assert error(answer) == (STATUSES.get(outcome, 400), outcome)
    else:
        assert deckhand.rendered(1)["user"] == outcome


def test_an_abstract_source_is_none(deckhand: Deckhand):
    deckhand.put("b", policy(), doc("s", {"v": 1}, abstract=True), doc("u", substitutions=[take("s", ".v", ".k")]))
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (409, "SubstitutionSourceNotFound")


def test_substitution_works_through_layers_whatever_the_order(deckhand: Deckhand):
    above = doc(
        "above", {"a": 1}, layer="global", labels={"k": "v"}, abstract=True, substitutions=[take("s", ".v", ".s")]
    )
    child = doc("child", {"own": 1}, parent={"k": "v"}, actions=[("merge", "."), ("delete", ".s.two")])
    last = doc("last", substitutions=[take("child", ".s", ".from")])
    source = doc("s", {"v": {"one": 1, "two": 2}})
    documents = [last, child, above, source]
    for order in (documents, documents[::-1]):
        revision = deckhand.put("b", policy(), *order)
        assert deckhand.rendered(revision)["child"] == {"a": 1, "own": 1, "s": {"one": 1}}
        assert deckhand.rendered(revision)["last"] == {"from": {"one": 1}}


def test_a_substitution_of_the_child_wins(deckhand: Deckhand):
    above = doc("above", {"v": "inherited"}, layer="global", labels={"k": "v"})
    child = doc("child", {"v": "own"}, parent={"k": "v"}, substitutions=[take("s", ".v", ".v")])
    deckhand.put("b", policy(), above, child, doc("s", {"v": "substituted"}))
    assert deckhand.rendered(1)["child"] == {"v": "substituted"}


@pytest.mark.parametrize(
    ("documents"),
    [
        [doc("a", substitutions=[take("b", ".x", ".y")]), doc("b", substitutions=[take("a", ".x", ".y")])],
        [
            doc("a", {"x": 1}, layer="global", labels={"k": "v"}, substitutions=[take("b", ".x", ".y")]),
            doc("b", parent={"k": "v"}),
        ],
    ],
    ids=["substitution", "layering-and-substitution"],
)
def test_circles(deckhand: Deckhand, documents: list[Any]):
    deckhand.put("b", policy(), *documents)
    assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (400, "SubstitutionDependencyCycle")


@pytest.mark.parametrize(
    ("behaviour", "src", "kept"),
    [(Behaviour(), {}, True), (DEFECTS, {}, False), (DEFECTS, {"deepcopy": True}, True)],
    ids=["correct", "as-seen", "as-seen-with-deepcopy"],
)
def test_what_was_substituted_may_stay_shared(start: Start, behaviour: Behaviour, src: Any, kept: bool):
    deckhand = start(behaviour=behaviour)
    entries = [take("source", ".v", ".k", **src), take("port", ".n", ".k.deep.port")]
    deckhand.put(
        "b",
        policy(),
        doc("source", {"v": {"deep": {"port": 1}}}),
        doc("port", {"n": 2}),
        doc("user", substitutions=entries),
    )
    rendered = deckhand.rendered(1)
    assert rendered["user"] == {"k": {"deep": {"port": 2}}}
    assert (rendered["source"] == {"v": {"deep": {"port": 1}}}) == kept


# B8: replacement


def replacing(name: str = "p", layer: str = "site", **options: Any) -> Any:
    return doc(name, {"r": 1}, layer=layer, parent={"k": "v"}, replacement=True, **options)


REPLACEMENTS: dict[str, tuple[list[Any], Any]] = {
    "stands-in": ([labelled("p", "global"), replacing()], {"p": {"from": "p", "r": 1}}),
    "for-substitution": (
        [labelled("p", "global"), replacing(), doc("u", substitutions=[take("p", ".r", ".k")])],
        {"p": {"from": "p", "r": 1}, "u": {"k": 1}},
    ),
    "for-other-children": (
        [labelled("p", "global"), replacing(layer="site"), doc("c", {"c": 1}, layer="type", parent={"k": "v"})],
        {"p": {"from": "p", "r": 1}, "c": {"from": "p", "r": 1, "c": 1}},
    ),
    "without-parent": ([replacing()], "InvalidDocumentReplacement"),
    "other-name": ([labelled("p", "global"), replacing("q")], "InvalidDocumentReplacement"),
    "child-that-replaces-nothing": (
        [labelled("p", "global"), doc("p", parent={"k": "v"})],
        "InvalidDocumentReplacement",
    ),
    "replaced-twice": (
        [
            labelled("p", "global"),
            replacing(layer="type", labels={"j": "w"}),
            doc("p", parent={"j": "w"}, replacement=True),
        ],
        "InvalidDocumentReplacement",
    ),
    "unrelated": ([doc("p", layer="global"), doc("p", layer="site")], "InvalidDocumentReplacement"),
}


@pytest.mark.parametrize(("documents", "outcome"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_replacements(deckhand: Deckhand, documents: list[Any], outcome: Any):
    deckhand.put("b", policy(), *documents)
    if isinstance(outcome, str):
        assert error(deckhand.call("GET", "/revisions/1/rendered-documents")) == (400, outcome)
    else:
        assert deckhand.rendered(1) == outcome


# B9: secrets


@pytest.fixture
def secrets(deckhand: Deckhand) -> Deckhand:
    """A secret, and who took it: directly, through another, and by inheritance."""
    deckhand.put(
        "b",
        policy(),
        doc("secret", {"v": "hunter2"}, layer="global", labels={"s": "s"}, secret=True),
        doc("direct", {"x": 1}, layer="global", labels={"d": "d"}, substitutions=[take("secret", ".v", ".k")]),
        doc("indirect", substitutions=[take("direct", ".k", ".k")]),
        doc("child", {"c": 1}, parent={"s": "s"}),
        doc("grandchild", {"c": 1}, parent={"d": "d"}),
    )
    return deckhand


def test_a_stored_secret_is_a_reference(secrets: Deckhand):
    reference = secrets.raw(1)["secret"]
    assert re.fullmatch(r"http://barbican/.*/secrets/[0-9a-f-]{36}", reference)
    assert "hunter2" not in secrets.call("GET", "/revisions/1/documents").text
    assert secrets.raw(1, **{"cleartext-secrets": "false"})["secret"] == sha(reference)


@pytest.mark.parametrize("query", [{}, {"cleartext-secrets": "true"}], ids=["default", "asked"])
def test_a_clear_rendering_shows_everything(secrets: Deckhand, query: dict[str, str]):
    assert secrets.rendered(1, **query) == {
        "secret": {"v": "hunter2"},
        "direct": {"x": 1, "k": "hunter2"},
        "indirect": {"k": "hunter2"},
        "child": {"v": "hunter2", "c": 1},
        "grandchild": {"x": 1, "k": "hunter2", "c": 1},
    }


REDACTED = {
    "secret": sha({"v": "hunter2"}),
    "direct": sha({"x": 1, "k": "hunter2"}),
    "indirect": sha({"k": "hunter2"}),
    # These two leak, as the real one lets them.
    "child": {"v": "hunter2", "c": 1},
    "grandchild": {"x": 1, "k": "hunter2", "c": 1},
}


def test_a_redacted_rendering_hides_most(secrets: Deckhand):
    assert secrets.rendered(1, **{"cleartext-secrets": "false"}) == REDACTED
    shown = {
        name_of(each): each for each in secrets.list("/revisions/1/rendered-documents", {"cleartext-secrets": "false"})
    }
    direct = shown["direct"]["metadata"]
    assert direct["storagePolicy"] == "encrypted"
    assert direct["substitutions"][0] == take("secret", sha(".v"), sha(".k"))
    assert shown["child"]["metadata"]["storagePolicy"] == "cleartext"


def test_one_cache_for_clear_and_redacted(secrets: Deckhand):
    clear = secrets.rendered(1)
    redacted = secrets.rendered(1, **{"cleartext-secrets": "false"})
    assert redacted == clear | {"secret": REDACTED["secret"]}


def test_after_a_redacted_reading_a_clear_one_shows_hashes(secrets: Deckhand):
    secrets.rendered(1, **{"cleartext-secrets": "false"})
    assert secrets.rendered(1) == REDACTED


def test_a_well_behaved_one_keeps_two_caches(start: Start):
    deckhand = start(behaviour=replace(Behaviour(), one_cache=False))
    user = doc("user", substitutions=[take("secret", ".v", ".k")])
    deckhand.put("b", policy(), doc("secret", {"v": 1}, secret=True), user)
    for _ in range(2):
        assert deckhand.rendered(1)["user"] == {"k": 1}
        assert deckhand.rendered(1, **{"cleartext-secrets": "false"})["user"] == sha({"k": 1})


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        ("", "cleartext"),
        ({}, "cleartext"),
        ([], "cleartext"),
        (None, "cleartext"),
        (0, "encrypted"),
        ("x", "encrypted"),
    ],
    ids=str,
)
def test_nothing_empty_is_a_secret(deckhand: Deckhand, data: Any, stored: str):
    document = doc("a", secret=True) | {"data": data}
    deckhand.put("b", document)
    shown = deckhand.list("/revisions/1/documents")[0]
    assert shown["metadata"]["storagePolicy"] == stored
    assert stored == "encrypted" or shown["data"] == data


# B10: real sites


def test_a_real_site_renders(deckhand: Deckhand):
    put_site(deckhand, "airskiff")
    assert len(deckhand.list("/revisions/1/documents")) == 380
    assert len(deckhand.list("/revisions/1/rendered-documents")) > 300


# What a real Deckhand made of the site differs from a correct rendering only here.
DIFFERING_BY_A_SHARED_OBJECT = {
    ("pegleg/AccountCatalogue/v1", "ucp_service_accounts"): "passwords written into a chart appear here",
    ("pegleg/EndpointCatalogue/v1", "ucp_endpoints"): "the port of one chart appears here",
    ("armada/Chart/v1", "ucp-maas"): "and is taken from here",
    ("armada/Chart/v1", "ucp-maas-scaled"): "and here",
}


@pytest.mark.parametrize(
    ("behaviour", "differing"), [(DEFECTS, set()), (Behaviour(), set(DIFFERING_BY_A_SHARED_OBJECT))]
)
def test_a_real_site_renders_as_the_real_one_rendered_it(start: Start, behaviour: Behaviour, differing: set[Any]):
    expected = list(load_all(site_file("seaworthy.rendered.yaml")))
    deckhand = start(behaviour=behaviour)
    put_site(deckhand, "seaworthy")
    answer = deckhand.call("GET", "/revisions/1/rendered-documents")
    rendered = list(yaml.load_all(answer.text, Loader=FAST))
    # Even the order is that of the real one; which values a shared object ends with depends on it.
    assert [key(each) for each in rendered] == [key(each) for each in expected]
    pairs = list(zip(rendered, expected, strict=True))
    assert {key(ours) for ours, theirs in pairs if ours["data"] != theirs["data"]} == differing
    assert all(ours["metadata"] == theirs["metadata"] for ours, theirs in pairs)


def test_a_real_site_with_a_mistake_does_not_render(deckhand: Deckhand):
    put_site(deckhand, "aiab")
    answer = deckhand.call("GET", "/revisions/1/rendered-documents")
    assert error(answer) == (409, "SubstitutionSourceNotFound")
    assert "kubernetes-etcd" in yaml.load(answer.text, Loader=FAST)["message"]


def load_all(path: Path) -> Iterator[Any]:
    return yaml.load_all(path.read_bytes(), Loader=FAST)


def key(document: Any) -> tuple[str, str]:
    return document["schema"], name_of(document)


def put_site(deckhand: Deckhand, site: str) -> None:
    body = site_file(f"{site}.yaml").read_bytes()
    answer = deckhand.call("PUT", "/buckets/design/documents", data=body, headers=YAML)
    assert answer.status_code == 200, answer.text


# The service's own misbehaviour


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_errors_by_order(deckhand: Deckhand, status: int):
    deckhand.faults({"method": "GET", "path": "/revisions*", "status": status, "first": 2})
    answers = [deckhand.call("GET", "/revisions") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [status, status, 200]
    assert ("kind: Status" in answers[0].text) == (status == 500)


BREAKAGES = {
    "drop": (requests.ConnectionError, 0),
    "drop_after_effect": (requests.ConnectionError, 1),
    "truncate": (requests.RequestException, 1),
}


@pytest.mark.parametrize(("action", "error_kind", "made"), [(key, *value) for key, value in BREAKAGES.items()])
def test_answers_that_are_lost(deckhand: Deckhand, action: str, error_kind: type[Exception], made: int):
    deckhand.faults({"method": "PUT", "path": "/buckets/*", "action": action, "first": 1})
    with pytest.raises(error_kind):
        deckhand.send("b", doc("a"))
    assert deckhand.get("/revisions")["count"] == made


def test_an_error_after_the_work_was_done(deckhand: Deckhand):
    deckhand.faults({"method": "PUT", "action": "error_after_effect", "status": 503, "first": 1})
    assert deckhand.send("b", doc("a")).status_code == 503
    assert deckhand.get("/revisions")["count"] == 1


@pytest.mark.parametrize("action", ["hang", "delay"])
def test_slow_answers(deckhand: Deckhand, action: str):
    deckhand.faults({"path": "/revisions", "action": action, "seconds": 0.6, "first": 1})
    with pytest.raises(requests.ReadTimeout):
        requests.get(f"{deckhand.simulator.url}/api/v1.0/revisions", headers=TOKEN, timeout=(5, 0.2))
    assert deckhand.call("GET", "/revisions").status_code == 200


def test_faults_of_a_scenario(start: Start):
    scenario = parse_scenario("service: [{method: GET, path: /revisions, status: 503, first: 1}]")
    deckhand = start(scenario=scenario)
    assert [deckhand.call("GET", "/revisions").status_code for _ in range(2)] == [503, 200]


def test_faults_end_when_they_are_deleted(deckhand: Deckhand):
    deckhand.faults({"action": "error"})
    assert deckhand.call("GET", "/revisions").status_code == 500
    assert deckhand.call("DELETE", "/simulator/faults").status_code == 204
    assert deckhand.call("GET", "/revisions").status_code == 200


def test_faults_that_cannot_be_played_are_all_named(deckhand: Deckhand):
    wrong = [{"action": "explode"}, {"status": 200}, {"colour": "red"}]
    answer = deckhand.call("POST", "/simulator/faults", json=wrong)
    assert (answer.status_code, len(answer.json()["faults"])) == (400, 3)


def test_requests_are_logged(start: Start, tmp_path: Path):
    log_file = tmp_path / "log.jsonl"
    deckhand = start(log_file=log_file)
    deckhand.put("b", doc("a"))
    deckhand.call("GET", "/revisions/1?x=y")
    deckhand.faults({"action": "drop"})
    with pytest.raises(requests.ConnectionError):
        deckhand.call("GET", "/revisions")
    wait_until(lambda: len(log_file.read_text().splitlines()) == 3)
    logged = deckhand.call("GET", "/simulator/requests").json()
    assert [(each["method"], each["path"], each["status"], each["fault"]) for each in logged] == [
        ("PUT", "/api/v1.0/buckets/b/documents", 200, None),
        ("GET", "/api/v1.0/revisions/1", 200, None),
        ("GET", "/api/v1.0/revisions", None, "drop"),
    ]
    assert logged[1]["query"] == "x=y"
    assert [json.loads(line) for line in log_file.read_text().splitlines()] == logged == deckhand.simulator.requests()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


# The program

COMMAND = [sys.executable, "-m", "shipyard_simulators.deckhand"]


def test_the_program_announces_itself_serves_and_ends_at_once(tmp_path: Path):
    ready = tmp_path / "ready.json"
    command = [*COMMAND, "--port", "0", "--ready-file", str(ready), "--with-defects", "--well-behaved"]
    environment = {**os.environ, "SIMULATOR_TOKEN": "right"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until(ready.exists)
        url = json.loads(ready.read_text())["url"]
        statuses = [
            requests.get(f"{url}/api/v1.0/revisions", headers={"X-Auth-Token": token}, timeout=PATIENCE).status_code
            for token in ("right", "wrong")
        ]
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err, statuses) == (0, b"", [200, 401])
    assert url in out.decode()


def test_every_bad_argument_is_named(tmp_path: Path):
    words = ["--port", "70000", "--time-scale", "0", "--deny", "everything", "--scenario", "nowhere"]
    code, answered = refusal("deckhand", *words, "--log-file", str(tmp_path / "nowhere" / "log"))
    assert (code, len(answered)) == (2, 5)
    for fault in ("--port: 70000", "--time-scale: 0.0", "--deny: everything", "--scenario nowhere", "--log-file:"):
        assert any(fault in line for line in answered)


def test_one_cannot_ask_for_both_renderings():
    assert refusal("deckhand", "--correct-rendering", "--with-defects")[0] == 2
