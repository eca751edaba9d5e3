"""Lists: selection, order, pages and fields."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import falcon

from shipyard_simulators.ironic.errors import IronicError, above_version, invalid, unexpected_arguments
from shipyard_simulators.ironic.fields import FIELDS, SHORT, need_field, read_flag, read_uuid
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.states import FAULTS, VERBS
from shipyard_simulators.ironic.versions import version_of

MOST = 1000
_PAGING = ("limit", "marker", "sort_key", "sort_dir", "fields", "detail")
_EQUAL = ("resource_class", "driver", "conductor_group", "conductor", "owner", "lessee", "shard", "instance_name")
_FLAGS = ("maintenance", "retired")
_NODE_FILTERS = (
    *_EQUAL,
    *_FLAGS,
    "provision_state",
    "associated",
    "instance_uuid",
    "fault",
    "project",
    "parent_node",
    "description_contains",
    "include_children",
    "chassis_uuid",
)
_NOT_TO_NAME = ("created_at", "updated_at")
_NOT_TO_SORT = ("driver_info", "driver_internal_info", "properties", "extra", "instance_info", "traits", "network_data")

Parameters = Mapping[str, str]


def parameters(req: falcon.Request, known: Iterable[str]) -> dict[str, str]:
    """Return the query; repeated parameters are joined by commas. Unknown ones are rejected."""
    unknown = [name for name in req.params if name not in set(known)]
    if unknown:
        raise unexpected_arguments(unknown)
    return {name: ",".join(value) if isinstance(value, list) else value for name, value in req.params.items()}


def list_parameters(req: falcon.Request) -> dict[str, str]:
    """Return the query of a node list."""
    return parameters(req, (*_PAGING, *_NODE_FILTERS))


def filters_of(query: Parameters, version: int) -> list[Callable[[Node], bool]]:
    """Return the predicates that a listed node must satisfy."""
    tests: list[Callable[[Node], bool]] = []
    for name, value in query.items():
        if name in FIELDS and name in _NODE_FILTERS:
            need_field(name, version)
        test = _test(name, value)
        if test is not None:
            tests.append(test)
    return tests


def _test(name: str, value: str) -> Callable[[Node], bool] | None:
    if name in _EQUAL:
        return lambda node: node.values[name] == value
    if name in _FLAGS:
        flag = read_flag(name, value)
        return lambda node: node.values[name] is flag
    if name == "provision_state":
        if value not in VERBS:
            raise invalid(f'Provision state "{value}" is not valid')
        return lambda node: node.state == value
    if name == "associated":
        associated = read_flag(name, value)
        return lambda node: (node.values["instance_uuid"] is not None) is associated
    if name in ("instance_uuid", "chassis_uuid", "parent_node"):
        uuid = read_uuid(name, value)
        return lambda node: node.values[name] == uuid
    if name == "fault":
        if value not in FAULTS:
            raise invalid(f'Unrecognized fault "{value}" is specified, allowed faults are {FAULTS}')
        return lambda node: node.values["fault"] == value
    if name == "project":
        return lambda node: value in (node.values["owner"], node.values["lessee"])
    if name == "description_contains":
        return lambda node: value in (node.values["description"] or "")
    return None


def field_names(query: Parameters, version: int, *, every: bool = False) -> tuple[str, ...] | None:
    """Return the requested fields; None: all. ``every``: for a list, where a wrong field fails differently."""
    if "fields" not in query:
        return None
    names = tuple(name for each in query["fields"].split(",") if (name := each.strip().lower()))
    for name in names:
        if name in _NOT_TO_NAME:
            raise invalid(f"Field {name} is not a valid field.")
        if name not in FIELDS:
            if every:
                raise IronicError(500, f"type object 'Node' has no attribute '{name}'")
            raise invalid(f"Field {name} is not a valid field.")
        need_field(name, version)
    return names


def list_fields(req: falcon.Request, query: Parameters, *, detail: bool = False) -> tuple[str, ...] | None:
    """Return the fields that a list shows; None: all."""
    version = version_of(req)
    if "detail" in query:
        if version < 43:
            raise above_version()
        detail = read_flag("detail", query["detail"]) or detail
    if detail and "fields" in query:
        raise invalid("Can not specify ?detail=True and fields in the same request.")
    if detail:
        return None
    names = field_names(query, version, every=True)
    return tuple(name for name in SHORT if FIELDS[name].version <= version) if names is None else names


def page(
    rows: Sequence[tuple[str, Mapping[str, Any]]], query: Parameters, base: str, path: str, fields: str = ""
) -> tuple[list[str], str | None]:
    """Return the UUIDs of a page, and the URL of the next one if this one is full.

    ``rows``: UUID and fields, in order of creation. ``base``: the base URL. ``fields``: the names to repeat in the next
    URL.
    """
    uuids = [uuid for uuid, _ in _sorted(rows, query)]
    limit = _limit(query)
    start = 0
    if "marker" in query:
        marker = read_uuid("marker", query["marker"])
        if marker not in uuids:
            raise IronicError(404, f"Node {marker} could not be found.")
        start = uuids.index(marker) + 1
    chosen = uuids[start : start + limit]
    if len(chosen) < limit or not chosen:
        return chosen, None
    kept = [("sort_key", query.get("sort_key", "id")), ("sort_dir", query.get("sort_dir", "asc"))]
    # A real Ironic keeps these filters only.
    kept += [(name, "True") for name in ("associated", *_FLAGS) if name in query and read_flag(name, query[name])]
    kept += [("detail", str(read_flag("detail", query["detail"])))] if "detail" in query else []
    kept += [("fields", fields)] if fields else [] if "detail" in query else [("detail", "True")]
    kept += [("limit", str(limit)), ("marker", chosen[-1])]
    return chosen, f"{base}{path}?" + "&".join(f"{name}={quote(value, safe=',')}" for name, value in kept)


def _limit(query: Parameters) -> int:
    if "limit" not in query:
        return MOST
    try:
        limit = int(query["limit"])
    except ValueError as cause:
        raise invalid(f"Expected an integer for limit: {query['limit']}") from cause
    if limit <= 0:
        raise invalid("Limit must be positive")
    return min(limit, MOST)


def _sorted(
    rows: Sequence[tuple[str, Mapping[str, Any]]], query: Parameters
) -> Sequence[tuple[str, Mapping[str, Any]]]:
    key, direction = query.get("sort_key", "id"), query.get("sort_dir", "asc")
    if direction not in ("asc", "desc"):
        raise invalid(f"Invalid sort direction: {direction}. Acceptable values are 'asc' or 'desc'")
    backwards = direction == "desc"
    if key == "id":
        return list(reversed(rows)) if backwards else rows
    if key not in FIELDS or key in _NOT_TO_SORT:
        raise invalid(f'The sort_key value "{key}" is an invalid field for sorting')
    return sorted(rows, key=lambda row: (row[1][key] is None, str(row[1][key])), reverse=backwards)
