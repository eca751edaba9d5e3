"""What stock schemathesis cannot do: read a YAML stream as an array, write node sets, know what counts as absent."""

import re
from typing import Any
from urllib.parse import quote

import schemathesis
import yaml
from hypothesis import strategies
from schemathesis.core.media_types import YAML_MEDIA_TYPES

PLAIN_NAME = re.compile(r"[a-z0-9.-]{1,9}")
LONGEST_QUERY = 3000  # bytes; the server reads a request line of 4,094, and generated paths take up to some 500
NODE_SETS = strategies.from_regex(PLAIN_NAME.pattern + r"(,[a-z]{1,3}\[[1-4]-[5-9](/2)?(,2)?\])?", fullmatch=True)
schemathesis.openapi.format("node-set", NODE_SETS)


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def read(_context: Any, response: Any) -> Any:
    """Read a stream as an array; dates stay text, as in JSON."""
    return list(yaml.load_all(response.content, Loader=_Loader))  # a SafeLoader


@schemathesis.hook
def filter_query(_context: Any, query: Any) -> bool:
    """Send no wrong parameters that are right on the wire.

    Empty ones count as absent, and so do lists of nothing; an account may have any name, so each single value is one;
    an unknown node's name, however strange, finds nothing; and a load of an empty collection does not read its body.
    A request line that is too long is refused (414) before it is known which operation it calls.
    """
    given = dict(query or {})
    if len(quote(str(given))) > LONGEST_QUERY:
        return False
    if any(value in ("", [], {}, None) for value in given.values()) or not isinstance(given.get("user", []), list):
        return False
    nodes = given.get("node", [])
    names = [str(name) for name in (nodes if isinstance(nodes, list) else [nodes])]
    if "empty-collection" in given:
        return False
    return all("[" in name or PLAIN_NAME.fullmatch(name) for name in names)


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Count NUL as wrong, though the document does not say so at each text: send it only with other wrong input."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return True
    return not any(map(_has_nul, (case.path_parameters, case.query, case.headers, case.body)))


@schemathesis.hook
def filter_body(_context: Any, body: Any) -> bool:
    """Send no numbers of more than 64 bits: JSON may have them, and every body with one is refused."""
    return not _has_huge_number(body)


def _has_huge_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_huge_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_huge_number, value))
    return isinstance(value, int | float) and not -(2**63) <= value < 2**63


def _has_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_nul, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\0" in value


class _Loader(yaml.SafeLoader):
    """Reads no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, expression) for tag, expression in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
