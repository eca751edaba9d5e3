"""Rendered designs: of a version, for people, and of a revision, for peers."""

from collections import OrderedDict
from threading import Lock
from typing import ClassVar

import falcon

from shipyard_api.api.airship.documents import YAML, as_yaml, version_of, wants_clear_text
from shipyard_api.api.airship.errors import BrokenDesign, RevisionNotNumeric
from shipyard_api.api.airship.explanations import explained, wanted_place
from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.reading import integer, is_descending, single
from shipyard_api.api.http.threads import threaded_design
from shipyard_api.domain.documents import Query, Rendering, Revision
from shipyard_api.domain.error_kinds import Invalid
from shipyard_api.domain.errors import NotRendered
from shipyard_api.usecases.configdocs.explain import ExplainValue
from shipyard_api.usecases.configdocs.read import ReadConfigdocs

_KEPT_TEXTS = 4
_LONGEST_KEPT = 16 * 1024 * 1024


class RenderedConfigdocs:
    """``/renderedconfigdocs``: the design that a version makes (contract: shipyard-rest, 5.4)."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_renderedconfigdocs"}
    cleartext_rule: ClassVar[str] = "workflow_orchestrator:get_renderedconfigdocs_cleartext"

    def __init__(self, read: ReadConfigdocs) -> None:
        self._read = read
        self._explain = ExplainValue(read)
        self._texts = _Texts(read)

    @threaded_design
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with all documents of the design, or how a value of one came to be."""
        clear = wants_clear_text(req, self.cleartext_rule)
        version = version_of(req)
        try:
            if (place := wanted_place(req)) is not None:
                resp.media = explained(self._explain, self._read.version(version), _query(req), place)
                return
            text = self._texts.of(self._read.version(version), Query(), clear=clear)
        except Invalid as failed:
            if failed.kind is not NotRendered:
                raise
            raise BrokenDesign(failed.findings) from failed
        resp.content_type = YAML
        resp.data = text


class RevisionDesign:
    """``/revisions/{revision}/rendered-documents``: a design, for a peer to fetch (contract: deckhand, A6).

    Who may read secrets gets them without asking, as from Deckhand: that is how Drydock and Promenade fetch.
    """

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_renderedconfigdocs"}
    cleartext_rule: ClassVar[str] = "workflow_orchestrator:get_renderedconfigdocs_cleartext"

    def __init__(self, read: ReadConfigdocs) -> None:
        self._explain = ExplainValue(read)
        self._texts = _Texts(read)

    @threaded_design
    def on_get(self, req: falcon.Request, resp: falcon.Response, revision: str) -> None:
        """Answer with the documents of the design that fit the query, or how a value of the only one came to be."""
        if not (revision.isascii() and revision.isdigit() and len(revision) <= 10):
            raise RevisionNotNumeric()
        if (place := wanted_place(req)) is not None:
            resp.media = explained(self._explain, Revision(int(revision)), _query(req), place)
            return
        rule = self.cleartext_rule
        clear = wants_clear_text(req, rule) if single(req, "cleartext-secrets") else may(req, rule)
        text = self._texts.of(Revision(int(revision)), _query(req), clear=clear)
        resp.content_type = YAML
        resp.data = text


class _Texts:
    """Designs as text. Writing a design takes longer than rendering it, so complete texts are cached."""

    def __init__(self, read: ReadConfigdocs) -> None:
        self._read = read
        self._kept: OrderedDict[tuple[Revision, bool], tuple[Rendering, bytes]] = OrderedDict()
        self._lock = Lock()

    def of(self, revision: Revision, query: Query, *, clear: bool) -> bytes:
        """Return the documents as YAML; raises NotFound and NotRendered."""
        design = self._read.design(revision)
        if query != Query():
            return as_yaml(self._read.shown(design, query, clear=clear))
        with self._lock:
            kept = self._kept.get((revision, clear))
            if kept is not None and kept[0] is design:
                self._kept.move_to_end((revision, clear))
                return kept[1]
        text = as_yaml(self._read.shown(design, query, clear=clear))
        if len(text) > _LONGEST_KEPT:
            return text
        with self._lock:
            self._kept[revision, clear] = design, text
            if len(self._kept) > _KEPT_TEXTS:
                self._kept.popitem(last=False)
        return text


def _query(req: falcon.Request) -> Query:
    """Return which documents are asked for, in Deckhand's words (contract: deckhand, A5)."""

    def words(name: str) -> tuple[str, ...]:
        return tuple(req.get_param_as_list(name) or ())

    labels = []
    for written in words("metadata.label"):
        key, sign, value = written.partition("=")
        if not sign or not key:
            raise falcon.HTTPInvalidParam("A label is written as key=value.", "metadata.label")
        labels.append((key, value))
    return Query(
        schemas=words("schema"),
        names=words("metadata.name"),
        layers=words("metadata.layeringDefinition.layer"),
        labels=tuple(labels),
        collections=words("status.bucket"),
        sort=words("sort"),
        descending=is_descending(req),
        limit=_limit(req),
    )


def _limit(req: falcon.Request) -> int | None:
    limit = integer(req, "limit")
    # Deckhand counts -1 as 1.
    return 1 if limit is not None and limit < 0 else limit
