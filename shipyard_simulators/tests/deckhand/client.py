"""A client of a running Deckhand simulator, and the documents that tests send."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import requests
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.waiting import PATIENCE

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


Start = Callable[..., Deckhand]
