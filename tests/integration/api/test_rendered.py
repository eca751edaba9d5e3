"""Rendered designs over REST: by version, by revision with Deckhand's query, and who may see secrets in them."""

from typing import Any

import falcon

from shipyard_api.yaml_stream import read_documents
from tests.factories import document, layering_policy, node_document
from tests.integration.api.wire import Site, configuration, everything_said, messages, small_design

SECRET = "correct-horse-battery-staple"


def secret_design() -> list[dict[str, Any]]:
    """A passphrase that goes into a chart, which a second chart is made from, which a third takes a value of."""
    chart = {"password": "", "port": 80}
    return [
        layering_policy(),
        document("deckhand/Passphrase/v1", "admin", SECRET, storagePolicy="encrypted"),
        document(
            "a/Chart/v1",
            "parent",
            chart,
            labels={"name": "parent"},
            layeringDefinition={"abstract": True, "layer": "global"},
            substitutions=[
                {
                    "src": {"schema": "deckhand/Passphrase/v1", "name": "admin", "path": "."},
                    "dest": {"path": ".password"},
                }
            ],
        ),
        document(
            "a/Chart/v1",
            "child",
            {"port": 81},
            layeringDefinition={
                "layer": "site",
                "parentSelector": {"name": "parent"},
                "actions": [{"method": "merge", "path": "."}],
            },
        ),
        document(
            "a/Other/v1",
            "grandchild",
            {"port": 0},
            substitutions=[
                {"src": {"schema": "a/Chart/v1", "name": "child", "path": ".port"}, "dest": [{"path": ".port"}]}
            ],
        ),
        document("a/Plain/v1", "plain", {"x": 1}),
    ]


def shown(content: bytes) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in read_documents(content)}


def test_secrets_and_all_that_took_something_from_them_are_fingerprints(site: Site) -> None:
    site.admin.load("design", *secret_design())

    answers = [
        site.admin.get("/renderedconfigdocs"),
        site.viewer.get("/renderedconfigdocs", cleartext_secrets="False"),
        site.viewer.get("/revisions/1/rendered-documents"),
    ]

    for answer in answers:
        assert SECRET.encode() not in answer.content
        found = shown(answer.content)
        for name in ("admin", "child", "grandchild"):
            assert len(found[name]["data"]) == 64
            assert found[name]["metadata"]["storagePolicy"] == "encrypted"
        (taken,) = found["grandchild"]["metadata"]["substitutions"]
        assert taken == {
            "src": {"schema": "a/Chart/v1", "name": "child", "path": "***"},
            "dest": [{"path": "***"}],
        }
        assert found["plain"]["data"] == {"x": 1}
    assert len({answer.content for answer in answers}) == 1
    # What is written shows less, and is hidden where it is encrypted.
    source = shown(site.viewer.get("/configdocs/design").content)
    assert (len(source["admin"]["data"]), source["child"]["data"]) == (64, {"port": 81})
    assert source["parent"]["metadata"]["substitutions"][0]["src"]["path"] == "."
    # Clear text has a rule of its own, and a peer may read designs and nothing else.
    for address in ("/renderedconfigdocs", "/configdocs/design", "/revisions/1/rendered-documents"):
        assert site.viewer.get(address, cleartext_secrets="true").status == falcon.HTTP_403
        assert SECRET in site.admin.get(address, cleartext_secrets="true").text
    clear = shown(site.peer.get("/revisions/1/rendered-documents").content)
    assert set(clear) == {"layering-policy", "admin", "child", "grandchild", "plain"}
    assert clear["child"]["data"] == {"password": SECRET, "port": 81}
    assert clear["grandchild"]["data"] == {"port": 81}
    assert SECRET not in site.peer.get("/revisions/1/rendered-documents", cleartext_secrets="false").text
    for answer in (site.peer.get("/configdocs"), site.peer.get("/configdocs/design"), site.peer.load("x", {})):
        assert answer.status == falcon.HTTP_403
    # Sorting does not tell what is in a secret.
    secrets = [
        document("deckhand/Passphrase/v1", f"p{data}", data, storagePolicy="encrypted") for data in ("c", "a", "b", "d")
    ]
    site.admin.load("others", *secrets, buffermode="append")
    address, query = "/api/v1.0/revisions/2/rendered-documents", "schema=deckhand/Passphrase&sort=data"
    hidden, clear = (
        [one["data"] for one in read_documents(caller.ask("GET", address, query=query).content)]
        for caller in (site.viewer, site.admin)
    )
    assert hidden == sorted(hidden)
    assert clear == ["a", "b", "c", SECRET, "d"]
    # A changed secret shows as changed, and the revision before it is served as it was.
    changed = [one | {"data": "another"} if one["schema"].endswith("Passphrase/v1") else one for one in secret_design()]
    site.admin.load("design", *changed, buffermode="replace")
    assert shown(site.viewer.get("/renderedconfigdocs").content)["admin"]["data"] != found["admin"]["data"]
    assert site.viewer.get("/revisions/1/rendered-documents").content == answers[0].content


