"""Which references name a design of ours. What callers get for others is in tests/integration/api."""

import pytest

from shipyard_api.domain.teardown.design_references import NotOurDesign, revision_of
from tests.unit.tables import every_row

TEMPLATE = "http://" + "s" * 1000 + "/{revision}/" + "x" * 982  # 2,000 characters with nine digits


@every_row(
    [
        ("deckhand+http://deckhand/api/v1.0/revisions/7/rendered-documents", "", 7),
        ("deckhand+http://deckhand/api/v1.0/revisions/07/rendered-documents", "", None),
        ("http://shipyard/designs/3", "http://shipyard/designs/{revision}", 3),
        ("http://shipyard/designs/3", "", None),
        # the longest that is read, and one more
        (TEMPLATE.format(revision=123456789), TEMPLATE, 123456789),
        ("x" + TEMPLATE.format(revision=123456789), "x" + TEMPLATE, None),
    ]
)
def test_a_reference_names_a_revision_of_this_site_or_none(href: str, template: str, revision: int | None) -> None:
    if revision is None:
        with pytest.raises(NotOurDesign, match="href must name a revision of this site"):
            revision_of(href, template)
    else:
        assert revision_of(href, template) == revision
