"""What stock schemathesis cannot do: read a YAML stream of several documents, which is described as an array."""

from typing import Any

import schemathesis
import yaml
from schemathesis.core.media_types import YAML_MEDIA_TYPES


@schemathesis.deserializer(*YAML_MEDIA_TYPES)
def read(_context: Any, response: Any) -> Any:
    """Read a stream as an array; dates stay text, as in JSON."""
    return list(yaml.load_all(response.content, Loader=_Loader))  # a SafeLoader


class _Loader(yaml.SafeLoader):
    """Reads no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, expression) for tag, expression in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
