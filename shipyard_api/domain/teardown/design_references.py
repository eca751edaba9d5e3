"""Design references that callers send (contract: promenade, chapter 1): only our own designs, and never fetched."""

import re
from typing import Any

from shipyard_api.domain.documents import Revision
from shipyard_api.domain.json_types import JsonObject

_LONGEST = 2000
_MEMBERS = {"rel": "design", "type": "application/x-yaml"}
_NUMBER = "([1-9][0-9]{0,8})"
_DECKHAND = re.compile(
    rf"deckhand\+https?://[A-Za-z0-9._:\[\]-]{{1,255}}(?:/[A-Za-z0-9._~-]+){{0,16}}/revisions/{_NUMBER}"
    r"/rendered-documents"
)


class NotOurDesign(ValueError):
    """The reference does not name a design of ours; the text says what would be right."""


def revision_of(href: str, template: str = "") -> Revision:
    """Return the revision that an ``href`` names. Raises NotOurDesign.

    ``template``: the address from which the provisioners of this site fetch designs, with ``{revision}``.
    """
    if len(href) <= _LONGEST:
        if match := _DECKHAND.fullmatch(href):
            return Revision(int(match[1]))
        before, place, behind = template.partition("{revision}")
        if place and (match := re.fullmatch(f"{re.escape(before)}{_NUMBER}{re.escape(behind)}", href)):
            return Revision(int(match[1]))
    raise NotOurDesign(f"href must name a revision of this site: {_right(template)}.")


def parse_reference(body: JsonObject, template: str = "") -> Revision:
    """Return the revision that the body of a request names. Raises NotOurDesign."""
    if unknown := sorted(set(body) - {*_MEMBERS, "href"}):
        raise NotOurDesign(f"A design reference has the members rel, href and type, and not {unknown[0][:60]!r}.")
    for name, right in _MEMBERS.items():
        if body.get(name) != right:
            raise NotOurDesign(f"{name} is {_shown(body, name)}: write {right!r}.")
    href = body.get("href")
    if not isinstance(href, str):
        raise NotOurDesign(f"href is {_shown(body, 'href')}: write {_right(template)}.")
    return revision_of(href, template)


def _shown(body: JsonObject, name: str) -> str:
    value: Any = body.get(name)
    return "missing" if name not in body else repr(value)[:60]


def _right(template: str) -> str:
    usual = "deckhand+https://HOST/PATH/revisions/N/rendered-documents"
    return f"{usual} or {template.replace('{revision}', 'N')}" if template else usual
