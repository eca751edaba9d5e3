"""Lists of objects: selected by label or field, in pages of one version."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import falcon

from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import ApiError, bad_request, expired
from shipyard_simulators.kubernetes.kinds import NODES, PODS, Kind
from shipyard_simulators.kubernetes.node import Object

_REQUIREMENT = re.compile(r"\s*(?P<not>!?)\s*(?P<key>[^=!,\s]+)\s*(?:(?P<how>==|=|!=)\s*(?P<value>[^=!,\s]*)\s*)?")
_PRESENT = -1  # the version of a continuation that reads the current list
_COMMON: dict[str, Callable[[Object], str]] = {
    "metadata.name": lambda each: str(each["metadata"]["name"]),
    "metadata.namespace": lambda each: str(each["metadata"].get("namespace", "")),
}
_FIELDS: dict[str, dict[str, Callable[[Object], str]]] = {
    NODES.resource: {
        **_COMMON,
        "spec.unschedulable": lambda node: str(bool(node["spec"].get("unschedulable"))).lower(),
    },
    PODS.resource: {
        **_COMMON,
        "spec.nodeName": lambda pod: str(pod["spec"].get("nodeName", "")),
        "status.phase": lambda pod: str(pod["status"].get("phase", "")),
    },
}


def list_objects(
    cluster: SimulatedCluster, req: falcon.Request, kind: Kind, objects: Callable[[], Iterable[Object]]
) -> dict[str, Any]:
    """Return the list of a kind that the query asks for; ``objects``: the current ones. Raises ApiError."""
    if req.get_param("watch") not in (None, "", "0", "false"):
        raise bad_request("this simulator does not stream: list the objects again instead of watching them")
    limit = _number(req.get_param("limit"))
    following, version = req.get_param("continue"), req.get_param("resourceVersion") or ""
    if version and not (version.isascii() and version.isdecimal()):
        raise ApiError(
            500,
            "",
            f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax',
        )
    if following and version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    moment, start = _decoded(following) if following else (cluster.version, "")
    if moment == _PRESENT:
        moment = cluster.version
    elif following and (moment, req.path) not in cluster.kept:
        raise expired(_encoded(_PRESENT, start))
    listed = (following and cluster.kept.get((moment, req.path))) or sorted(objects(), key=_key)
    fields = _FIELDS.get(kind.resource, _COMMON)
    tests = _label_tests(req.get_param("labelSelector") or "")
    tests += _field_tests(req.get_param("fieldSelector") or "", fields)
    found = [each for each in listed if _key(each) >= start and all(test(each) for test in tests)]
    page = found[:limit] if limit > 0 else found
    metadata: dict[str, Any] = {"resourceVersion": str(moment)}
    if len(page) < len(found):
        cluster.keep((moment, req.path), listed)
        metadata["continue"] = _encoded(moment, _key(page[-1]) + "\0")
        if not tests:
            metadata["remainingItemCount"] = len(found) - len(page)
    # In a list, entries have no kind: the list has it.
    items = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in page]
    return {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items}


def _key(each: Object) -> str:
    metadata = each["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if "namespace" in metadata else str(metadata["name"])


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
    def test(each: Object) -> bool:
        labels = each["metadata"].get("labels") or {}
        if how in ("", "!"):
            return (key in labels) == (how == "")
        return (labels.get(key) == value) == (how != "!=")

    return test


def _field_tests(selector: str, fields: Mapping[str, Callable[[Object], str]]) -> list[Callable[[Object], bool]]:
    tests = []
    for part in selector.split(",") if selector.strip() else ():
        found = _REQUIREMENT.fullmatch(part)
        if not found or found["not"] or not found["how"]:
            raise bad_request(f"invalid selector: {part.strip()!r}; can't understand {part.strip()!r}")
        if found["key"] not in fields:
            raise bad_request(f"field label not supported: {found['key']}")
        tests.append(_field_test(fields[found["key"]], found["how"], found["value"]))
    return tests


def _field_test(field: Callable[[Object], str], how: str, value: str) -> Callable[[Object], bool]:
    return lambda each: (field(each) == value) == (how != "!=")
