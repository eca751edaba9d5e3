"""JSON schemas that come with a design: always draft 4, and references are never fetched."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from shipyard_api.adapters.schema_files.steps import BACKTRACKS, StepCount, TooManySteps, check_size
from shipyard_api.domain.documents import DataCheck, SchemaFault, canonical

_MOST = 200  # findings per document
_KEPT = 512  # compiled schemas

_NOWHERE = object()

# Both libraries reject this, with a message of twenty lines.
_FOREIGN = "it refers to another address; only references within the schema ('#/...') are followed"


class DataSchemas:
    """Compiles schemas and caches them: a design keeps its schemas over its revisions."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[bytes, DataCheck] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, schema: Mapping[str, Any]) -> DataCheck:
        """Return a function that checks values; raises ValueError with the reason for an invalid schema."""
        key = canonical(schema)
        with self._lock:
            if key in self._compiled:
                self._compiled.move_to_end(key)
                return self._compiled[key]
        check = compiled(schema)
        with self._lock:
            self._compiled[key] = check
            if len(self._compiled) > _KEPT:
                self._compiled.popitem(last=False)
        return check


def compiled(schema: Mapping[str, Any]) -> DataCheck:
    """Compile a schema with the faster library that is installed; raises ValueError."""
    check_size(schema)
    local = _own_words(schema)
    references, named = _references(local)
    names = {"#", *(part["id"] for part in named)}
    if any(not reference["$ref"].startswith("#") for reference in references):
        raise ValueError(_FOREIGN)
    dangling = [reference for reference in references if not _leads_somewhere(local, names, reference["$ref"])]
    if dangling:
        # Real sites have such schemas, which work as long as no document reaches the reference.
        local = _closed(local, {id(reference) for reference in dangling})
    try:
        check = _fast(local)
    except ImportError:
        check = _reference(local)
    bases = [local, *(part for part in _references(local)[1] if part is not local)]
    count = StepCount(local, lambda reference: _targets(bases, reference))

    def bounded(value: object) -> Sequence[SchemaFault]:
        try:
            count.check(value)
        except TooManySteps as refused:
            return [SchemaFault("", "", f"this data is not checked: {refused}", quotes=False)]
        return check(value)

    return bounded


def _fast(schema: Mapping[str, Any]) -> DataCheck:
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate({"$schema": "http://json-schema.org/draft-04/schema#", **schema})
        validator = jsonschema_rs.Draft4Validator(
            dict(schema),
            validate_formats=False,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS),
        )
    except (jsonschema_rs.ValidationError, ValueError) as wrong:
        raise ValueError(_line(getattr(wrong, "message", str(wrong)))) from None

    def check(value: object) -> Sequence[SchemaFault]:
        faults = []
        for fault in validator.iter_errors(value):
            faults.append(SchemaFault(_pointer(fault.instance_path), _pointer(fault.schema_path), _line(fault.message)))
            if len(faults) == _MOST:
                break
        return faults

    return check


def _reference(schema: Mapping[str, Any]) -> DataCheck:
    import jsonschema

    try:
        jsonschema.Draft4Validator.check_schema(schema)
    except jsonschema.SchemaError as wrong:
        raise ValueError(_line(wrong.message)) from None
    validator = jsonschema.Draft4Validator(schema)

    def check(value: object) -> Sequence[SchemaFault]:
        faults = []
        try:
            for fault in validator.iter_errors(value):
                place, rule = list(fault.absolute_path), list(fault.absolute_schema_path)
                faults.append(SchemaFault(_pointer(place), _pointer(rule), _line(fault.message)))
                if len(faults) == _MOST:
                    break
        except RecursionError:
            faults.append(
                SchemaFault("", "/$ref", "the references of the schema lead from one to the next without end")
            )
        return faults

    return check


def _own_words(schema: Any) -> Any:
    """Return the schema without ``$schema`` in its parts, which may name other drafts."""
    if isinstance(schema, dict):
        return {
            key: value if _is_data(key, value) else _own_words(value)
            for key, value in schema.items()
            if key != "$schema" or isinstance(value, dict)  # a mapping describes a property of that name
        }
    return [_own_words(value) for value in schema] if isinstance(schema, list) else schema


def _is_data(key: str, value: Any) -> bool:
    """Return whether the key holds values to compare with, not schemas."""
    return key == "enum" and isinstance(value, list)


def _references(schema: Any) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return every part of the schema with a reference, and every part with an ``id``."""
    references: list[Mapping[str, Any]] = []
    named: list[Mapping[str, Any]] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                references.append(value)
            if isinstance(value.get("id"), str):
                named.append(value)
            waiting.extend(inner for key, inner in value.items() if not _is_data(key, inner))
        elif isinstance(value, list):
            waiting.extend(value)
    return references, named


def _leads_somewhere(schema: Any, names: Collection[str], reference: str) -> bool:
    """Return whether a reference within the schema resolves."""
    return _at(schema, reference) is not _NOWHERE if reference.startswith("#/") else reference in names


def _at(schema: Any, reference: str) -> Any:
    """Return the place in the schema that a reference (``#/...``) points to, or _NOWHERE."""
    value = schema
    for part in unquote(reference).removeprefix("#/").split("/"):
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _NOWHERE
    return value


def _targets(bases: Sequence[Mapping[str, Any]], reference: str) -> list[Mapping[str, Any]]:
    """Return the schemas that a reference may lead to: in each part with an ``id``, ``#`` may be that part."""
    if reference.startswith("#/"):
        targets = [_at(base, reference) for base in bases]
    elif reference == "#":
        targets = list(bases)
    else:
        targets = [base for base in bases if str(base.get("id")).endswith(reference)]
    return [target for target in targets if isinstance(target, Mapping)]


def _closed(schema: Any, dangling: Collection[int]) -> Any:
    """Return the schema with each dangling reference replaced by a rule that every value breaks."""
    if isinstance(schema, dict):
        if id(schema) in dangling:
            return {"not": {}}
        return {key: value if _is_data(key, value) else _closed(value, dangling) for key, value in schema.items()}
    return [_closed(value, dangling) for value in schema] if isinstance(schema, list) else schema


def _pointer(place: Sequence[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


def _line(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 300 else f"{line[:200]} … {line[-90:]}"
