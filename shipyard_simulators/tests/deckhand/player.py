"""Stories of Deckhand's API, written from its contract.

A path is one below the base path, unless it is at the root. ``send``: the documents of a bucket, or another body;
``raw``: a text instead; ``with``: headers, where null is none. ``each``: of a list of documents the names in order, or
this member by name, without control documents. An error is its ``fault``, the class of the error, with the count of
findings by document; with ``show``, it is the named members of its body. The status of no answer is 0.
``{sha256: value}`` is the hash of a value.

A document is flat: its metadata and layering are beside its data, and what every document needs is filled in. One
with ``metadata`` is sent as it is. The other steps:

- ``put``: fills buckets, each in a revision of its own
- ``query``: the names of the documents that a query selects ``of`` a revision, raw and rendered alike
- ``render``: writes a layering policy and these documents, and reads all rendered data by name, or that ``of`` one
- ``find``: whether the text of the answer to the request ``in`` holds this text
"""

import copy
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from shipyard_simulators.tests.recorded import Answer, Step

MEDIA_TYPE = "application/x-yaml"
FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
POLICY = {"schema": "deckhand/LayeringPolicy/v1", "name": "policy", "data": {"layerOrder": ["global", "type", "site"]}}

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LAYERING = ("layer", "abstract", "parentSelector", "actions")
_CONTROL = ("deckhand/LayeringPolicy/", "deckhand/DataSchema/", "deckhand/ValidationPolicy/")
_TIME = re.compile(r"(?<=createdAt: ')\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?=')")
_REFERENCE, _HASH = re.compile(r'"(http://[^"]+)"'), re.compile(r'"([0-9a-f]{64})"')
_ERROR = {"kind", "apiVersion", "metadata", "status", "code", "message", "reason", "retry", "details"}
_FINDING = {"kind", "level", "name", "documents", "diagnostic"}


