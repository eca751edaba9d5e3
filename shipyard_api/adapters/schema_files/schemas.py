"""JSON Schema files, compiled once.

jsonschema-rs checks some hundred times faster than jsonschema, with the same errors at the same paths; where there is
no build of it for a platform, jsonschema takes its place.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from shipyard_api.domain.findings import Finding, error
from shipyard_api.ports.schemas import UnknownSchema

# A value that breaks a rule in 10,000 places does not need 10,000 messages.
_MOST = 200

# Of a document with more values in lists and objects, only the first fault is found: jsonschema-rs finds all or one.
_MANY_VALUES = 20_000

Place = list[str | int]
Fault = tuple[Place, Place, str]
"""The place in the value, the rule of the schema, and the fault."""

Check = Callable[[object], Iterable[Fault]]


def fast(schema: Any) -> Check:
    """Compile a schema with jsonschema-rs; raises ImportError if it is not installed."""
    import jsonschema_rs

    validator = jsonschema_rs.Draft202012Validator(schema)

    def check(value: object) -> Iterable[Fault]:
        try:
            validator.validate(value)
        except jsonschema_rs.ValidationError as first:
            faults = [first] if _has_many_values(value) else validator.iter_errors(value)
            return ((list(fault.instance_path), list(fault.schema_path), fault.message) for fault in faults)
        return ()

    return check


def reference(schema: Any) -> Check:
    """Compile a schema with jsonschema."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(schema)
    return lambda value: (
        (list(fault.absolute_path), list(fault.absolute_schema_path), fault.message)
        for fault in validator.iter_errors(value)
    )


def best(schema: Any) -> Check:
    """Compile a schema with the faster of the two that is installed."""
    try:
        return fast(schema)
    except ImportError:
        return reference(schema)


class SchemaFiles:
    """Fills ``ports.schemas.Schemas`` from a directory; ``actions/deploy_site.yaml`` is ``actions/deploy_site``."""

    def __init__(self, directory: Path, compiled: Callable[[Any], Check] = best) -> None:
        self._schemas: Mapping[str, Any] = {
            str(path.relative_to(directory).with_suffix("")): _read(path)
            for path in sorted(directory.rglob("*.yaml"))
            if path.stem != "openapi"
        }
        self._checks = {name: compiled(schema) for name, schema in self._schemas.items()}

    def check(self, schema: str, value: object) -> tuple[Finding, ...]:
        """Return every mismatch of the value."""
        check = self._checks.get(schema)
        if check is None:
            raise UnknownSchema(schema)
        findings: list[Finding] = []
        for place, rule, message in check(value):
            if len(findings) == _MOST:
                findings.append(error("SchemaError", f"More than {_MOST} faults; the rest is not listed."))
                break
            path = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
            text = f"{path or 'the document'}: {_short(message)}"
            findings.append(error("SchemaError", text, path=path, diagnostic=_rule(self._schemas[schema], rule)))
        return tuple(findings)


def _has_many_values(value: object) -> bool:
    containers, count = [value], 0
    while containers and count <= _MANY_VALUES:
        part = containers.pop()
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        count += len(inner)
        containers += [item for item in inner if isinstance(item, list | dict)]
    return count > _MANY_VALUES


def _read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def _rule(schema: Any, path: list[str | int]) -> str:
    """Return ``keyword : its value`` of the rule at the end of a schema path; without value behind a reference."""
    value = schema
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return str(path[-1])
    return f"{path[-1]} : {value}" if path else ""


def _short(message: str) -> str:
    """Return the message without the middle of a very long value that it quotes."""
    return message if len(message) <= 400 else f"{message[:200]} … {message[-180:]}"
