"""A stored document, and the equality of values."""

import json
from dataclasses import dataclass
from typing import Any

POLICY, DATA_SCHEMA, VALIDATION_POLICY = (
    f"deckhand/{kind}" for kind in ("LayeringPolicy", "DataSchema", "ValidationPolicy")
)
SECRET_KINDS = tuple(
    f"deckhand/{kind}/v1"
    for kind in (
        "Certificate",
        "CertificateAuthority",
        "CertificateAuthorityKey",
        "CertificateKey",
        "Passphrase",
        "PrivateKey",
        "PublicKey",
    )
)

Identity = tuple[str, str, str]


def is_kind(schema: str, kind: str) -> bool:
    """Return whether the schema is of the kind, in any version."""
    return schema.rpartition("/")[0] == kind


def canonical(value: object) -> str:
    """Return the value as text: equal texts for equal values of equal types."""
    return json.dumps(value, sort_keys=True)


def same(one: object, other: object) -> bool:
    """Return whether two values are equal as JSON: true is not 1, and 1 is not "1"."""
    return one == other and canonical(one) == canonical(other)


@dataclass(frozen=True, slots=True)
class Row:
    """A document as one revision wrote it.

    ``clear``: the data, where ``data`` is only a reference. ``since``: the revision that introduced this content. Data
    and metadata must not be changed in place.
    """

    number: int
    bucket: str
    revision: int
    since: int
    schema: str
    metadata: dict[str, Any]
    data: Any
    clear: Any

    @property
    def name(self) -> str:
        """The document's name."""
        return str(self.metadata["name"])

    @property
    def layer(self) -> str:
        """The document's layer; control documents have none."""
        return str(self.metadata["layeringDefinition"].get("layer") or "")

    @property
    def identity(self) -> Identity:
        """The key that is unique in the store."""
        return self.schema, self.layer, self.name

    @property
    def title(self) -> str:
        """The document's name in messages."""
        return f"[{self.schema}, {self.layer}] {self.name}"

    @property
    def control(self) -> bool:
        """Whether it is a control document; those are neither layered nor substituted."""
        return bool(self.metadata["schema"] == "metadata/Control/v1")

    @property
    def abstract(self) -> bool:
        """Whether it exists only for its children."""
        return bool(self.metadata["layeringDefinition"].get("abstract"))

    @property
    def replaces(self) -> bool:
        """Whether it replaces its parent."""
        return bool(self.metadata.get("replacement"))

    @property
    def encrypted(self) -> bool:
        """Whether its data is in the secret store."""
        return bool(self.metadata.get("storagePolicy") == "encrypted")

    @property
    def substitutions(self) -> list[dict[str, Any]]:
        """Its substitutions, in order."""
        return list(self.metadata.get("substitutions") or ())

    def content(self) -> str:
        """Return the key that two rows share if they hold the same document."""
        return canonical([self.clear, self.metadata])
