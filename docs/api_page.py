"""Render the OpenAPI document as a page: every operation with its parameters, bodies and answers."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

Node = Mapping[str, Any]
_METHODS = ("get", "post", "put", "patch", "delete")
_DEEPEST = 3


class ApiPage:
    """The page of one document. Schemas with a name are described once, at the end, and linked from everywhere."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self._shared: list[str] = []

    def lines(self) -> Iterator[str]:
        """Yield the page, line by line."""
        info = self._document["info"]
        yield "# REST API\n"
        yield "Rendered from the OpenAPI document at `/openapi.json`. [Routes](routes.md) lists"
        yield "rules and roles, [errors](errors.md) the kinds of errors.\n"
        yield info["description"].rstrip()
        for tag in self._document["tags"]:
            yield f"\n## {tag['name'].capitalize()}\n"
            yield f"{tag['description']}."
            for path, item in self._document["paths"].items():
                for method in _METHODS:
                    operation = item.get(method)
                    if operation and operation["tags"][0] == tag["name"]:
                        yield from self._operation(method.upper(), path, item, operation)
        yield "\n## Webhooks\n"
        yield "Requests that Shipyard sends."
        for name, item in self._document["webhooks"].items():
            for method, operation in item.items():
                yield from self._operation(method.upper(), name, item, operation)
        yield "\n## Schemas"
        shown: set[str] = set()
        while left := [name for name in self._shared if name not in shown]:
            for name in left:
                shown.add(name)
                yield from self._named(name)

    def _operation(self, method: str, path: str, item: Node, operation: Node) -> Iterator[str]:
        yield f"\n### {method} {path}\n"
        yield f"{operation['summary']}."
        if operation.get("description"):
            yield f"\n{operation['description'].rstrip()}"
        if path.startswith("/"):
            rule = operation.get("x-policy")
            yield f"\nRule: `{rule}`" if rule else "\nPublic."
        parameters = [self._at(one) for one in (*item.get("parameters", ()), *operation.get("parameters", ()))]
        own = [one for one in parameters if one["name"] not in ("verbosity", "X-Context-Marker", "If-None-Match")]
        if own:
            yield "\n| parameter | in | type | meaning |\n|---|---|---|---|"
            for one in own:
                text = _cell(one.get("description", ""))
                must = " (required)" if one.get("required") else ""
                yield f"| `{one['name']}` | {one['in']}{must} | {_cell(self._type(one['schema']))} | {text} |"
        if "requestBody" in operation:
            for kind, content in operation["requestBody"]["content"].items():
                yield f"\nBody, `{kind}`: {self._type(content['schema'])}"
                yield from _example(kind, content)
        yield "\n| code | meaning | body |\n|---|---|---|"
        examples: list[tuple[str, str, Node]] = []
        for code, answer in operation["responses"].items():
            found = self._at(answer)
            bodies = []
            for kind, content in found.get("content", {}).items():
                bodies.append(f"`{kind}`: {self._type(content['schema'])}")
                if code.startswith("2"):
                    examples.append((code, kind, content))
            yield f"| {code} | {_cell(found['description'])} | {_cell('; '.join(bodies))} |"
        for code, kind, content in examples:
            shown = list(_example(kind, content))
            if shown:
                yield f"\n{code}, for example:"
                yield from shown

    def _named(self, name: str) -> Iterator[str]:
        schema = self._document["components"]["schemas"][name]
        yield f"\n### {name}\n"
        if schema.get("description"):
            yield schema["description"].rstrip()
        rows = list(self._rows(schema, "", 0))
        if rows:
            yield "\n| field | type | meaning |\n|---|---|---|"
            yield from rows
        else:
            yield f"\n{self._type({key: value for key, value in schema.items() if key != 'description'})}"

    def _rows(self, schema: Node, prefix: str, depth: int) -> Iterator[str]:
        """Yield a row for each field of an object, those of objects within it behind a dot."""
        # Beside a reference there may be more (JSON Schema 2020-12, as in OpenAPI 3.1).
        parts = [{"$ref": schema["$ref"]}] if "$ref" in schema else []
        for part in (*parts, *schema.get("allOf", ())):
            yield from self._rows(self._at(part), prefix, depth)
        required = schema.get("required", ())
        for name, field in schema.get("properties", {}).items():
            place = f"{prefix}{name}"
            optional = "" if name in required else " (optional)"
            yield f"| `{place}`{optional} | {_cell(self._type(field))} | {_cell(field.get('description', ''))} |"
            inner = field.get("items", field) if field.get("type") == "array" else field
            if isinstance(inner, Mapping) and "properties" in inner and depth < _DEEPEST:
                mark = "[]." if inner is not field else "."
                yield from self._rows(inner, place + mark, depth + 1)

    def _type(self, schema: Node | bool) -> str:
        """Return a schema in a few words."""
        if isinstance(schema, bool):
            return "anything" if schema else "nothing"
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            if name not in self._shared:
                self._shared.append(name)
            return f"[{name}](#{name.lower()})"
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{one if isinstance(one, str) else json.dumps(one)}`" for one in schema["enum"])
        for word in ("oneOf", "anyOf"):
            if word in schema:
                return " or ".join(self._type(one) for one in schema[word])
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind] if kind else ["anything"]
        if "array" in kinds and "items" in schema:
            return f"list of {self._type(schema['items'])}" + (" or null" if "null" in kinds else "")
        words = " or ".join(str(one) for one in kinds)
        bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "≥"), ("maximum", "≤")) if key in schema]
        bounds += [f"default {schema['default']}"] if "default" in schema else []
        return f"{words} ({', '.join(bounds)})" if bounds else words

    def _at(self, node: Node) -> Node:
        """Return what a reference leads to; anything else as it is."""
        found: Any = node
        while isinstance(found, Mapping) and set(found) == {"$ref"}:
            place = found["$ref"]
            found = self._document
            for part in place.removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
        return dict(found)


def api_page(text: str) -> str:
    """Return the page of an OpenAPI document, which is YAML."""
    return "\n".join(ApiPage(yaml.safe_load(text)).lines())


def _example(kind: str, content: Node) -> Iterator[str]:
    if "example" not in content:
        return
    example = content["example"]
    if "json" in kind and not isinstance(example, str):
        yield f"\n```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```"
    else:
        yield f"\n```text\n{str(example).rstrip()}\n```"


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
