"""The webhooks port, filled over HTTP."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from msgspec import Struct

from shipyard_api.domain.facts.codec import KINDS
from shipyard_api.http import checked_base
from shipyard_api.ports.state.journal import EventFormat
from shipyard_api.settings.types import Secret

SHORTEST_SECRET = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KEYS = ("name", "url", "secret", "kinds", "format")
_PREFIX = "whsec_"
# Bytes of a key, as Standard Webhooks 1.0.0 has them.
_SHORTEST_KEY, _LONGEST_KEY = 24, 64


class Target(Struct, frozen=True):
    """A webhook. ``kinds``: the kinds of events it wants; empty: all. ``secrets``: one at least, each signs."""

    name: str
    url: str
    secrets: tuple[Secret, ...]
    kinds: frozenset[str]
    format: EventFormat = EventFormat.SHIPYARD


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Programs that are sent every event of the journal. Callers of the API cannot name any.

    ``file``: a YAML list of targets, each with name, url, secret (``whsec_`` and base64, or 32 characters or more; a
    list while it is rotated), kinds (of events; all by default) and format (shipyard or cloudevents); empty: no
    webhooks.
    ``timeout_seconds``: how long a target may take to answer.
    """

    file: str = ""
    timeout_seconds: float = 10.0

    def targets(self) -> tuple[Target, ...]:
        """Return the targets of the file. Raises ValueError with every fault, without a secret."""
        if not self.file:
            return ()
        try:
            given = yaml.load(Path(self.file).expanduser().read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"[webhooks] file: {error}") from None
        except yaml.YAMLError as error:
            line = getattr(getattr(error, "problem_mark", None), "line", -1) + 1
            raise ValueError(f"[webhooks] file: {self.file} is not YAML; see line {line}") from None
        items = given if isinstance(given, list) else [given]
        if faults := list(_faults(items)):
            raise ValueError("; ".join(f"[webhooks] file: {fault}" for fault in faults))
        return tuple(
            Target(
                item["name"],
                item["url"],
                tuple(map(Secret, _listed(item["secret"]))),
                frozenset(item.get("kinds", ())),
                EventFormat(item.get("format", EventFormat.SHIPYARD.value)),
            )
            for item in items
        )


def key_of(secret: str) -> bytes:
    """Return the key that a secret stands for: its bytes behind ``whsec_``, or its text. Raises binascii.Error."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)


def _faults(items: list[Any]) -> Iterator[str]:
    names: set[str] = set()
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            yield f"target {number} is not a mapping with {', '.join(_KEYS)}"
            continue
        name = item.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in names:
            yield f"target {number}: name: needs one of its own, of a-z, 0-9, - and _"
        names.add(str(name))
        yield from (f"target {number}: there is no setting {key!s:.40}" for key in item.keys() - set(_KEYS))
        if not _is_address(item.get("url")):
            yield f"target {number}: url: needs http(s)://HOST/PATH without a user"
        secrets = _listed(item.get("secret"))
        if not secrets or not all(map(_is_secret, secrets)):
            yield (
                f"target {number}: secret: needs whsec_ and the base64 of {_SHORTEST_KEY} to {_LONGEST_KEY} bytes, "
                f"or {SHORTEST_SECRET} characters or more"
            )
        kinds = item.get("kinds", [])
        if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
            yield f"target {number}: kinds: needs a list of {', '.join(sorted(KINDS))}"
        formats = [format_.value for format_ in EventFormat]
        if item.get("format", formats[0]) not in formats:
            yield f"target {number}: format: needs {' or '.join(formats)}"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_secret(value: object) -> bool:
    if not isinstance(value, str):
        return False
    if not value.startswith(_PREFIX):
        return len(value) >= SHORTEST_SECRET
    try:
        return _SHORTEST_KEY <= len(key_of(value)) <= _LONGEST_KEY
    except binascii.Error:
        return False


def _is_address(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        checked_base(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        return False
    return url.isprintable() and " " not in url and not parts.fragment
