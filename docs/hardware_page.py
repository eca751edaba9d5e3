"""docs/reference/expected-hardware.md, from the schema of the document."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
_HEAD = """# Expected hardware

The document `shipyard/ExpectedHardware/v1`, as its schema says. To use it, see
[Check the hardware](../howto/check-the-hardware.md).

| member | value | meaning |
|---|---|---|"""


def hardware_page(schema: Schema) -> list[str]:
    """Return the lines of the page."""
    return [_HEAD, *_rows(schema, schema, "")]


def _rows(schema: Schema, root: Schema, path: str) -> Iterator[str]:
    for name, written in schema["properties"].items():
        member = _resolved(written, root)
        place = f"{path}{name}"
        required = name in schema.get("required", ())
        yield f"| `{place}` | {_value(member)}{', required' if required else ''} | {_meaning(member)} |"
        yield from _inner(member, root, place)


def _inner(member: Schema, root: Schema, place: str) -> Iterator[str]:
    if "properties" in member:
        yield from _rows(member, root, f"{place}.")
    elif "properties" in (item := _resolved(member.get("items", {}), root)):
        yield from _rows(item, root, f"{place}[].")
    elif isinstance(member.get("additionalProperties"), Mapping):
        each = _resolved(member["additionalProperties"], root)
        known = {
            name: part for name, part in each["properties"].items() if "$ref" in part and name in root["properties"]
        }
        others = {name: part for name, part in each["properties"].items() if name not in known}
        if known:
            names = ", ".join(f"`{name}`" for name in known)
            yield f"| `{place}.NAME` | mapping | {names} as above, instead of those of the profile |"
        yield from _rows({**each, "properties": others}, root, f"{place}.NAME.")


def _resolved(written: Schema, root: Schema) -> Schema:
    name = str(written.get("$ref", "")).rpartition("/")[2]
    return {**_resolved(root["$defs"][name], root), **written} if name else written


def _value(member: Schema) -> str:
    if "enum" in member:
        return ", ".join(f"`{value}`" for value in member["enum"])
    if "oneOf" in member:
        return "number or text"
    words = {"object": "mapping", "array": "list", "string": "text", "integer": "whole number", "number": "number"}
    return words[member["type"]]


def _meaning(member: Schema) -> str:
    default = f"default {member['default']}" if "default" in member else ""
    return "; ".join(part for part in (str(member.get("description", "")), default) if part).replace("|", "\\|")