class DeckhandPlayer:
    """Plays stories to a Deckhand."""

    unordered = ()
    hidden: Mapping[str, re.Pattern[str]] = MappingProxyType({})

    def __init__(self, url: str, send: Callable[[str, str, bytes | None, dict[str, Any]], Answer]) -> None:
        self.url, self._send = url, send
        self._references: set[str] = set()

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        answer = self._call(method, path, body, step)
        documents = _documents(answer)
        if answer.status >= 400:
            shown = _error(answer, documents[0], step.get("show"))
        elif path.partition("?")[0].endswith("documents"):
            shown = _each(documents, step.get("each")) if documents else None
        else:
            shown = documents[0] if documents else None
        return replace(answer, text="" if shown is None else self._unhashed(json.dumps(shown), step.get("body")))

    def act(self, step: Step) -> Any:
        """Carry out a step that is no request."""
        if "put" in step:
            for bucket, documents in step["put"].items():
                self._put(bucket, documents)
            return None
        if "find" in step:
            return step["find"] in self._call(*step["in"].split(" ", 1), None, {}).text
        if "query" in step:
            raw, rendered = (self._names(step, kind) for kind in ("documents", "rendered-documents"))
            return raw if raw == rendered else {"raw": raw, "rendered": rendered}
        return self._rendered(step["render"], step.get("of"))

    def told(self, _status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded."""
        return dict(body)

    def _put(self, bucket: str, documents: list[Any]) -> int:
        answer = self.ask("PUT", f"/buckets/{bucket}/documents", documents, {})
        assert answer.status == 200, answer
        return int(json.loads(answer.text)[0]["status"]["revision"])

    def _names(self, step: Step, kind: str) -> Any:
        answer = self.ask("GET", f"/revisions/{step['of']}/{kind}?{step['query']}", None, {"each": "name"})
        return json.loads(answer.text or "[]")

    def _rendered(self, documents: list[Any], name: str | None) -> Any:
        policy = [] if any(each.get("schema") == POLICY["schema"] for each in documents) else [POLICY]
        revision = self._put("b", [*policy, *documents])
        answer = self.ask("GET", f"/revisions/{revision}/rendered-documents", None, {"each": "data"})
        shown = json.loads(answer.text)
        if answer.status >= 400:
            return f"{answer.status} {shown['fault']}"
        return shown[name] if name else shown

    def _unhashed(self, text: str, told: Any) -> str:
        """Return an answer with what was hashed in place of the hash."""
        known = {hashed(value): value for value in (*_to_hash(told), *self._references)}
        self._references.update(_REFERENCE.findall(text))
        return _HASH.sub(lambda found: json.dumps({"sha256": known[found[1]]} if found[1] in known else found[1]), text)

    def _call(self, method: str, path: str, body: Any, step: Step) -> Answer:
        base = "" if path.startswith(("/versions", "/simulator")) else "/api/v1.0"
        bodies = [document(each) for each in body] if method == "PUT" and body else [body] if body else []
        text = step.get("raw", yaml.dump_all(bodies, Dumper=_DUMPER, sort_keys=False) if bodies else "")
        typed = {"Content-Type": MEDIA_TYPE} if "raw" in step or body is not None else {}
        headers = {"X-Auth-Token": "any", **typed, **step.get("with", {})}
        return self._send(method, base + path, text.encode() or None, headers)


def document(flat: Any) -> Any:
    """Return the document that a story describes."""
    if not isinstance(flat, dict) or "metadata" in flat:
        return flat
    flat = {"schema": "example/Kind/v1", "data": {}, **copy.deepcopy(flat)}
    schema, data = flat.pop("schema"), flat.pop("data")
    layering = {key: flat.pop(key) for key in _LAYERING if key in flat}
    if "parentSelector" in layering:
        layering.setdefault("actions", [{"method": "merge", "path": "."}])
    for each in flat.get("substitutions", ()):
        each["src"].setdefault("schema", "example/Kind/v1")
    metadata = {"schema": "metadata/Control/v1", **flat}
    if not schema.startswith(_CONTROL):
        layering.setdefault("layer", "site")
        usual = {"schema": "metadata/Document/v1", "storagePolicy": "cleartext", "layeringDefinition": layering}
        metadata = {**usual, **flat}
    return {"schema": schema, "metadata": metadata, "data": data}


def stories() -> Iterator[tuple[str, Any]]:
    """Return all stories, each with its full name."""
    for file in sorted((Path(__file__).parent / "stories").glob("*.yaml")):
        for story in yaml.load(file.read_bytes(), Loader=FAST):
            yield f"{file.stem}: {story['story']}", story


def hashed(value: Any) -> str:
    """Return the hash of a redacted value."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def _documents(answer: Answer) -> list[Any]:
    try:
        documents = list(yaml.load_all(_TIME.sub("<created>", answer.text), Loader=FAST))
    except yaml.YAMLError:
        return ["no YAML"]
    # A stream has a separator between documents, and none before the first.
    assert len(re.findall("^---", answer.text, re.MULTILINE)) == max(len(documents) - 1, 0), answer.text
    return documents


def _error(answer: Answer, error: Any, show: list[str] | None) -> dict[str, Any]:
    if answer.headers.get("Content-Type") != MEDIA_TYPE:
        return {"body": error}
    entries = error["details"]["messageList"]
    more = _FINDING if error["reason"] == "Validation" else set()
    assert set(error) == _ERROR, error
    assert error["code"].split(" ")[0] == str(answer.status), error
    assert error["retry"] == (answer.status == 500), error
    assert error["details"]["errorCount"] == len(entries) > 0, error
    assert all(set(each) == {"message", "error", *more} for each in entries), error
    if show:
        return {"body": {name: error[name] for name in show}}
    wrong = Counter(f"{each['name']} {each['documents'][0]['name']}" for each in entries if more)
    counts = ", ".join(f"{count} {found}" for found, count in wrong.items())
    return {"fault": ": ".join(filter(None, [error["details"]["errorType"], counts]))}


def _each(documents: list[Any], member: str | None) -> Any:
    if member == "name":
        return [each["metadata"]["name"] for each in documents]
    if member:
        plain = [each for each in documents if each["metadata"]["schema"] != "metadata/Control/v1"]
        return {each["metadata"]["name"]: reduce(getitem, member.split("."), each) for each in plain}
    return [{**each, "id": type(each["id"]).__name__} if "id" in each else each for each in documents]


def _to_hash(value: Any) -> Iterator[Any]:
    if isinstance(value, dict) and set(value) == {"sha256"}:
        yield value["sha256"]
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _to_hash(member)
