"""Merge patches, and strategic merge patches as far as nodes support them."""

from copy import deepcopy
from typing import Any

from shipyard_simulators.kubernetes.errors import ApiError, bad_request

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

# The lists of a node that are merged by key; every other list is replaced.
_KEYS = {"conditions": "type", "addresses": "type", "ownerReferences": "uid"}


def patched(content: Any, patch: Any, kind: str | None) -> Any:
    """Return a patched copy of the content, by the patch's media type. Raises ApiError."""
    kind = (kind or "").partition(";")[0].strip()
    if kind not in (MERGE, STRATEGIC):
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
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
    if not all(isinstance(each, dict) for each in patch):
        raise bad_request(f"the entries of a list that is merged by {key} are objects")
    nameless = [each for each in patch if key not in each]
    if nameless and entries:
        members = " ".join(f"{name}:{value}" for name, value in sorted(nameless[0].items()))
        raise ApiError(500, "", f"map: map[{members}] does not contain declared merge key: {key}")
    new = []
    for change in ({key: "", **each} for each in patch):
        place = next((index for index, each in enumerate(entries) if each.get(key) == change[key]), len(entries))
        if change.get("$patch") == "delete":
            del entries[place : place + 1]
        elif place < len(entries):
            entries[place] = _merged(entries[place], change, strategic=True)
        else:
            new.append(_merged({}, change, strategic=True))
    return new + entries
