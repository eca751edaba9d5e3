"""Comparisons of two versions of the documents, as the contract has them, and the explanation of a value. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from shipyard_api.cli.output.printout import Printout, UnifiedDiff, table
from shipyard_api.cli.output.shapes import as_objects, parse_object, parse_objects


def collections(text: str) -> Printout:
    """Return the status of each collection in both versions."""
    rows = parse_objects(text)
    headers = ("Collection", "Base", "New")
    if not rows:
        return Printout([table([], headers)])
    last = rows[-1]
    title = (
        f"   Comparing Base: {last.get('base_version')} (revision {last.get('base_revision')})\n"
        f"    \t to New: {last.get('new_version')} (revision {last.get('new_revision')})\n"
    )
    cells = [(row.get("collection_name"), row.get("base_status"), row.get("new_status")) for row in rows]
    return Printout([title, table(cells, headers, gap=10)])


def difference(text: str) -> Printout:
    """Return a unified diff as it is printed below the collections."""
    diff = text.removesuffix("\n")
    return Printout(["\n", UnifiedDiff(diff) if diff else "No document differs."])


_LONGEST = 100


def explanation(text: str) -> str:
    """Return the values of an explanation, each with its steps in order."""
    values = as_objects(parse_object(text).get("values"), "values")
    return "\n\n".join("\n".join(_lines(number, value)) for number, value in enumerate(values, start=1))


def _lines(number: int, value: Mapping[str, Any]) -> Iterator[str]:
    secret = bool(value.get("secret"))
    yield f"[{number}] {value.get('schema')} {value.get('name')} {value.get('path')}: {_value(value, secret=secret)}"
    yield (
        f"    layer {value.get('layer')}, collection {value.get('collection')}, document {value.get('number')}, "
        f"line {value.get('line')}, unchanged since revision {value.get('revision')}"
    )
    for step in as_objects(value.get("steps"), "steps"):
        kind, detail, source = step.get("kind"), step.get("detail"), step.get("from")
        what = f"{kind} {detail}".rstrip() if kind == "action" else str(kind)
        what += f", pattern {detail}" if detail and kind == "substitution" else ""
        what += f" from [{source + 1}]" if isinstance(source, int) else ""
        yield f"  - line {step.get('line')}: {what}: {_value(step, secret=secret)}"


def _value(value: Mapping[str, Any], *, secret: bool) -> str:
    if secret:
        return "secret"
    if "value" not in value:
        return "gone, or too long to show"
    written = json.dumps(value["value"], ensure_ascii=False)
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]} ..."
