"""The nodes of a design, with their addresses."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

Addresses = Mapping[str, Mapping[str, str]]
"""Of each node, the fixed address in each network."""

_PREFERRED = "oam"
_OUT_OF_BAND = "oob"


def read_addresses(site: Path) -> Addresses:
    """Return those of a YAML stream. Raises OSError, UnicodeDecodeError and YAMLError."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return addresses(yaml.load_all(site.read_text(encoding="utf-8"), loader))


def addresses(documents: Iterable[object]) -> Addresses:
    """Return those of the BaremetalNodes among documents."""
    found = {}
    for document in documents:
        match document:
            case {
                "schema": "drydock/BaremetalNode/v1",
                "metadata": {"name": str(name)},
                "data": {"addressing": list(entries)},
            }:
                found[name] = dict(filter(None, map(_fixed, entries)))
    return found


def network(site: Addresses) -> str:
    """Return the network to reach the nodes by: the one that most have an address in, out-of-band ones last."""
    counts = Counter(name for own in site.values() for name in own)
    order = sorted(counts, key=lambda name: (name == _OUT_OF_BAND, name != _PREFERRED, -counts[name], name))
    return next(iter(order), _PREFERRED)


def _fixed(entry: object) -> tuple[str, str] | None:
    match entry:
        case {"network": str(name), "address": str(address)} if address not in ("", "dhcp"):
            return name, address
    return None
