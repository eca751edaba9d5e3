"""JSON Schema files, compiled once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from shipyard_api.domain.findings import Finding, error
from shipyard_api.ports.schemas import UnknownSchema

# A value that breaks a rule in every one of 10,000 places is not better understood from 10,000 messages.
_MOST = 200


class SchemaFiles:
    """Fills ``ports.schemas.Schemas`` from a directory; ``actions/deploy_site.yaml`` is ``actions/deploy_site``."""

    def __init__(self, directory: Path) -> None:
        schemas = {
            str(path.relative_to(directory).with_suffix("")): _read(path)
            for path in sorted(directory.rglob("*.yaml"))
            if path.stem != "openapi"
        }
        self._schemas: Mapping[str, Any] = schemas
        self._validators: Mapping[str, Any] = {
            name: jsonschema_rs.Draft202012Validator(schema) for name, schema in schemas.items()
        }

    def check(self, schema: str, value: object) -> tuple[Finding, ...]:
        """Return everything that keeps the value from matching."""
        validator = self._validators.get(schema)
        if validator is None:
            raise UnknownSchema(schema)
        found: list[Finding] = []
        for fault in validator.iter_errors(value):
            if len(found) == _MOST:
                found.append(error("SchemaError", f"More than {_MOST} faults; the rest is not listed."))
                break
            path = "".join(f"/{part}" for part in fault.instance_path)
            found.append(
                error(
                    "SchemaError",
                    f"{path or 'the document'}: {_short(fault.message)}",
                    path=path,
                    diagnostic=_rule(self._schemas[schema], list(fault.schema_path)),
                )
            )
        return tuple(found)


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