def test_deckhands_query(site: Site) -> None:
    """One of each parameter; what they select is in tests/unit/domain/documents/test_queries.py."""
    site.admin.load(
        "design",
        layering_policy(),
        document("a/B/v1", "one", {"x": 2}, labels={"k": "v"}),
        document("a/B/v2", "two", {"x": 1}, layeringDefinition={"layer": "global"}),
        document("a/C/v1", "three", {"x": 3}, labels={"k": "v", "l": "w"}),
    )
    address = "/api/v1.0/revisions/1/rendered-documents"
    for query, names in {
        "": ["one", "two", "three", "layering-policy"],
        "schema=a/B/v1&schema=a/C/v1": ["one", "three"],
        "metadata.name=one&metadata.name=three": ["one", "three"],
        "metadata.label=k=v&metadata.label=l=w": ["three"],
        "metadata.layeringDefinition.layer=global": ["two"],
        "status.bucket=none": [],
        "schema=a&sort=metadata.name&order=desc&limit=2": ["two", "three"],
        "schema=a&sort=data.x&limit=-1": ["two"],
    }.items():
        answer = site.viewer.ask("GET", address, query=query)
        assert [one["metadata"]["name"] for one in read_documents(answer.content)] == names, query
    for query in ("limit=many", "order=up", "metadata.label=k", "cleartext-secrets=perhaps"):
        assert site.viewer.ask("GET", address, query=query).status == falcon.HTTP_400, query


def broken_design() -> list[dict[str, Any]]:
    gone = {"src": {"schema": "a/B/v1", "name": "gone", "path": "."}, "dest": {"path": ".x"}}
    return [*small_design(), document("a/B/v1", "taker", {}, substitutions=[gone]), node_document("n9")]


def test_a_design_that_cannot_be_rendered_names_documents_and_places(site: Site) -> None:
    site.admin.load("design", *broken_design())

    by_version, by_revision = (
        site.viewer.get("/renderedconfigdocs"),
        site.viewer.get("/revisions/1/rendered-documents"),
    )

    assert (by_version.status, by_revision.status) == (falcon.HTTP_500, falcon.HTTP_400)
    for answer in (by_version, by_revision):
        assert answer.json["message"] == "Deckhand indicated an error while rendering"
        (said,) = messages(answer)
        assert said["name"] == "SubstitutionSourceNotFound"
        assert said["documents"] == [
            {"schema": "a/B/v1", "name": "taker", "layer": "site", "path": "/metadata/substitutions/0"}
        ]
        assert said["path"] == "/metadata/substitutions/0"
    committed = site.admin.commit()
    assert committed.status == falcon.HTTP_400
    assert [entry["name"] for entry in messages(committed)] == ["SubstitutionSourceNotFound"]
    assert site.drydock.requests == []


