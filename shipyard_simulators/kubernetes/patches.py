"""Merge patches, and strategic merge patches as far as nodes support them."""

from copy import deepcopy
from typing import Any

from shipyard_simulators.kubernetes.errors import ApiError

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

# The lists of a node that are merged by key; every other list is replaced.
_KEYS = {"conditions": "type", "addresses": "type", "ownerReferences": "uid"}


def patched(content: Any, patch: Any, kind: str | None) -> Any:
    """Return a patched copy of the content, by the patch's media type. Raises ApiError."""
    kind = (kind or "").partition(";")[0].strip()
    if kind not in (MERGE, STRATEGIC):
        message = (
            f"the body of the request was in an unknown format - accepted media types include: {MERGE}, {STRATEGIC}"
        )
        raise ApiError(415, "UnsupportedMediaType", message)
    return _merged(deepcopy(content), patch, strategic=kind == STRATEGIC)


def _merged(content: Any, patch: Any, *, strategic: bool) -> Any:
    if not isinstance(patch, dict):
        return patch
    if strategic and patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    merged = content if isinstance(content, dict) else {}
    for key, value in patch.items():
        if strategic and key.startswith("$"):
            continue  # the order of entries, which has no meaning here
        if value is None:
            merged.pop(key, None)
        elif strategic and key in _KEYS and isinstance(value, list):
            merged[key] = _merged_list(merged.get(key), value, _KEYS[key])
        else:
            merged[key] = _merged(merged.get(key), value, strategic=strategic)
    return merged


def _merged_list(content: Any, patch: list[Any], key: str) -> list[Any]:
    if any(isinstance(each, dict) and each.get("$patch") == "replace" for each in patch):
        return [each for each in patch if not (isinstance(each, dict) and "$patch" in each)]
    entries: list[Any] = list(content) if isinstance(content, list) else []
    for change in patch:
        if not isinstance(change, dict) or key not in change:
            raise ApiError(400, "BadRequest", f"map: {change} does not contain declared merge key: {key}")
        place = next((index for index, each in enumerate(entries) if each.get(key) == change[key]), len(entries))
        if change.get("$patch") == "delete":
            del entries[place : place + 1]
        else:
            entries[place : place + 1] = [
                _merged(entries[place] if place < len(entries) else {}, change, strategic=True)
            ]
    return entries
