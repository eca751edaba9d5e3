"""Label selectors, and which nodes a pod template wants. Pure."""

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector selects the labels; None selects nothing."""
    if selector is None:
        return False
    equal = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in equal) and all(
        _holds(each, labels) for each in selector.get("matchExpressions") or ()
    )


def wants(template: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Return whether the spec of a pod template wants a node, by its node selector and its required affinity."""
    if any(labels.get(key) != value for key, value in (template.get("nodeSelector") or {}).items()):
        return False
    affinity = (template.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_meets(term, name, labels) for term in required.get("nodeSelectorTerms") or ())


def _meets(term: Object, name: str, labels: Mapping[str, str]) -> bool:
    by_label, by_field = term.get("matchExpressions") or [], term.get("matchFields") or []
    fields = {"metadata.name": name}
    holds = all(_holds(each, labels) for each in by_label) and all(_holds(each, fields) for each in by_field)
    return bool(by_label or by_field) and holds


def _holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement["key"]), requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":  # codespell:ignore notin
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case _:
            return value is not None and int(value) < int(values[0])
