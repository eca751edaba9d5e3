"""Loading collections into the buffer, comparing versions, reading documents back."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.domain.documents import RevisionTag
from shipyard_api.storage.writer_lock import SqlWriterLock
from shipyard_api.yaml_stream import read_documents, write_documents
from tests.factories import document, layering_policy
from tests.integration.api.wire import YAML, Site, messages, small_design

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


def test_a_load_answers_where_the_collection_is(site: Site) -> None:
    answer = site.admin.load("design", ONE)

    assert answer.status == falcon.HTTP_201
    assert answer.headers["Location"] == "/api/v1.0/configdocs/design"
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Success",
        "message": "Validations succeeded",
        "reason": "Validation",
        "details": {"errorCount": 0, "messageList": []},
        "code": "201 Created",
    }


def test_the_address_of_a_strange_collection_is_quoted(site: Site) -> None:
    answer = site.admin.load("a b%3fé", ONE)

    assert answer.headers["Location"] == "/api/v1.0/configdocs/a%20b%3F%C3%A9"
    assert site.viewer.get("/configdocs/a b%3fé").status == falcon.HTTP_200
    assert list(statuses(site)) == ["a b?é"]


@pytest.mark.parametrize("mode", ["rejectoncontents", "append", "replace", "REPLACE", ""])
def test_an_empty_buffer_takes_a_collection_in_every_mode(site: Site, mode: str) -> None:
    assert site.admin.load("design", ONE, buffermode=mode).status == falcon.HTTP_201
    assert statuses(site) == {"design": "created"}


@pytest.mark.parametrize(
    ("mode", "collection", "code", "left"),
    [
        pytest.param("rejectoncontents", "other", 409, {"design": "created"}, id="reject another"),
        pytest.param("rejectoncontents", "design", 409, {"design": "created"}, id="reject the same"),
        pytest.param("append", "other", 201, {"design": "created", "other": "created"}, id="append another"),
        pytest.param("append", "design", 409, {"design": "created"}, id="append the same"),
        pytest.param("replace", "other", 201, {"other": "created"}, id="replace by another"),
        pytest.param("replace", "design", 201, {"design": "created"}, id="replace the same"),
    ],
)
def test_a_full_buffer(site: Site, mode: str, collection: str, code: int, left: dict[str, str]) -> None:
    site.admin.load("design", ONE)

    answer = site.admin.load(collection, TWO, buffermode=mode)

    assert answer.status_code == code
    assert statuses(site) == left
    if code == 409:
        assert answer.json["message"] == "Invalid collection specified for buffer"
        assert answer.json["reason"] == f"Buffermode : {mode}"
        assert answer.json["details"]["errorType"] == "ApiError"
        assert messages(answer)[0]["message"] == (
            "Buffer is either not empty or the collection already exists in buffer. Setting a different buffermode "
            "may provide the desired functionality"
        )


def test_the_default_mode_rejects(site: Site) -> None:
    site.admin.load("design", ONE)

    assert site.admin.load("other", TWO).status == falcon.HTTP_409
    assert site.admin.load("other", TWO, bufferMode="append").status == falcon.HTTP_409  # names are case sensitive


def test_append_takes_a_committed_collection_that_the_buffer_does_not_touch(site: Site) -> None:
    committed(site, "a", ONE)
    site.admin.load("b", TWO)

    assert site.admin.load("a", THREE, buffermode="append").status == falcon.HTTP_201
    assert statuses(site) == {"a": "modified", "b": "created"}


def test_replace_goes_back_to_what_is_committed(site: Site) -> None:
    committed(site, "a", ONE)
    site.admin.load("b", TWO)

    site.admin.load("c", THREE, buffermode="replace")

    assert statuses(site) == {"a": "unmodified", "c": "created"}


def test_a_load_leaves_out_what_it_does_not_name(site: Site) -> None:
    committed(site, "a", ONE, TWO)

    site.admin.load("a", TWO, THREE)

    held = read_documents(site.viewer.get("/configdocs/a").content)
    assert [one["metadata"]["name"] for one in held] == ["two", "three"]


@pytest.mark.parametrize("mode", ["rejectoncontents", "append", "replace"])
def test_what_is_committed_already_makes_no_revision(site: Site, mode: str) -> None:
    committed(site, "a", ONE, TWO)

    answer = site.admin.load("a", TWO, ONE, buffermode=mode)

    assert answer.status == falcon.HTTP_400
    assert answer.json["message"] == "Collection a not added to Shipyard buffer"
    assert answer.json["reason"] == "Collection created no new revision"
    assert statuses(site) == {"a": "unmodified"}


def test_an_emptied_collection_goes_with_the_next_commit(site: Site) -> None:
    committed(site, "a", ONE)

    answer = site.admin.post("/configdocs/a", empty_collection="True")

    assert answer.status == falcon.HTTP_201
    assert statuses(site) == {"a": "deleted"}
    read = site.viewer.get("/configdocs/a")
    assert (read.status, read.content) == (falcon.HTTP_200, b"")
    site.admin.commit(force="true")
    assert statuses(site) == {}
    gone = site.viewer.get("/configdocs/a", version="committed")
    assert (gone.status, gone.content) == (falcon.HTTP_200, b"")


def test_emptying_ignores_the_body(site: Site) -> None:
    committed(site, "a", ONE)

    assert site.admin.post("/configdocs/a", b"]not yaml", YAML, empty_collection="1").status == falcon.HTTP_201


def test_emptying_what_is_empty_changes_nothing(site: Site) -> None:
    answer = site.admin.post("/configdocs/a", empty_collection="true")

    assert (answer.status, answer.json["reason"]) == (falcon.HTTP_400, "Collection created no new revision")


def test_a_document_belongs_to_one_collection(site: Site) -> None:
    committed(site, "a", ONE)

    answer = site.admin.load("b", ONE)

    assert answer.status == falcon.HTTP_409
    assert answer.json["message"] == "Documents may not exist in more than one collection"
    assert answer.json["reason"] == "a/B/v1 'one' belongs to collection 'a'"


def test_the_content_type_of_a_load_does_not_matter(site: Site) -> None:
    body = write_documents([ONE])

    for kind in ("application/json", "text/plain", None):
        headers = {"Content-Type": kind} if kind else {}
        assert site.admin.post("/configdocs/a", body, headers, buffermode="replace").status == falcon.HTTP_201


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


def test_with_nothing_at_all_there_is_nothing_to_compare(site: Site) -> None:
    assert site.viewer.get("/configdocs").json == []


def test_a_comparison_tells_both_versions(site: Site) -> None:
    committed(site, "design", ONE)
    site.admin.load("extras", TWO)

    assert site.viewer.get("/configdocs").json == [
        {
            "collection_name": "design",
            "base_version": "committed",
            "base_revision": 1,
            "new_version": "buffer",
            "new_revision": 2,
            "new_status": "unmodified",
            "base_status": "present",
        },
        {
            "collection_name": "extras",
            "base_version": "committed",
            "base_revision": 1,
            "new_version": "buffer",
            "new_revision": 2,
            "new_status": "created",
            "base_status": "not present",
        },
    ]


def test_an_empty_buffer_counts_as_what_is_committed(site: Site) -> None:
    committed(site, "design", ONE)

    (entry,) = site.viewer.get("/configdocs").json

    assert (entry["base_revision"], entry["new_revision"], entry["new_status"]) == (1, 1, "unmodified")


def test_before_the_first_commit_the_base_is_revision_0(site: Site) -> None:
    site.admin.load("design", ONE)

    (entry,) = site.viewer.get("/configdocs").json

    assert (entry["base_revision"], entry["new_revision"], entry["new_status"]) == (0, 1, "created")


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


@pytest.mark.parametrize("version", ["successful_site_action", "last_site_action"])
def test_without_a_site_action_there_is_no_such_version(site: Site, version: str) -> None:
    committed(site, "a", ONE)

    answer = site.viewer.get("/configdocs", versions=[version, "committed"])

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_404, "Version does not exist")
    assert answer.json["reason"] == f"{version} version does not exist"
    assert answer.json["details"]["errorType"] == "AppError"


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


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("buffer", "The Shipyard buffer is empty or does not contain this collection"),
        ("committed", "No collection a for revision committed"),
        ("last_site_action", "No collection a for revision last_site_action"),
        ("successful_site_action", "No collection a for revision successful_site_action"),
    ],
)
def test_there_is_nothing_to_read_before_anything_was_loaded(site: Site, version: str, reason: str) -> None:
    answer = site.viewer.get("/configdocs/a", version=version)

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_404, "No documents to retrieve")
    assert answer.json["reason"] == reason


def test_the_buffer_only_has_what_it_changes(site: Site) -> None:
    committed(site, "a", ONE)
    site.admin.load("b", TWO)

    assert site.viewer.get("/configdocs/a").status == falcon.HTTP_404
    assert site.viewer.get("/configdocs/b").status == falcon.HTTP_200


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


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        ("0", []),
        ("1", ["one"]),
        ("%2B1", ["one"]),
        ("0000000000000000000001", ["one"]),
        ("-1", ["one"]),
        ("-7", ["one"]),
        ("", ["one", "two", "layering-policy"]),
        ("9" * 5000, ["one", "two", "layering-policy"]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_so_many_documents_of_a_design(site: Site, limit: str, names: list[str]) -> None:
    committed(site, "a", layering_policy(), ONE, TWO)

    answer = site.viewer.ask("GET", "/api/v1.0/revisions/1/rendered-documents", query=f"limit={limit}")

    assert [one["metadata"]["name"] for one in read_documents(answer.content)] == names


@pytest.mark.parametrize("revision", ["0", "2", "4294967296", "9999999999", "99999999999", "-1", "1.0", "x", "٣", ""])
def test_a_revision_that_is_not_there(site: Site, revision: str) -> None:
    committed(site, "a", layering_policy(), ONE)

    answer = site.viewer.get(f"/revisions/{revision}/rendered-documents")

    assert (answer.status, answer.json["message"]) == (falcon.HTTP_404, "Revision not found")


def test_a_real_round_commits_and_is_read_by_the_provisioner(site: Site) -> None:
    design = small_design()
    revision = site.commit(*design)

    answer = site.viewer.get(f"/revisions/{revision}/rendered-documents")

    shown = read_documents(answer.content)
    assert [{"schema": one["schema"], "data": one["data"]} for one in shown] == [
        {"schema": one["schema"], "data": one["data"]}
        for one in sorted(design, key=lambda one: (one["schema"], one["metadata"]["name"]))
    ]
    assert {tuple(one["status"].items()) for one in shown} == {(("bucket", "design"), ("revision", revision))}
