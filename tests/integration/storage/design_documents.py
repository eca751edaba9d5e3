"""Documents as they are put into a design store, with their defaults filled in."""

from collections.abc import Mapping, Sequence
from typing import Any

from shipyard_api.adapters.encryption.fernet import FernetEncryption
from shipyard_api.domain.documents import CONTROL, DOCUMENT, LAYERING_POLICY, Collection, Document, SchemaFault
from shipyard_api.domain.documents.document import with_defaults

A, B, C = Collection("a"), Collection("b"), Collection("c")
# Keys of the tests, oldest first.
KEYS = tuple(f"{letter * 42}A=" for letter in "KLM")


def encryption(*keys: str) -> FernetEncryption:
    """Encryption with these keys, newest first."""
    return FernetEncryption(keys or KEYS[:1])


def doc(name: str, data: Any = "x", schema: str = "a/B/v1", layer: str = "site", **metadata: Any) -> Document:
    """A cleartext document of the layer ``site``, unless it says otherwise."""
    whole = {"schema": DOCUMENT, "name": name, "layeringDefinition": {"layer": layer}, **metadata}
    return Document(schema, name, layer, with_defaults(whole), data)


def secret(name: str, data: Any = "x", **more: Any) -> Document:
    """A document that is to be kept encrypted."""
    return doc(name, data, storagePolicy="encrypted", **more)


def policy(name: str, *layers: str) -> Document:
    """A layering policy."""
    metadata = with_defaults({"schema": CONTROL, "name": name})
    return Document(LAYERING_POLICY, name, "", metadata, {"layerOrder": list(layers or ["global", "site"])})


def anything_goes(_schema: Mapping[str, Any]) -> Any:
    """Compile any schema to one that nothing breaks."""

    def check(_value: object) -> Sequence[SchemaFault]:
        return ()

    return check
