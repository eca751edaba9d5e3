"""The section [webhooks] of the settings, and the file that it names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from shipyard_api.domain.facts.codec import KINDS
from shipyard_api.http import checked_base
from shipyard_api.setting_types import Secret

SHORTEST_SECRET = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KEYS = ("name", "url", "secret", "kinds")


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook. ``kinds``: the kinds of events it wants; empty: all."""

    name: str
    url: str
    secret: Secret
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Programs that are sent every event of the journal. Callers of the API cannot name any.

    ``file``: a YAML list of targets, each with name, url, secret (32 characters or more) and kinds (of events; all
    by default); empty: no webhooks.
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
            Target(one["name"], one["url"], Secret(one["secret"]), frozenset(one.get("kinds", ()))) for one in items
        )


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
        if not isinstance(secret := item.get("secret"), str) or len(secret) < SHORTEST_SECRET:
            yield f"target {number}: secret: needs {SHORTEST_SECRET} characters or more"
        kinds = item.get("kinds", [])
        if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in KINDS for kind in kinds):
            yield f"target {number}: kinds: needs a list of {', '.join(sorted(KINDS))}"


def _is_address(url: object) -> bool:
    if not isinstance(url, str):
        return False
    try:
        parts = urlsplit(url)
        checked_base(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        return False
    return url.isprintable() and " " not in url and not parts.fragment
