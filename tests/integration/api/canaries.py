"""Secrets that are planted everywhere a secret can be, and words by which they are found wherever they must not be."""

from typing import Any

from tests.factories import document, layering_policy, node_document
from tests.integration.api.wire import configuration

WORDS = ("canary-text", "canary-in-a-mapping", "canary-key", "canary-on-line-two", "canary-number-73917391")
TEXT = "canary-text-Zq8"


def _encrypted(schema: str, name: str, data: Any, **metadata: Any) -> dict[str, Any]:
    return document(schema, name, data, storagePolicy="encrypted", **metadata)


def _take(schema: str, name: str, path: str, *destinations: dict[str, Any], **source: Any) -> dict[str, Any]:
    return {"src": {"schema": schema, "name": name, "path": path, **source}, "dest": list(destinations)}


def design() -> list[dict[str, Any]]:
    """A sound design whose secrets go into other documents in every way there is."""
    return [
        layering_policy(),
        configuration(),
        _encrypted("deckhand/Passphrase/v1", "text", TEXT),
        _encrypted("a/Secret/v1", "mapping", {"canary-key": "canary-in-a-mapping", "id": "canary-number-73917391"}),
        _encrypted("deckhand/PrivateKey/v1", "lines", "first line\ncanary-on-line-two\n"),
        document(
            "a/Chart/v1",
            "parent",
            {"url": "http://user:PASSWORD@host", "all": None},
            labels={"name": "parent"},
            layeringDefinition={"abstract": True, "layer": "global"},
            substitutions=[
                _take("deckhand/Passphrase/v1", "text", ".", {"path": ".url", "pattern": "PASSWORD"}),
                _take("a/Secret/v1", "mapping", ".", {"path": ".all"}),
                _take("deckhand/PrivateKey/v1", "lines", ".", {"path": ".lines"}, pattern="canary.*"),
            ],
        ),
        document(
            "a/Chart/v1",
            "child",
            {"port": 1},
            layeringDefinition={
                "layer": "site",
                "parentSelector": {"name": "parent"},
                "actions": [{"method": "merge", "path": ".port"}],
            },
        ),
        node_document("n1"),
        document("drydock/HostProfile/v1", "profile", {}, substitutions=[
            _take("deckhand/Passphrase/v1", "text", ".", {"path": ".oob.credential"}),
        ]),
    ]  # fmt: skip


def broken() -> dict[str, list[dict[str, Any]]]:
    """Designs that are refused at a commit, each for what is done with a secret."""
    schema = {"type": "object", "additionalProperties": False, "properties": {"id": {"enum": ["x"]}}}
    return {
        "data schema": [
            {
                "schema": "deckhand/DataSchema/v1",
                "metadata": {"schema": "metadata/Control/v1", "name": "a/Secret/v1"},
                "data": schema,
            }
        ],
        "no place": [
            document("a/B/v1", "b", {"x": "text"}, substitutions=[
                _take("a/Secret/v1", "mapping", ".", {"path": ".x.y"}),
                _take("a/Secret/v1", "mapping", ".", {"path": ".x", "pattern": "text"}),
                _take("a/Secret/v1", "mapping", ".nothing", {"path": ".x"}),
                _take("a/Secret/v1", "mapping", ".", {"path": ".z"}, pattern="a"),
            ])
        ],
        "no action": [
            document("a/Chart/v1", "other", {}, layeringDefinition={
                "layer": "site",
                "parentSelector": {"name": "parent"},
                "actions": [{"method": "delete", "path": ".nothing"}, {"method": "replace", "path": ".all"}],
            })
        ],
        "in the configuration": [
            document("shipyard/DeploymentStrategy/v1", "deployment-strategy", {}, substitutions=[
                _take("deckhand/Passphrase/v1", "text", ".", {"path": ".groups"}),
            ])
        ],
    }  # fmt: skip


def malformed() -> dict[str, bytes]:
    """Bodies that are refused at a load, with a secret in what is wrong with them."""
    head = "schema: deckhand/Passphrase/v1\nmetadata: {schema: metadata/Document/v1, name: p, storagePolicy: encrypted"
    layer = ", layeringDefinition: {layer: site}}\n"
    return {
        "data of another kind": f"{head}{layer}data: [{TEXT}]\n".encode(),
        "syntax": f"{head}{layer}data: [{TEXT}\n".encode(),
        "a number that is none": f"{head}{layer}data: !!int {TEXT}\n".encode(),
        "a tag": f"{head}{layer}data: !x {TEXT}\n".encode(),
        "quotes": f'{head}{layer}data: "{TEXT}\n'.encode(),
        "not UTF-8": f"{head}{layer}data: {TEXT}".encode() + b"\xff\n",
        "no layer": f"{head}}}\ndata: {TEXT}\n".encode(),
        "twice": f"{head}{layer}data: {TEXT}\n---\n{head}{layer}data: {TEXT}\n".encode(),
    }


def found_in(text: bytes | str) -> list[str]:
    """The words that stand in a text, as they are or as their bytes in hex."""
    raw = text.encode() if isinstance(text, str) else text
    return [word for word in WORDS if word.encode() in raw or word.encode().hex().encode() in raw.lower()]
