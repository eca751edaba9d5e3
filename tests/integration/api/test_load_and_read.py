"""Loading collections into the buffer, comparing versions, reading documents back."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import falcon

from shipyard_api.yaml_stream import read_documents
from tests.factories import document, layering_policy
from tests.integration.api.wire import Site

ONE = document("a/B/v1", "one", {"x": 1})
TWO = document("a/B/v1", "two", {"x": 2})
THREE = document("a/B/v1", "three", {"x": 3})


def statuses(site: Site, **params: Any) -> dict[str, str]:
    answer = site.viewer.get("/configdocs", **params)
    assert answer.status == falcon.HTTP_200, answer.text
    return {entry["collection_name"]: entry["new_status"] for entry in answer.json}


def committed(site: Site, collection: str, *documents: dict[str, Any]) -> None:
    assert site.admin.load(collection, *documents).status == falcon.HTTP_201
    assert site.admin.commit(force="true").status == falcon.HTTP_200


def test_loads_at_the_same_time_lose_nothing(site: Site) -> None:
    """Each either waits for nobody and is refused, or finds the others' collections in the buffer."""
    start = threading.Barrier(6)

    def load(number: int) -> int:
        start.wait()
        return site.admin.load(f"c{number}", document("a/B/v1", f"d{number}", {}), buffermode="append").status_code

    with ThreadPoolExecutor(6) as threads:
        codes = list(threads.map(load, range(6)))

    assert set(codes) <= {201, 409}
    assert 201 in codes
    assert statuses(site) == {f"c{number}": "created" for number, code in enumerate(codes) if code == 201}


def test_a_collection_reads_back_as_it_was_written(site: Site) -> None:
    written = document(
        "a/B/v1",
        "one",
        {"z": [1, 2.5, True, None, "no", "1e3", "2026-01-01", "\x07\u2028é𝄞", " a\n\nb ", ""], "a": {"": {}}},
        labels={"k": "v"},
    )
    site.admin.load("design", written, TWO)

    answer = site.viewer.get("/configdocs/design")

    assert answer.headers["Content-Type"] == "application/x-yaml"
    held = read_documents(answer.content)
    defaults = {"replacement": False}
    assert held == [
        {"id": number, **one, "metadata": one["metadata"] | defaults, "status": {"bucket": "design", "revision": 1}}
        for number, one in enumerate([written, TWO], start=1)
    ]
    assert list(held[0]["data"]) == ["z", "a"]
    # The address of a strange collection is quoted.
    answer = site.admin.load("a b%3fé", THREE, buffermode="append")
    assert answer.headers["Location"] == "/api/v1.0/configdocs/a%20b%3F%C3%A9"
    assert site.viewer.get("/configdocs/a b%3fé").status == falcon.HTTP_200
    assert list(statuses(site)) == ["a b?é", "design"]
    # Of an emptied collection nothing is left, once that is committed.
    site.admin.commit(force="true")
    site.admin.post("/configdocs/design", empty_collection="true")
    site.admin.commit(force="true")
    assert list(statuses(site)) == ["a b?é"]
    gone = site.viewer.get("/configdocs/design", version="committed")
    assert (gone.status, gone.content) == (falcon.HTTP_200, b"")


def test_the_design_of_a_revision_has_all_collections_and_only_what_is_concrete(site: Site) -> None:
    parent = document("a/B/v1", "parent", {}, layeringDefinition={"abstract": True, "layer": "global"})
    committed(site, "b", layering_policy(), TWO)
    committed(site, "a", ONE, parent)
    committed(site, "b", layering_policy(), THREE)

    answers = [site.viewer.get(f"/revisions/{number}/rendered-documents") for number in (1, 2, 3)]

    assert [answer.headers["Content-Type"] for answer in answers] == ["application/x-yaml"] * 3
    assert [[one["metadata"]["name"] for one in read_documents(answer.content)] for answer in answers] == [
        ["two", "layering-policy"],
        ["one", "two", "layering-policy"],
        ["one", "three", "layering-policy"],
    ]
    for limit, names in (("0", []), ("%2B1", ["one"]), ("0000000000000000000001", ["one"]), ("-7", ["one"])):
        answer = site.viewer.ask("GET", "/api/v1.0/revisions/3/rendered-documents", query=f"limit={limit}")
        assert [one["metadata"]["name"] for one in read_documents(answer.content)] == names, limit
    for limit in ("", "9" * 5000):
        answer = site.viewer.ask("GET", "/api/v1.0/revisions/3/rendered-documents", query=f"limit={limit}")
        assert answer.content == answers[2].content
    for revision in ("0", "4", "4294967296", "99999999999", "-1", "1.0", "x", "٣", ""):
        unknown = site.viewer.get(f"/revisions/{revision}/rendered-documents")
        assert (unknown.status, unknown.json["message"]) == (falcon.HTTP_404, "Revision not found"), revision
