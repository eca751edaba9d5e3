"""The OpenAPI document, and whether an answer is one that it describes."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

import yaml
from falcon.testing import Result
from jsonschema_rs import Draft202012Validator, Registry

from shipyard_api.wiring.settings import share_directory
from shipyard_api.yaml_stream import read_documents

_BASE = "urn:shipyard:openapi"
# Of the protocol, and what every answer has for the sake of browsers; the document describes what clients read.
_OF_HTTP = {
    *("content-type", "content-length", "content-encoding", "vary", "cache-control"),
    *("x-content-type-options", "referrer-policy", "content-security-policy", "cross-origin-resource-policy"),
}
METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


@cache
def read(name: str = "openapi") -> dict[str, Any]:
    """The document of a site, or another one."""
    text = (share_directory() / "schemas" / f"{name}.yaml").read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return document


def operations(document: Mapping[str, Any] | None = None) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every operation with its method and path."""
    for path, item in (document or read())["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def airship_operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Those of the dialect whose errors are Status objects; templates and software have their own rules and tests."""
    return (one for one in operations() if not {"templates", "software"}.intersection(one[2]["tags"]))


def at(pointer: str) -> Any:
    """What a local reference (``#/components/…``) stands for."""
    found: Any = read()
    for part in pointer.removeprefix("#/").split("/"):
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        found = found[key]
    return found


def check(method: str, path: str, answer: Result) -> None:
    """Assert that the document describes this answer: its code, headers, content type and body.

    Answers to what is not described are passed over: unknown addresses and methods.
    """
    template = _template(path)
    if template is None or method.lower() not in read()["paths"][template]:
        assert answer.status_code in (200, 400, 404, 405), f"{method} {path}: {answer.status}"
        return
    pointer = f"#/paths/{escape(template)}/{method.lower()}/responses/{answer.status_code}"
    responses = read()["paths"][template][method.lower()]["responses"]
    assert str(answer.status_code) in responses, f"{method} {template} does not describe {answer.status}: {answer.text}"
    response = responses[str(answer.status_code)]
    if "$ref" in response:
        pointer = response["$ref"]
        response = at(pointer)
    for header, reference in response["headers"].items():
        shape = at(reference["$ref"]) if "$ref" in reference else reference
        assert answer.headers.get(header) or not shape.get("required"), f"{method} {template}: no {header}"
    described = {name.lower() for name in response["headers"]} | _OF_HTTP
    undescribed = {name for name in answer.headers if name.lower() not in described}
    assert undescribed == set(), f"{method} {template}, {answer.status}: {undescribed} are not described"
    if "content" not in response:
        assert answer.content == b""
        return
    kind = answer.headers["Content-Type"]
    assert kind in response["content"], f"{method} {template}: {kind} is not described"
    if kind.startswith("text/"):
        return
    # What clients know as JSON can be plain text.
    if response["content"][kind]["schema"].get("contentMediaType") == "text/plain":
        value: Any = answer.text
    else:
        value = (
            answer.json if kind in ("application/json", "application/problem+json") else read_documents(answer.content)
        )
    used = validator(f"{pointer}/content/{escape(kind)}/schema")
    faults = [f"{list(fault.instance_path)}: {fault.message}" for fault in used.iter_errors(value)]
    assert faults == [], f"{method} {template}, {answer.status}: {answer.text}"


@cache
def validator(pointer: str) -> Draft202012Validator:
    """A validator of the schema at a place of the document."""
    return Draft202012Validator({"$ref": f"{_BASE}{pointer}"}, registry=_registry())


@cache
def _registry() -> Registry:
    return Registry([(_BASE, read())])


@cache
def _template(path: str) -> str | None:
    for template in sorted(read()["paths"], key=lambda one: one.count("{")):
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]*", re.escape(template)), path):
            return str(template)
    return None


def escape(part: str) -> str:
    """A key as one segment of a reference."""
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D").replace(" ", "%20")
