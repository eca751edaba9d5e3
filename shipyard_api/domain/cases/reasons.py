"""Reasons by their template: a reason without its numbers, names and addresses, so that equal causes read equal."""

import re
from collections import Counter
from collections.abc import Mapping

GAP = "…"
"""What stands for a number, a name or an address."""

_LONGEST = 400
"""Characters of a reason that count: the words of a peer come first, and its trace last."""

_WORDS = 16
_VARIABLE = re.compile(
    r"""
    [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}   # a UUID
    | \b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b                         # a MAC
    | \b[a-z][a-z0-9+.-]*://[^\s'",;)]+                             # a URL
    | \b\d{4}-\d\d-\d\d[t\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?  # a time
    | \b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d+)?\b             # an IPv4 address or network
    | (?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:])       # an IPv6 address
    | \b0x[0-9a-f]+\b
    | \b(?=[a-z]*\d)[0-9a-f]{8,}\b                                  # a digest, or the id of a job
    | \{[^{}]{1,300}\}                                               # a mapping, such as a step
    | '[^'\n]{1,80}' | "[^"\n]{1,80}"                               # a quoted name
    | \d+(?:[.,]\d+)*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LABEL = re.compile(rf"^(?:node )?{GAP}: ", re.IGNORECASE)
"""The node at the beginning of a reason, which says nothing any more."""

_GAPS = re.compile(rf"{GAP}(?:[-_./:]?{GAP})+")


def template(reason: str, node: str = "") -> str:
    """Return the reason without what differs from node to node; ``node``: the name of the node that it is about."""
    text = reason[:_LONGEST]
    if node:
        text = text.replace(node, GAP)
    return " ".join(_GAPS.sub(GAP, _VARIABLE.sub(GAP, text)).split())


def in_common(reasons: Mapping[str, str]) -> str:
    """Return the most common template of the reasons of nodes, with the names and numbers that all of those share.

    ``reasons``: by node, at least one.
    """
    texts = {node: " ".join(reason[:_LONGEST].replace(node, GAP).split()) for node, reason in reasons.items()}
    templates = {node: template(reason, node) for node, reason in reasons.items()}
    common = Counter(templates.values()).most_common(1)[0][0]
    rows = [text.split(" ") for node, text in texts.items() if templates[node] == common]
    if len({len(row) for row in rows}) > 1:
        return common
    words = (held[0] if len(set(held)) == 1 else template(held[0]) for held in zip(*rows, strict=True))
    shared = " ".join(words)
    return shared if template(shared) == common else common


def first_words(text: str) -> str:
    """Return the beginning of a template, as much as a person reads at first glance."""
    words = _LABEL.sub("", text).split()
    shown = " ".join(words[:_WORDS])
    return f"{shown} {GAP}" if len(words) > _WORDS and not shown.endswith(GAP) else shown.rstrip(".:;,")