def test_a_design_that_breaks_its_own_schemas_is_refused_without_telling_secrets(site: Site) -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string", "maxLength": 3}}}
    kind = {
        "schema": "deckhand/DataSchema/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "a/Chart/v1"},
        "data": schema,
    }
    site.admin.load("design", *secret_design(), kind, configuration())

    answer = site.admin.commit()

    assert [entry["name"] for entry in messages(answer)] == ["D002"]
    assert SECRET not in everything_said(answer)
    assert "rule /properties/password/maxLength" in messages(answer)[0]["message"]
    # Nor may a deployment document be secret.
    source = {"schema": "deckhand/Passphrase/v1", "name": "admin", "path": "."}
    tainted = configuration()
    tainted["metadata"]["substitutions"] = [{"src": source, "dest": {"path": ".armada.manifest"}}]
    site.admin.load("design", *secret_design(), tainted, buffermode="replace")
    answer = site.admin.commit()
    assert [entry["name"] for entry in messages(answer)] == ["SecretInDeploymentDocument"]
    assert SECRET not in everything_said(answer)


def test_a_value_is_explained_down_to_where_it_was_written(site: Site) -> None:
    source = document("a/Plain/v1", "source", {"deep": {"url": "http://a"}})
    taken = {"src": {"schema": "a/Plain/v1", "name": "source", "path": ".deep"}, "dest": {"path": ".x"}}
    user = document("a/Plain/v1", "user", {}, substitutions=[taken])
    revision = site.commit(*small_design(), source, user)
    query = {"schema": "a/Plain/v1", "metadata.name": "user", "explain": "/data/x/url"}

    by_version = site.viewer.get("/renderedconfigdocs", version="committed", **query)
    by_revision = site.viewer.get(f"/revisions/{revision}/rendered-documents", **query)

    assert by_version.status == falcon.HTTP_200
    assert by_version.json == by_revision.json
    user_value, source_value = by_version.json["values"]
    number = len(small_design()) + 1
    assert {key: source_value[key] for key in ("name", "collection", "number", "revision", "path", "value")} == {
        "name": "source",
        "collection": "design",
        "number": number,
        "revision": revision,
        "path": "/data/deep/url",
        "value": "http://a",
    }
    assert [(step["kind"], step["path"], step["from"]) for step in user_value["steps"]] == [
        ("substitution", "/metadata/substitutions/0", 1)
    ]
    assert [step["kind"] for step in source_value["steps"]] == ["written"]
    printed = site.viewer.get("/configdocs/design", version="committed").content
    text = printed.decode().split("---\n")[number]
    # Without the two parts that a store adds, the lines are those of the document.
    assert text.splitlines()[source_value["line"] - 1] == "    url: http://a"
    for query, code, said in (
        ({"metadata.name": "n1", "explain": "/data/nowhere"}, 404, "'n1' has nothing at /data/nowhere; /data has "),
        # "metadata" is a part of "/data", and none of "/data/nowhere".
        ({"metadata.name": "n1", "explain": "/data/nowhere/metadata"}, 404, "/data/nowhere/metadata; /data has "),
        ({"metadata.name": "n1", "explain": "/data/metadata/nowhere"}, 404, "/nowhere; /data/metadata has "),
        ({"metadata.name": "n9", "explain": "/data"}, 404, "has no document with the name n9"),
        ({"schema": "drydock/BaremetalNode/v1", "explain": "/data"}, 404, "several documents fit; name one: "),
        ({"metadata.name": "n1", "explain": "data"}, 400, "explain"),
        ({"metadata.name": "n1", "explain": "/metadata"}, 400, "explain"),
    ):
        answer = site.viewer.get("/renderedconfigdocs", version="committed", **query)
        assert answer.status_code == code
        assert said in everything_said(answer)


def test_an_explanation_shows_no_secret_and_no_name_within_one(site: Site) -> None:
    site.commit(*small_design(), *secret_design()[1:])

    answers = [
        caller.get("/renderedconfigdocs", version="committed", explain=path, **{"metadata.name": name})
        for caller in (site.admin, site.viewer)
        for name, path in (("admin", "/data"), ("child", "/data/password"), ("child", "/data/nothing"))
    ]

    for answer in answers:
        assert answer.status == falcon.HTTP_200
        assert SECRET not in answer.text
        assert {value["path"] for value in answer.json["values"]} == {"/data"}
        assert all("value" not in value for value in answer.json["values"])
