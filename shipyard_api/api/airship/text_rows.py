"""What a row of the table of errors consists of, and the rows that most errors have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import falcon

from shipyard_api.domain.findings import Finding, errors

NAMED = 5
"""As many nodes or findings are named in a sentence."""


@dataclass(frozen=True, slots=True)
class Text:
    """The ``message`` and ``reason`` of a Status object, and its list: the findings, or the cause, or the reason."""

    title: str
    reason: str
    findings: Sequence[Finding] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """``code``: the status line. ``text``: a function of the error. ``retry``: the same request may succeed later."""

    code: str
    text: Callable[[Any], Text]
    error_type: str = "ApiError"
    retry: bool = False


def said(title: str, reason: str) -> Callable[[Any], Text]:
    """Return a text that is the same for every error."""
    return lambda _: Text(title, reason)


def joined(title: str, separator: str, most: int | None = None) -> Callable[[Any], Text]:
    """Give the messages of the errors among the findings as the reason."""
    return lambda failed: Text(
        title, separator.join(one.message for one in errors(failed.findings)[:most]), failed.findings
    )


def first(title: str) -> Callable[[Any], Text]:
    """Give the message of the first error among the findings as the reason."""
    return joined(title, "", 1)


def invalid(text: Callable[[Any], Text], error_type: str = "ApiError") -> Row:
    """Return a row of 400."""
    return Row(falcon.HTTP_400, text, error_type)


def not_found(title: str, reason: Callable[[Any], str], error_type: str = "ApiError") -> Row:
    """Return a row of 404."""
    return Row(falcon.HTTP_404, lambda failed: Text(title, reason(failed)), error_type)


def conflict(text: Callable[[Any], Text], error_type: str = "ApiError", *, retry: bool = False) -> Row:
    """Return a row of 409."""
    return Row(falcon.HTTP_409, text, error_type, retry)


def named(nodes: Sequence[str]) -> str:
    """Return the first of these nodes, and how many more there are."""
    more = f" and {len(nodes) - NAMED} more" if len(nodes) > NAMED else ""
    return f"node {', '.join(nodes[:NAMED])}{more}"
