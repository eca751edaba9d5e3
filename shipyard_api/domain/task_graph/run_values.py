"""Values that a run of tasks is given, for all of its nodes and for single ones: ``{VALUES.x}`` in parameters."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.exact_secrets import HIDDEN
from shipyard_api.domain.json_types import JsonObject, are_texts
from shipyard_api.domain.nodes import NodeName

MOST_VALUES = 1_000
LONGEST = 64 * 1024  # characters
_SHORTEST_SECRET = 5  # characters; a shorter one would mask ordinary output
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_KEYS = ("all", "nodes", "secret")

Value = str | int | float | bool


class ValuesError(ValueError):
    """The values cannot be used; the text says why."""


class RunValues(Struct, frozen=True):
    """``shared``: by name, for all nodes. ``nodes``: those of single nodes, in place of shared ones of the same name.

    ``secret``: names whose values are masked.
    """

    shared: Mapping[str, Value] = field(default_factory=dict)
    nodes: Mapping[NodeName, Mapping[str, Value]] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()

    @classmethod
    def read(cls, written: Any) -> "RunValues":
        """Return the values from what a caller writes: objects ``all`` and ``nodes``, a list ``secret``.

        Raises ValuesError.
        """
        if written is None:
            return cls()
        if not isinstance(written, Mapping) or not set(written) <= set(_KEYS):
            raise ValuesError(f"it is an object with {', '.join(_KEYS)}")
        nodes, secret = written.get("nodes", {}), written.get("secret", [])
        if not isinstance(nodes, Mapping) or not all(isinstance(node, str) for node in nodes):
            raise ValuesError("nodes is an object with the values of each node")
        if not are_texts(secret):
            raise ValuesError("secret is a list of names")
        values = cls(
            _read(written.get("all", {}), "all"),
            {NodeName(node): _read(values, f"nodes, {node}") for node, values in nodes.items()},
            frozenset(secret),
        )
        if sum(map(len, (values.shared, *values.nodes.values()))) > MOST_VALUES:
            raise ValuesError(f"it has more than {MOST_VALUES:,} values")
        if unknown := sorted(values.secret - {name for name, _ in values._all()}):
            raise ValuesError(f"secret names {unknown[0]}, which has no value")
        return values

    def knowing(self, secrets: Collection[str]) -> "RunValues":
        """Return the same values, where each that has one of these texts in it is secret."""
        also = {name for name, value in self._all() if any(secret in _text(value) for secret in secrets)}
        return replace(self, secret=self.secret | also)

    def on(self, node: NodeName) -> Mapping[str, Value]:
        """Return the values of a node."""
        return {**self.shared, **self.nodes.get(node, {})}

    def keys(self, node: NodeName) -> Mapping[str, str]:
        """Return the value of each ``{VALUES.x}`` on a node."""
        return {f"VALUES.{name}": _text(value) for name, value in self.on(node).items()}

    @property
    def secret_texts(self) -> tuple[str, ...]:
        """The secret values that outputs must not show."""
        texts = {_text(value) for name, value in self._all() if name in self.secret}
        return tuple(sorted(text for text in texts if len(text) >= _SHORTEST_SECRET))

    @property
    def masked(self) -> "RunValues":
        """The values as they are shown."""

        def shown(values: Mapping[str, Value]) -> Mapping[str, Value]:
            return {name: HIDDEN if name in self.secret else value for name, value in values.items()}

        return replace(
            self, shared=shown(self.shared), nodes={node: shown(values) for node, values in self.nodes.items()}
        )

    def to_json(self) -> JsonObject:
        """Return the form that ``read`` takes."""
        return {
            "all": dict(self.shared),
            "nodes": {node: dict(values) for node, values in self.nodes.items()},
            "secret": sorted(self.secret),
        }

    def _all(self) -> Iterator[tuple[str, Value]]:
        for values in (self.shared, *self.nodes.values()):
            yield from values.items()


def _read(written: Any, where: str) -> Mapping[str, Value]:
    if not isinstance(written, Mapping):
        raise ValuesError(f"{where} is an object of names and values")
    for name, value in written.items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise ValuesError(f"{where} has the name {name!r:.60}; a name has letters, digits, '_', '.' and '-'")
        if not isinstance(value, Value) or len(_text(value)) > LONGEST:
            raise ValuesError(f"{name} in {where} is no text, number, true or false of at most {LONGEST:,} characters")
    return dict(written)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value)
