"""Stored plans: a person signs what an action would do, and the action starts only while that holds (product, 13)."""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NewType, Self
from urllib.parse import quote

from msgspec import Struct

from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.documents import canonical
from shipyard_api.domain.error_kinds import some
from shipyard_api.domain.findings import Finding, error, hidden_character
from shipyard_api.domain.holds import Hold, by_node
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.stored import ByFields

PlanId = NewType("PlanId", str)
"""A ULID."""

NODES, HOLDS = "nodes", "holds"
"""The parts of a plan that change without a change of the design."""

_SECRETS, _SALT = "secrets", "salt"

_MOST_OF_A_PART = 10
_LONGEST_VALUE = 80
_LONGEST_REASON = 1000
_KEYS = ("hash", "reason")


@dataclass(frozen=True, slots=True)
class PlanContent:
    """What a signature covers: everything that decides what the action does. Equal content has an equal digest.

    ``parts``: JSON by the name of the part; times, chances and what pods a drain would meet are no part of it.
    ``secrets``: texts that no plan shows, by name. Keyed hashes cover them, and they are never stored.
    """

    parts: JsonObject
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, secrets: Mapping[str, str] = MappingProxyType({}), /, **parts: Any) -> Self:
        """Return the content of these parts, in this order, in the stored form that comparisons use."""
        return cls(json.loads(json.dumps(parts)), secrets)

    @property
    def salt(self) -> str:
        """The key of the hashes of secrets; empty before ``keyed``. Short secrets can be guessed with it."""
        salt: str = self.parts.get(_SECRETS, {}).get(_SALT, "")
        return salt

    def keyed(self, salt: str) -> Self:
        """Return the content with its secrets as hashes under this key, as it is stored and compared."""
        hashes = {
            name: hmac.new(salt.encode(), text.encode(), "sha256").hexdigest() for name, text in self.secrets.items()
        }
        return replace(self, parts={**self.parts, _SECRETS: {_SALT: salt, **hashes}})

    @property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON of the parts, in hexadecimal."""
        return hashlib.sha256(canonical(self.parts)).hexdigest()

    @property
    def nodes(self) -> Sequence[NodeName]:
        """The nodes that the action works on, in order of name."""
        return sorted(map(NodeName, self.parts[NODES]))

    def at(self, statuses: Mapping[NodeName, NodeStatus], holds: Sequence[Hold]) -> Self:
        """Return the content with these statuses of its nodes, and these active holds on them.

        ``statuses``: of the nodes that an action has worked on.
        """
        nodes = {node: statuses.get(node, NodeStatus.NOT_STARTED).value for node in self.nodes}
        return replace(self, parts={**self.parts, NODES: nodes, HOLDS: dict(by_node(holds))})

    def differences(self, now: "PlanContent") -> Sequence[str]:
        """Return a sentence for each difference, in the order of the parts; long parts end with a count."""
        lines: list[str] = []
        for part in dict.fromkeys((*self.parts, *now.parts)):
            find = _changed_secrets if part == _SECRETS else _differences
            part_lines = list(find(part, self.parts.get(part), now.parts.get(part)))
            omitted = len(part_lines) - _MOST_OF_A_PART
            lines += [*part_lines[:_MOST_OF_A_PART], *([f"{part}: {omitted} more differences."] if omitted > 0 else [])]
        return lines


# The last parentheses: a name is its owner's to choose, and a subject has none.
_SUBJECT = re.compile(r"(?P<name>.*?) ?\(oidc:(?P<subject>[^()]*)\)", re.DOTALL)


def with_subject(name: str, subject: str) -> str:
    """Return the user of a person whom an identity provider knows by a subject, whatever the person's name is today."""
    return f"{name} (oidc:{quote(subject, safe='|@:+/=')})".strip()


