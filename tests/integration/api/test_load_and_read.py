"""Loading collections into the buffer, comparing versions, reading documents back."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import falcon
import sqlalchemy as sa

from shipyard_api.domain.documents import RevisionTag
from shipyard_api.storage.writer_lock import SqlWriterLock
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


def act(site: Site, tag: RevisionTag) -> None:
    """Mark the committed revision as a site action does."""
    site.designs.tag(site.designs.heads().head, tag.value, {})


def test_a_load_leaves_out_what_it_does_not_name_and_an_emptied_collection_goes_with_the_next_commit(
    site: Site,
) -> None:
    committed(site, "a", ONE, TWO)
    # What is committed already makes no revision.
    for mode in ("rejectoncontents", "append", "replace"):
        answer = site.admin.load("a", TWO, ONE, buffermode=mode)
        assert (answer.status, answer.json["message"], answer.json["reason"]) == (
            falcon.HTTP_400,
            "Collection a not added to Shipyard buffer",
            "Collection created no new revision",
        )
        assert statuses(site) == {"a": "unmodified"}

    site.admin.load("a", TWO, THREE)
    held = read_documents(site.viewer.get("/configdocs/a").content)
    assert [one["metadata"]["name"] for one in held] == ["two", "three"]

    assert site.admin.post("/configdocs/a", empty_collection="True", buffermode="replace").status == falcon.HTTP_201
    assert statuses(site) == {"a": "deleted"}
    read = site.viewer.get("/configdocs/a")
    assert (read.status, read.content) == (falcon.HTTP_200, b"")
    site.admin.commit(force="true")
    assert statuses(site) == {}
    gone = site.viewer.get("/configdocs/a", version="committed")
    assert (gone.status, gone.content) == (falcon.HTTP_200, b"")
    # The address of a strange collection is quoted.
    answer = site.admin.load("a b%3fé", ONE)
    assert answer.headers["Location"] == "/api/v1.0/configdocs/a%20b%3F%C3%A9"
    assert site.viewer.get("/configdocs/a b%3fé").status == falcon.HTTP_200
    assert list(statuses(site)) == ["a b?é"]


def test_while_another_writes_nobody_else_does(site: Site, engine: sa.Engine) -> None:
    site.admin.load("a", ONE)

    with SqlWriterLock(engine).held():
        refused = [site.admin.load("a", TWO, buffermode="replace"), site.admin.commit()]
        assert statuses(site) == {"a": "created"}  # readers are not kept out

    for answer in refused:
        assert answer.status == falcon.HTTP_409
        assert answer.json["message"] == "Blocked by another process"
        assert answer.json["reason"] == (
            "Another process is currently blocking this request with a lock for configdocs_update. Lock expires in "
            "not more than 60 seconds"
        )
    assert site.admin.load("a", TWO, buffermode="replace").status == falcon.HTTP_201


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


# --- comparing ---------------------------------------------------------------------------------------------------


def test_the_base_does_not_depend_on_the_order(site: Site) -> None:
    committed(site, "a", ONE)
    act(site, RevisionTag.SITE_ACTION_SUCCESS)
    committed(site, "b", TWO)
    act(site, RevisionTag.SITE_ACTION_FAILURE)
    committed(site, "a", THREE)

    seen = []
    for pair in (
        ["committed", "successful_site_action"],
        ["last_site_action", "committed"],
        ["last-site-action", "successful-site-action"],
    ):
        for versions in (pair, pair[::-1]):
            entries = site.viewer.get("/configdocs", versions=versions).json
            seen.append(
                (
                    entries[0]["base_version"],
                    entries[0]["new_version"],
                    {entry["collection_name"]: entry["new_status"] for entry in entries},
                )
            )
    both = {"a": "modified", "b": "created"}
    assert seen[0] == seen[1] == ("successful_site_action", "committed", both)
    assert seen[2] == seen[3] == ("last_site_action", "committed", {"a": "modified", "b": "unmodified"})
    assert seen[4] == seen[5] == (
        "successful_site_action",
        "last_site_action",
        {"a": "unmodified", "b": "created"},
    )  # fmt: skip


# --- reading -----------------------------------------------------------------------------------------------------


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


def test_the_version_is_read_without_regard_to_case(site: Site) -> None:
    committed(site, "a", ONE)
    act(site, RevisionTag.SITE_ACTION_SUCCESS)
    site.admin.load("a", TWO)

    def name(**params: str) -> str:
        (held,) = read_documents(site.viewer.get("/configdocs/a", **params).content)
        return str(held["metadata"]["name"])

    assert name() == name(version="buffer") == name(version="BUFFER") == "two"
    for version in ("committed", "Committed", "successful_site_action", "successful-site-action", "last_site_action"):
        assert name(version=version) == "one"


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
