"""Write the components of the OpenAPI document that are made from the entities of the API."""

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import yaml
from msgspec import UNSET, json, structs

from shipyard_api.api import entities
from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import REFERENCE

Schema = Mapping[str, Any]
BEGIN = "    # From here to the end: made by ./dev docs from shipyard_api/api/entities. Do not edit.\n"
_REFERRED = re.compile(re.escape(REFERENCE).replace(r"\{name\}", r"(\w+)"))
_WIDTH = 120
_ORDER = ("description", "type", "additionalProperties", "required", "properties")


def with_entities(text: str) -> str:
    """Return the OpenAPI document with the components of entities at its end, as far as something refers to them."""
    by_hand = text.partition(BEGIN)[0]
    made, shown, texts = components(), set[str](), [by_hand]
    while texts:
        new = made.keys() & set(_REFERRED.findall(texts.pop())) - shown
        shown |= new
        texts += [str(made[name]) for name in new]
    return by_hand + BEGIN + "\n".join(_lines({name: made[name] for name in sorted(shown)}, 4)).rstrip() + "\n"


def components() -> dict[str, Schema]:
    """Return the components by name. Each object has all its fields, and no others, except what may be unset."""
    for module in iter_modules(entities.__path__):
        import_module(f"{entities.__name__}.{module.name}")
    kinds = {kind.__name__: kind for kind in _kinds(Entity)}
    _, made = json.schema_components(kinds.values(), ref_template=REFERENCE)
    found: dict[str, Schema] = {}
    for name, schema in made.items():
        text, described = _descriptions(kinds[name])
        properties = {field: _short(part, found) for field, part in schema["properties"].items()}
        found[name] = {
            "description": text,
            "type": "object",
            "additionalProperties": False,
            "required": [field.encode_name for field in structs.fields(kinds[name]) if field.default is not UNSET],
            "properties": {
                field: part | ({"description": described[field]} if field in described else {})
                for field, part in properties.items()
            },
        }
    return dict(sorted(found.items()))


def _kinds(kind: type[Entity]) -> Iterator[type[Entity]]:
    for further in kind.__subclasses__():
        yield further
        yield from _kinds(further)


def _descriptions(kind: type[Entity]) -> tuple[str, dict[str, str]]:
    """Return the description of an entity and those of its fields, also of the fields that it inherits."""
    described: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        text, *parts = re.split(r"``(\w+)``:\s*", inspect.cleandoc(parent.__doc__ or ""))
        described |= {name: _folded(part) for name, part in zip(parts[::2], parts[1::2], strict=True)}
    return _folded(text), described


def _folded(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _short(schema: Any, lifted: dict[str, Schema]) -> Any:
    """Return a schema as it is written by hand; components in it are put among the others."""
    if isinstance(schema, list):
        return [_short(part, lifted) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        if "x-component" in schema:
            lifted[schema["$ref"].rpartition("/")[2]] = schema["x-component"]
        return {"$ref": schema["$ref"]}
    short = {name: _short(part, lifted) for name, part in schema.items() if name not in ("title", "default")}
    match short.get("anyOf"):
        case [{"type": str(kind), **rest}, {"type": "null"}]:
            words = {"enum": [*rest.pop("enum"), None]} if "enum" in rest else {}
            return {"type": [kind, "null"]} | rest | words
    return short


def _lines(value: Any, indent: int) -> Iterator[str]:
    """Yield a mapping or a list as YAML: what fits is on one line."""
    entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, part in entries:
        head = " " * indent + ("-" if key is None else f"{key}:")
        line = f"{head} {_flow(part)}"
        if not isinstance(part, dict | list) or (len(line) <= _WIDTH and indent > 4):
            yield line
        else:
            yield head
            yield from _lines(part, indent + 2)
        if indent == 4:
            yield ""


def _flow(value: Any) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")
