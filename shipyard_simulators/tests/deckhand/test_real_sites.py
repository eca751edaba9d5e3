"""Real site designs, rendered as a real Deckhand rendered them (contract, B10). Without HTTP: they are large."""

from functools import cache
from typing import Any

import pytest
import yaml

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.documents import checked
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.renderings import Renderings
from shipyard_simulators.deckhand.store import Store
from shipyard_simulators.tests.deckhand.player import FAST
from shipyard_simulators.tests.programs import ROOT

SITES = ROOT.parent / "shared" / "data" / "sites"


@cache
def load(name: str) -> list[Any]:
    """Return the documents of a real site; skip the test where the data is not there."""
    path = SITES / name
    if not path.is_file():
        pytest.skip(f"the real site designs are not beside this checkout ({path})")
    return list(yaml.load_all(path.read_bytes(), Loader=FAST))


def rendered(site: str, behaviour: Behaviour) -> list[Any]:
    """Return the rendered documents of a revision that has the design of the site."""
    store = Store(Behaviour())
    store.put("design", checked(load(f"{site}.yaml")))
    return Renderings(store, behaviour).documents(store.revision(1), clear=True)


# What a real Deckhand made of the site differs from a correct rendering only here.
DIFFERING_BY_A_SHARED_OBJECT = {
    ("pegleg/AccountCatalogue/v1", "ucp_service_accounts"): "passwords written into a chart appear here",
    ("pegleg/EndpointCatalogue/v1", "ucp_endpoints"): "the port of one chart appears here",
    ("armada/Chart/v1", "ucp-maas"): "and is taken from here",
    ("armada/Chart/v1", "ucp-maas-scaled"): "and here",
}


@pytest.mark.parametrize(
    ("behaviour", "differing"),
    [(Behaviour().with_defects(), set()), (Behaviour(), set(DIFFERING_BY_A_SHARED_OBJECT))],
    ids=["as-seen", "correct"],
)
def test_a_real_site_renders_as_the_real_one_rendered_it(behaviour: Behaviour, differing: set[Any]):
    pairs = list(zip(rendered("seaworthy", behaviour), load("seaworthy.rendered.yaml"), strict=True))
    # Even the order is that of the real one; which values a shared object ends with depends on it.
    assert [key(ours) for ours, _ in pairs] == [key(theirs) for _, theirs in pairs]
    assert {key(ours) for ours, theirs in pairs if ours["data"] != theirs["data"]} == differing
    assert all(ours["metadata"] == theirs["metadata"] for ours, theirs in pairs)


def test_a_real_site_with_a_mistake_does_not_render():
    with pytest.raises(DeckhandError, match="kubernetes-etcd") as refused:
        rendered("aiab", Behaviour())
    assert (refused.value.status, refused.value.error_type) == (409, "SubstitutionSourceNotFound")


def key(document: Any) -> tuple[str, str]:
    return document["schema"], document["metadata"]["name"]
