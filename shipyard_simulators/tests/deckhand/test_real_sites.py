"""Real site designs, rendered as a real Deckhand rendered them (contract, B10). Without HTTP: they are large."""

from pathlib import Path
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


def site_file(name: str) -> Path:
    """Return a real site design; skip the test where the data is not there."""
    path = SITES / name
    if not path.is_file():
        pytest.skip(f"the real site designs are not beside this checkout ({path})")
    return path


def load(name: str) -> list[Any]:
    return list(yaml.load_all(site_file(name).read_bytes(), Loader=FAST))


def stored(site: str) -> Store:
    """Return a store whose only revision has the design of the site."""
    store = Store(Behaviour())
    store.put("design", checked(load(f"{site}.yaml")))
    return store


@pytest.fixture(scope="module")
def seaworthy() -> Store:
    return stored("seaworthy")


@pytest.fixture(scope="module")
def as_the_real_one_rendered_it() -> list[Any]:
    return load("seaworthy.rendered.yaml")


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
def test_a_real_site_renders_as_the_real_one_rendered_it(
    seaworthy: Store, as_the_real_one_rendered_it: list[Any], behaviour: Behaviour, differing: set[Any]
):
    rendered = Renderings(seaworthy, behaviour).documents(seaworthy.revision(1), clear=True)
    # Even the order is that of the real one; which values a shared object ends with depends on it.
    assert [key(each) for each in rendered] == [key(each) for each in as_the_real_one_rendered_it]
    pairs = list(zip(rendered, as_the_real_one_rendered_it, strict=True))
    assert {key(ours) for ours, theirs in pairs if ours["data"] != theirs["data"]} == differing
    assert all(ours["metadata"] == theirs["metadata"] for ours, theirs in pairs)


def test_a_real_site_with_a_mistake_does_not_render():
    store = stored("aiab")
    with pytest.raises(DeckhandError, match="kubernetes-etcd") as refused:
        Renderings(store, Behaviour()).documents(store.revision(1), clear=True)
    assert (refused.value.status, refused.value.error_type) == (409, "SubstitutionSourceNotFound")


def key(document: Any) -> tuple[str, str]:
    return document["schema"], str(document["metadata"]["name"])
