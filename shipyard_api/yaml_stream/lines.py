"""On which line of a written document a value is."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from shipyard_api.yaml_stream.writing import write_documents


def lines_of(document: Any, pointers: Iterable[str]) -> Mapping[str, int]:
    """Return the line of each JSON pointer in a JSON value as ``write_documents`` writes it; line 1 is ``---``.

    A key is where its value is. A pointer that leads nowhere has the line of the last key on its way.
    """
    root: Any = yaml.compose(write_documents([document]), Loader=yaml.CSafeLoader)
    return {pointer: _line(root, pointer) for pointer in pointers}


def _line(node: yaml.Node, pointer: str) -> int:
    line = node.start_mark.line + 1
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, yaml.MappingNode):
            values = [(key, value) for key, value in node.value if key.value == name]
            if not values:
                break
            key, node = values[0]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and name.isdigit() and int(name) < len(node.value):
            node = node.value[int(name)]
            line = node.start_mark.line + 1
        else:
            break
    return line
