"""What would change: two versions compared document by document (seed 004, Shipyard Tag Releases)."""

from typing import Any

import falcon

from shipyard_api.domain.documents import RevisionTag
from tests.factories import document, layering_policy
from tests.integration.api.wire import Site, small_design

ONE = document("a/B/v1", "one", {"x": 1, "list": [1, 2, 3], "same": {"deep": True}})


def change(site: Site, *documents: dict[str, Any], collection: str = "extra") -> None:
    assert site.admin.load(collection, *documents, buffermode="replace").status == falcon.HTTP_201


def test_the_caller_chooses_what_is_compared_with_what(site: Site) -> None:
    """Revision 1 was acted on with success, 2 without; 3 is committed and 4 is in the buffer."""
    for number, tag in ((1, RevisionTag.SITE_ACTION_SUCCESS), (2, RevisionTag.SITE_ACTION_FAILURE), (3, None)):
        site.commit(*small_design([f"n{number}"]))
        if tag:
            site.designs.tag(site.designs.heads().head, tag.value, {})
    change(site, *small_design(["n4"]), collection="design")
    committed, successful = ("committed", 3), ("successful_site_action", 1)
    for query, base, new in (
        ("base-version=committed", committed, ("buffer", 4)),
        ("diff-version=buffer", committed, ("buffer", 4)),
        ("base-version=last_site_action&diff-version=committed", ("last_site_action", 2), committed),
        ("base-version=committed&diff-version=successful-site-action", committed, successful),
    ):
        (entry,) = site.viewer.ask("GET", "/api/v1.0/configdocs", query=query).json

        assert (entry["base_version"], entry["base_revision"]) == base
        assert (entry["new_version"], entry["new_revision"]) == new
        assert entry["new_status"] == "modified"
        nodes = {one["name"]: one["status"] for one in entry["documents"] if one["name"] != "layering-policy"}
        assert nodes == {f"n{base[1]}": "deleted", f"n{new[1]}": "created"}


def test_what_cannot_be_compared(site: Site) -> None:
    for query, code, message in (
        ("base-version=buffer", 400, "Invalid version detected"),
        ("diff-version=newest", 400, "Invalid version detected"),
        ("base-version=committed&diff-version=committed", 400, "Versions must be different for comparison"),
        ("base-version=committed&versions=committed", 400, "Incorrect number of versions for comparison"),
        ("base-version=committed&format=html", 400, "Invalid format"),
        ("base-version=last-site-action", 404, "Version does not exist"),
    ):
        answer = site.viewer.ask("GET", "/api/v1.0/configdocs", query=query)
        assert (answer.status_code, answer.json["message"]) == (code, message)
    site.admin.load("extra", ONE)  # without a layering policy
    answer = site.viewer.get("/configdocs", base_version="committed", rendered="true")
    assert (answer.status_code, answer.json["message"]) == (400, "Deckhand indicated an error while rendering")


def test_each_change_of_a_document_is_told_with_its_place(site: Site) -> None:
    site.admin.load("extra", layering_policy(), ONE)
    site.admin.commit(force="true")
    data = {"x": "1", "list": [1, 5], "same": {"deep": True}, "added": {"k": None}}
    change(site, layering_policy(), ONE | {"data": data}, document("a/B/v1", "two", {}))

    (entry,) = site.viewer.get("/configdocs", base_version="committed").json

    one, two = entry["documents"]
    assert two == {"schema": "a/B/v1", "name": "two", "layer": "site", "status": "created", "changes": []}
    assert (one["name"], one["status"]) == ("one", "modified")
    assert sorted(one["changes"], key=lambda told: told["path"]) == [
        {"kind": "dictionary_item_added", "path": "/data/added", "new": {"k": None}},
        {"kind": "values_changed", "path": "/data/list/1", "old": 2, "new": 5},
        {"kind": "iterable_item_removed", "path": "/data/list/2", "old": 3},
        {"kind": "type_changes", "path": "/data/x", "old": 1, "new": "1"},
    ]


def test_people_get_a_unified_diff(site: Site) -> None:
    site.admin.load("extra", layering_policy(), ONE)
    site.admin.commit(force="true")
    (entry,) = site.viewer.get("/configdocs", base_version="committed").json
    assert (entry["new_status"], entry["documents"]) == ("unmodified", [])
    assert site.viewer.get("/configdocs", base_version="committed", format="unified").text == ""
    change(site, layering_policy(), ONE | {"data": {**ONE["data"], "x": 2}}, document("a/B/v1", "two", {}))

    answer = site.viewer.get("/configdocs", base_version="committed", format="unified")

    assert answer.headers["Content-Type"] == "text/x-diff; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[:2] == ["--- a/extra/a/B/v1/site/one", "+++ b/extra/a/B/v1/site/one"]
    assert {"-  x: 1", "+  x: 2", "--- /dev/null", "+++ b/extra/a/B/v1/site/two"} <= set(lines)


def test_rendered_documents_can_be_compared(site: Site) -> None:
    taker = document(
        "a/Taker/v1",
        "taker",
        {},
        substitutions=[{"src": {"schema": "a/B/v1", "name": "one", "path": ".x"}, "dest": {"path": ".taken"}}],
    )
    site.admin.load("extra", layering_policy(), ONE, taker)
    site.admin.commit(force="true")
    change(site, layering_policy(), ONE | {"data": {**ONE["data"], "x": 2}}, taker)

    (written,) = site.viewer.get("/configdocs", base_version="committed").json
    (rendered,) = site.viewer.get("/configdocs", base_version="committed", rendered="true").json

    assert [one["name"] for one in written["documents"]] == ["one"]
    assert {one["name"]: one["changes"] for one in rendered["documents"]} == {
        name: [{"kind": "values_changed", "path": path, "old": 1, "new": 2}]
        for name, path in (("one", "/data/x"), ("taker", "/data/taken"))
    }


def test_a_secret_that_changed_shows_that_and_no_more(site: Site) -> None:
    def passphrase(data: str) -> dict[str, Any]:
        return document("deckhand/Passphrase/v1", "p", data, storagePolicy="encrypted")

    site.admin.load("extra", layering_policy(), passphrase("first-secret-words"))
    site.admin.commit(force="true")
    change(site, layering_policy(), passphrase("second-secret-words"))

    answers = [
        site.viewer.get("/configdocs", base_version="committed", rendered=rendered, format=form)
        for rendered in ("true", "false")
        for form in ("json", "unified")
    ]

    for answer in answers:
        assert "secret-words" not in answer.text
        assert "data" in answer.text
    (entry,) = answers[0].json
    (told,) = entry["documents"][0]["changes"]
    assert (told["kind"], told["path"], len(told["old"]), len(told["new"])) == ("values_changed", "/data", 64, 64)
