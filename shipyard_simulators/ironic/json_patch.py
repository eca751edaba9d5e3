"""JSON Patch as Ironic accepts it: add, replace and remove; all or nothing."""

import re
from copy import deepcopy
from typing import Any

from shipyard_simulators.ironic.errors import IronicError, invalid

_OPERATIONS = ("add", "replace", "remove")
_PATH = re.compile(r"(/[\w-]+)+")
_MISSING = object()


def check_patch(patch: object) -> list[dict[str, Any]]:
    """Return the patch if it is well-formed; otherwise raise IronicError."""
    if not isinstance(patch, list):
        raise invalid(f"Schema error for patch: {patch!r} is not of type 'array'")
    for change in patch:
        if not isinstance(change, dict) or not {"op", "path"} <= set(change):
            raise invalid(f"Schema error for patch: {change!r} needs 'op' and 'path'")
        unknown = [key for key in change if key not in ("op", "path", "value")]
        if unknown:
            text = f"Additional properties are not allowed ({unknown[0]!r} was unexpected)"
            raise invalid(f"Schema error for patch: {text}")
        if change["op"] not in _OPERATIONS:
            raise invalid(f"Schema error for patch: {change['op']!r} is not one of {list(_OPERATIONS)}")
        if not isinstance(change["path"], str) or not _PATH.fullmatch(change["path"]):
            raise invalid(f"Schema error for patch: {change['path']!r} does not match '^(/[\\\\w-]+)+$'")
    return patch


def root_of(change: dict[str, Any]) -> str:
    """Return the first segment of the path of an operation."""
    return str(change["path"].split("/")[1])


def apply_patch(document: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a changed copy of the document."""
    result = deepcopy(document)
    for change in patch:
        if change["op"] != "remove" and "value" not in change:
            raise _not_applied(change, "The operation does not contain a 'value' member")
        _apply(result, change)
    return result


def _apply(document: dict[str, Any], change: dict[str, Any]) -> None:
    *above, last = change["path"].split("/")[1:]
    place: Any = document
    for segment in above:
        inside = _member(place, segment)
        if inside is _MISSING:
            raise _not_applied(change, f"member '{segment}' not found in {place}")
        place = inside
    operation = change["op"]
    if operation != "add" and _member(place, last) is _MISSING:
        raise _not_applied(change, f"can't {operation} a non-existent object '{last}'")
    if isinstance(place, list):
        index = len(place) if last == "-" else int(last) if last.isdecimal() else -1
        if not 0 <= index <= len(place):
            raise _not_applied(change, f"'{last}' is not a valid sequence index")
        if operation == "add":
            place.insert(index, deepcopy(change["value"]))
        elif operation == "replace":
            place[index] = deepcopy(change["value"])
        else:
            del place[index]
    elif not isinstance(place, dict):
        raise _not_applied(change, f"'{last}' is not inside of an object or a list")
    elif operation == "remove":
        del place[last]
    else:
        place[last] = deepcopy(change["value"])


def _member(place: Any, segment: str) -> Any:
    if isinstance(place, dict):
        return place.get(segment, _MISSING)
    if isinstance(place, list) and segment.isdecimal() and int(segment) < len(place):
        return place[int(segment)]
    return _MISSING


def _not_applied(change: dict[str, Any], reason: str) -> IronicError:
    return invalid(f"Couldn't apply patch '{change}'. Reason: {reason}")
