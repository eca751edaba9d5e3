"""Node lists: selected by label or name, in pages of one version."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any

import falcon

from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import ApiError, bad_request, expired
from shipyard_simulators.kubernetes.node import Object

_REQUIREMENT = re.compile(r"\s*(?P<not>!?)\s*(?P<key>[^=!,\s]+)\s*(?:(?P<how>==|=|!=)\s*(?P<value>[^=!,\s]*)\s*)?")
_PRESENT = -1  # the version of a continuation that reads the current list
_FIELDS: dict[str, Callable[[Object], str]] = {
    "metadata.name": lambda node: str(node["metadata"]["name"]),
    "spec.unschedulable": lambda node: str(bool(node["spec"].get("unschedulable"))).lower(),
}


def list_nodes(cluster: SimulatedCluster, req: falcon.Request) -> dict[str, Any]:
    """Return the NodeList that the query asks for. Raises ApiError."""
    if req.get_param("watch") not in (None, "", "0", "false"):
        raise bad_request("this simulator does not stream: list the nodes again instead of watching them")
    limit = _number(req.get_param("limit"))
    following, version = req.get_param("continue"), req.get_param("resourceVersion") or ""
    if version and not (version.isascii() and version.isdecimal()):
        raise ApiError(500, "", f'resourceVersion: Invalid value: "{version}": it is no number')
    if following and version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    moment, start = _decoded(following) if following else (cluster.version, "")
    if moment == _PRESENT:
        moment = cluster.version
    elif following and moment not in cluster.kept:
        raise expired(_encoded(_PRESENT, start))
    nodes = cluster.kept.get(moment) or sorted(cluster.nodes.values(), key=_name)
    tests = _label_tests(req.get_param("labelSelector") or "") + _field_tests(req.get_param("fieldSelector") or "")
    found = [node for node in nodes if _name(node) >= start and all(test(node) for test in tests)]
    page = found[:limit] if limit > 0 else found
    metadata: dict[str, Any] = {"resourceVersion": str(moment)}
    if len(page) < len(found):
        cluster.keep(moment, nodes)
        metadata["continue"] = _encoded(moment, _name(page[-1]) + "\0")
        if not tests:
            metadata["remainingItemCount"] = len(found) - len(page)
    # In a list, entries have no kind: the list has it.
    items = [{key: value for key, value in node.items() if key not in ("kind", "apiVersion")} for node in page]
    return {"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": items}


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _number(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError as cause:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from cause


def _encoded(moment: int, start: str) -> str:
    token = json.dumps({"v": "meta.k8s.io/v1", "rv": moment, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")


def _decoded(text: str) -> tuple[int, str]:
    try:
        token = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        return int(token["rv"]), str(token["start"])
    except (binascii.Error, ValueError, KeyError, TypeError) as cause:
        raise bad_request(f"invalid continue token: continue key is not valid: {cause}") from cause


def _label_tests(selector: str) -> list[Callable[[Object], bool]]:
    tests = []
    for part in selector.split(",") if selector.strip() else ():
        found = _REQUIREMENT.fullmatch(part)
        if not found or (found["not"] and found["how"]):
            raise bad_request(f"unable to parse requirement: {part.strip()!r} is not one of key, !key, =, ==, !=")
        tests.append(_label_test(found["key"], "!" if found["not"] else found["how"] or "", found["value"] or ""))
    return tests


def _label_test(key: str, how: str, value: str) -> Callable[[Object], bool]:
    def test(node: Object) -> bool:
        labels = node["metadata"].get("labels") or {}
        if how in ("", "!"):
            return (key in labels) == (how == "")
        return (labels.get(key) == value) == (how != "!=")

    return test


def _field_tests(selector: str) -> list[Callable[[Object], bool]]:
    tests = []
    for part in selector.split(",") if selector.strip() else ():
        found = _REQUIREMENT.fullmatch(part)
        if not found or found["not"] or not found["how"]:
            raise bad_request(f"invalid selector: {part.strip()!r}; can't understand it")
        if found["key"] not in _FIELDS:
            raise bad_request(f"field label not supported: {found['key']}")
        tests.append(_field_test(_FIELDS[found["key"]], found["how"], found["value"]))
    return tests


def _field_test(field: Callable[[Object], str], how: str, value: str) -> Callable[[Object], bool]:
    return lambda node: (field(node) == value) == (how != "!=")
