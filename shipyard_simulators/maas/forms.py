"""The fields of a request, from its query or its form (url-encoded or multipart)."""

import base64
import binascii
from collections.abc import Iterable
from email.parser import BytesParser
from email.policy import HTTP
from urllib.parse import parse_qsl

from shipyard_simulators.maas.errors import invalid

_TRUE = {"true", "1", "yes", "on", "t", "y"}
_FALSE = {"false", "0", "no", "off", "f", "n", ""}


class Fields:
    """Named values in order; a list repeats the name."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = list(pairs)

    def __contains__(self, name: str) -> bool:
        return any(each == name for each, _ in self._pairs)

    def names(self) -> list[str]:
        """Return every name once."""
        return list(dict.fromkeys(name for name, _ in self._pairs))

    def pairs(self) -> list[tuple[str, str]]:
        """Return all pairs."""
        return list(self._pairs)

    def all(self, name: str) -> list[str]:
        """Return every value of the name."""
        return [value for each, value in self._pairs if each == name]

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of the name."""
        values = self.all(name)
        return values[-1] if values else default

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return the boolean of the name. Raises MaasError."""
        if name not in self:
            return default
        value = self.get(name).lower()
        if value not in _TRUE | _FALSE:
            raise invalid(name, f"'{value}' is not a truth value.")
        return value in _TRUE

    def number(self, name: str, default: int) -> int:
        """Return the integer of the name. Raises MaasError."""
        value = self.get(name, str(default))
        if not value.isascii() or not value.isdigit():
            raise invalid(name, "Enter a whole number.")
        return int(value)


def read_query(text: str) -> Fields:
    """Return the fields of a query."""
    return Fields(parse_qsl(text, keep_blank_values=True))


def read_form(content_type: str, content: bytes) -> Fields | None:
    """Return the fields of a body: none for other media types, None without a Content-Type."""
    if not content_type:
        return None
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return Fields(parse_qsl(content.decode("utf-8", "replace"), keep_blank_values=True))
    if kind == "multipart/form-data":
        return Fields(_parts(content_type, content))
    return Fields()


def _parts(content_type: str, content: bytes) -> Iterable[tuple[str, str]]:
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + content)
    if not message.is_multipart():
        return
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        value = part.get_payload(decode=False)
        if not isinstance(name, str) or not isinstance(value, str):
            continue
        content = value.encode("utf-8", "surrogateescape")
        if part.get("Content-Transfer-Encoding", "").lower() == "base64":
            # Old clients wrap every field in a part of its own.
            try:
                content = base64.b64decode(content, validate=False)
            except binascii.Error:
                continue
        yield name, content.decode("utf-8", "replace")
