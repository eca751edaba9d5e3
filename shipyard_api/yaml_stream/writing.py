"""Write JSON values as a YAML stream that people can read and compare."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import yaml

from shipyard_api.yaml_stream.scalars import STR

_UNBROKEN = 2**31 - 1  # the longest line of libyaml: folded texts make poor diffs


def write_documents(documents: Iterable[Any]) -> bytes:
    """Return JSON values as a YAML stream in UTF-8: keys in the given order, no aliases, multi-line texts as blocks.

    Reading the stream returns equal values, except for the character NUL, which the reader refuses. Raises TypeError
    for values that are not JSON, and ValueError for NaN, infinities and half characters.
    """
    written: bytes = yaml.dump_all(
        documents,
        Dumper=_Writer,
        encoding="utf-8",
        allow_unicode=True,
        default_flow_style=False,
        explicit_start=True,
        sort_keys=False,
        width=_UNBROKEN,
    )
    return written


class _Writer(yaml.CSafeDumper):
    """Writes JSON types, and fails on others instead of writing a tag that our reader refuses."""

    def ignore_aliases(self, _data: Any) -> bool:  # a shared value is written twice
        return True

    def write_text(self, value: str) -> yaml.ScalarNode:
        # libyaml falls back to quotes by itself where a block would lose something.
        return self.represent_scalar(STR, value, style="|" if "\n" in value else None)

    def write_float(self, value: float) -> yaml.ScalarNode:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON value")
        return self.represent_float(value)

    def write_mapping(self, value: dict[str, Any]) -> yaml.MappingNode:
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"a key of type {type(key).__name__} is not a JSON key")
        return self.represent_dict(value)

    def refuse(self, value: object) -> yaml.Node:
        raise TypeError(f"a value of type {type(value).__name__} is not a JSON value")


_WRITERS: dict[Any, Callable[[Any, Any], yaml.Node]] = {
    dict: _Writer.write_mapping,
    list: _Writer.represent_list,
    str: _Writer.write_text,
    int: _Writer.represent_int,
    float: _Writer.write_float,
    bool: _Writer.represent_bool,
    type(None): _Writer.represent_none,
    None: _Writer.refuse,  # PyYAML's key for every other type
}
_Writer.yaml_representers = _WRITERS
_Writer.yaml_multi_representers = {}
