"""Changing a template by JSON Patch, RFC 6902, as far as Ironic knows it (contract, 10)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException

from shipyard_api.api.http.errors import Fault
from shipyard_api.ports.state.deploy_templates import StoredTemplate
from shipyard_api.usecases.deploy_templates.manage import WrittenTemplate

CHANGED = ("extra", "name", "steps")
"""What a patch can change."""

_OPERATIONS = ("add", "replace", "remove")
_PATH = re.compile(r"(/[\w-]+)+")
_SHOWN = 60

Patch = Sequence[Mapping[str, Any]]


def check_patch(written: object) -> Patch:
    """Return a patch whose operations can be applied to templates; raises Fault."""
    if not isinstance(written, list):
        raise Fault("Schema error for patch: the body is not a list of operations")
    for place, change in enumerate(written):
        if fault := _fault(change):
            raise Fault(f"Schema error for patch: operation {place} {fault}")
    if others := [operation["path"] for operation in written if operation["path"].split("/")[1] not in CHANGED]:
        raise Fault(f"Cannot patch {others[0][:_SHOWN]}. Only the following can be updated: {', '.join(CHANGED)}")
    return written


def apply(patch: Patch, stored: StoredTemplate) -> WrittenTemplate:
    """Return what a patch makes of a template; raises Fault if one of its operations has no target."""
    before = {
        "name": stored.template.name,
        "steps": [step.to_json() for step in stored.template.steps],
        "extra": stored.extra,
    }
    try:
        after = jsonpatch.apply_patch(before, list(patch))
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        raise Fault(f"Couldn't apply patch. Reason: {error}") from None
    if missing := [name for name in ("name", "steps") if name not in after]:
        raise Fault(f"Schema error for patch: {missing[0]!r} is a required property")
    if not isinstance(after.get("extra", {}), dict | None):
        raise Fault("Schema error for patch: extra is not an object")
    return WrittenTemplate(after["name"], after["steps"], after.get("extra"))


def _fault(change: object) -> str | None:
    if not isinstance(change, dict):
        return "is not an object"
    if unknown := [key[:_SHOWN] for key in change if key not in ("op", "path", "value")]:
        return f"has the unknown key {', '.join(unknown)}"
    operation, path = change.get("op"), change.get("path")
    if operation not in _OPERATIONS:
        return f"has op {str(operation)[:_SHOWN]!r}, which is not one of {', '.join(_OPERATIONS)}"
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        return f"has path {str(path)[:_SHOWN]!r}; write it as /name, /steps/0/args or /extra/key"
    if operation != "remove" and "value" not in change:
        return "has no value"
    return None
