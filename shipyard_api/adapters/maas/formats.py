"""What of BSON MAAS answers with: the details of machines."""

import struct
from collections.abc import Mapping

_TEXT, _BYTES, _NULL = 0x02, 0x05, 0x0A


def document(content: bytes) -> Mapping[str, bytes]:
    """Return the byte strings of a document by name, up to the first element of another type or a broken one."""
    elements: dict[str, bytes] = {}
    at = 4  # after the length of the document
    try:
        while content[at]:
            kind, end = content[at], content.index(0, at + 1)
            name, at = content[at + 1 : end].decode("utf-8", "replace"), end + 1
            if kind == _NULL:
                continue
            if kind not in (_TEXT, _BYTES):
                break
            (length,) = struct.unpack_from("<i", content, at)
            at += 4 + (kind == _BYTES)  # a byte string has a subtype
            if length < 0 or at + length > len(content):
                break
            elements[name] = content[at : at + length].removesuffix(b"\0" if kind == _TEXT else b"")
            at += length
    except (IndexError, ValueError, struct.error):
        pass
    return elements
