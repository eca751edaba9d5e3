"""The part of BSON that the details of a machine need: a document of byte strings."""

import struct
from collections.abc import Mapping


def dumps(document: Mapping[str, bytes]) -> bytes:
    """Return the document as BSON."""
    elements = b"".join(
        b"\x05" + name.encode() + b"\x00" + struct.pack("<iB", len(content), 0) + content
        for name, content in document.items()
    )
    return struct.pack("<i", len(elements) + 5) + elements + b"\x00"