def same_name(one: str, other: str) -> bool:
    """Return whether two names may be one person's: case and blanks at the ends make no second person.

    Between two persons of an identity provider the subject decides.
    """
    subjects = [_SUBJECT.fullmatch(name.strip()) for name in (one, other)]
    if subjects[0] and subjects[1]:
        return subjects[0]["subject"] == subjects[1]["subject"]
    one, other = (found["name"] if found else name for found, name in zip(subjects, (one, other), strict=True))
    return one.strip().casefold() == other.strip().casefold()


class Signature(ByFields, Struct, frozen=True):
    """An approval of a plan. ``key``: unique to the person's token or user, unlike ``by``."""

    by: str
    key: str
    at: datetime
    reason: str = ""

    def is_of(self, user: str, key: str) -> bool:
        """Return whether the person may be this one: a second token of the same name is no second person."""
        return same_name(user, self.by) or key == self.key


class StoredPlan(Struct, frozen=True, kw_only=True):
    """A plan that was stored; nothing of it changes but ``signatures``, the oldest first, and ``action``.

    ``request``: the body of the request. ``shown``: the plan as it was answered. ``stored_by``, ``key``: as in
    ``Signature``. ``action``: the one that was started from it; None before that.
    """

    id: PlanId
    name: ActionName
    digest: str
    content: PlanContent
    request: JsonObject
    shown: JsonObject
    stored_by: str
    key: str
    stored_at: datetime
    signatures: Sequence[Signature] = ()
    action: ActionId | None = None

    def signed_for(self, user: str, key: str) -> Sequence[Signature]:
        """Return the signatures that count if this person starts the action: those of others."""
        return [signature for signature in self.signatures if not signature.is_of(user, key)]

    def __str__(self) -> str:
        signed = f", approved by {some([signature.by for signature in self.signatures])}" if self.signatures else ""
        return f"plan {self.id} (hash {self.digest}), stored by {self.stored_by}{signed}"


def check_signature(written: JsonObject) -> tuple[Finding, ...]:
    """Return the faults in the body of an approval."""
    return tuple(_faults(written))


def _faults(written: JsonObject) -> Iterator[Finding]:
    for name in written:
        if name not in _KEYS:
            yield error("UnknownField", f"There is no field {name[:60]!r}. There are: {', '.join(_KEYS)}.")
    if not isinstance(written.get("hash"), str):
        yield error("NoHash", "hash is the hash of the plan that was read, a text.", path="/hash")
    reason: Any = written.get("reason")
    if reason is None:
        return
    if not isinstance(reason, str) or len(reason) > _LONGEST_REASON:
        yield error("NoText", f"reason is a text of at most {_LONGEST_REASON} characters.", path="/reason")
    elif code := hidden_character(reason, but="\n\t"):
        yield error("HiddenCharacter", f"reason has the character {code}, which is not shown.", path="/reason")


def _differences(path: str, before: Any, now: Any) -> Iterator[str]:
    if before == now:
        return
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted({*before, *now}):
            yield from _differences(f"{path} {key}", before.get(key), now.get(key))
    elif isinstance(before, list) and isinstance(now, list):
        yield f"{path}: {_changed(before, now)}."
    elif before is None:
        yield f"{path}: {_text(now)} is new."
    elif now is None:
        yield f"{path}: {_text(before)} is gone."
    else:
        yield f"{path}: was {_text(before)}, is {_text(now)}."


def _changed_secrets(_part: str, before: JsonObject | None, now: JsonObject | None) -> Iterator[str]:
    """Yield what has another secret in it; nothing can be said of hashes under different keys."""
    before, now = before or {}, now or {}
    if before.get(_SALT) == now.get(_SALT):
        yield from (f"{name} has changed." for name in sorted({*before, *now}) if before.get(name) != now.get(name))


def _changed(before: Sequence[Any], now: Sequence[Any]) -> str:
    old, new = ({canonical(value): _text(value) for value in values} for values in (before, now))
    said = [
        f"{some(names)} {'is' if len(names) == 1 else 'are'} {word}"
        for texts, other, word in ((new, old, "new"), (old, new, "gone"))
        if (names := [text for key, text in texts.items() if key not in other])
    ]
    return "; ".join(said) or "the order has changed"


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
