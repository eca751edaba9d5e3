"""A reader of parsed YAML that collects every fault with its place, instead of stopping at the first."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import yaml

T = TypeVar("T")

# Larger than any duration, count or size, and exact as a float. NaN is outside of it, too.
_HUGE = 10**15


class UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of the node. Raises ConstructorError for a duplicate key."""
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is not None and key != "<<" and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is written twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


class Reader:
    """One mapping of the file with its place. All readers of a file share one list of faults."""

    def __init__(self, content: object, place: str = "", faults: list[str] | None = None) -> None:
        self.faults: list[str] = [] if faults is None else faults
        self._place = place
        self._content: dict[str, Any] = {}
        if not isinstance(content, dict):
            self.fault(f"should be a mapping, not {_kind(content)}")
        else:
            for key, value in content.items():
                if isinstance(key, str):
                    self._content[key] = value
                else:
                    self.fault(f"has the key {key!r}, which is not text; write it in quotes")

    def fault(self, message: str, key: str = "") -> None:
        """Report a fault of this mapping, or of one of its keys."""
        place = ".".join(part for part in (self._place, key) if part)
        self.faults.append(f"{place or 'the scenario'} {message}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __contains__(self, key: object) -> bool:
        return key in self._content

    def only(self, *known: str) -> None:
        """Report a fault for every unknown key."""
        for key in self._content:
            if key not in known:
                self.fault(f"is not known; known are {', '.join(known)}", key)

    def is_mapping(self, key: str) -> bool:
        """Return whether the value of the key is a mapping."""
        return isinstance(self._content.get(key), dict)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return the mapping under a key as it is written; empty if it is missing."""
        self.child(key)
        content = self._content.get(key)
        return content if isinstance(content, dict) else {}

    def child(self, key: str) -> "Reader":
        """Return a reader of the mapping under a key; a missing or empty one reads as an empty mapping."""
        content = self._content.get(key)
        return Reader({} if content is None else content, self._at(key), self.faults)

    def children(self) -> Iterator[tuple[str, "Reader"]]:
        """Yield every key with the mapping under it."""
        for key in self._content:
            yield key, Reader(self._content[key], self._at(key), self.faults)

    def items(self, key: str) -> Iterator["Reader"]:
        """Yield the mappings of the list under a key."""
        content = self._content.get(key)
        if content is None:
            return
        if not isinstance(content, list):
            self.fault(f"should be a list, not {_kind(content)}", key)
            return
        for index, item in enumerate(content):
            yield Reader(item, f"{self._at(key)}[{index}]", self.faults)

    def text(self, key: str) -> str:
        """Return the text under a key; "" if it is missing."""
        value = self._content.get(key, "")
        if not isinstance(value, str):
            self.fault(f"should be text, not {_kind(value)}", key)
            return ""
        return value

    def flag(self, key: str) -> bool:
        """Return the boolean under a key."""
        value = self._content.get(key)
        if not isinstance(value, bool):
            self.fault(f"should be true or false, not {_kind(value)}", key)
            return False
        return value

    def number(self, key: str, *, least: float | None, most: float | None = None) -> float | None:
        """Return the finite number under a key, or None if it is missing."""
        if key not in self._content:
            return None
        value = self._content[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
            self.fault(f"should be a number, not {_kind(value)}", key)
            return None
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"between {least} and {most}"
            self.fault(f"should be {bounds}, not {value}", key)
            return None
        return float(value)

    def whole(self, key: str, *, least: int | None, most: int | None = None) -> int | None:
        """Return the integer under a key, or None if it is missing."""
        value = self.number(key, least=least, most=most)
        if value is None:
            return None
        if not value.is_integer():
            self.fault(f"should be a whole number, not {value}", key)
            return None
        return int(value)

    def choice(self, key: str, words: Mapping[str, T], *, required: bool = False) -> T | None:
        """Return the value that the word under a key selects, or None if the key is missing and optional."""
        if key not in self._content and not required:
            return None
        value = self._content.get(key)
        if not isinstance(value, str) or value not in words:
            self.fault(f"should be one of {', '.join(words)}, not {_kind(value)}", key)
            return None
        return words[value]

    def _at(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return repr(value)
