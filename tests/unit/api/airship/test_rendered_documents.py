"""Rendered designs as text."""

from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.api.airship.rendered_documents import _Texts
from shipyard_api.domain.documents import Query, Revision


def test_a_design_is_written_once_with_secrets_and_once_without_until_it_is_rendered_anew() -> None:
    designs, shown = [object(), object()], []

    def show(_design: object, _query: Query, *, clear: bool) -> list[Any]:
        shown.append(clear)
        return []

    texts = _Texts(cast(Any, SimpleNamespace(design=lambda _: designs[-1], shown=show)))
    for clear in (False, True, True, False):
        texts.of(Revision(1), Query(), clear=clear)
    assert shown == [False, True]

    designs.pop()
    texts.of(Revision(1), Query(), clear=False)
    assert shown == [False, True, False]
