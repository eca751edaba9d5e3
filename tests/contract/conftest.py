"""What the suites of the ports run over."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import real_ironic
from tests.contract.ironic_site import IronicSite, RealIronicSite
from tests.contract.provisioner_sites import SITES, DrydockSite, MaasSite, Plot, StartSite
from tests.contract.redfish_site import RedfishSite
from tests.peer import Peer, running

SITES["ironic"] = IronicSite  # here, as it is built on the others' module
SITES["redfish, a plug-in"] = RedfishSite
if real_ironic.URL:
    SITES["real-ironic"] = RealIronicSite


@pytest.fixture
def peer() -> Iterator[Peer]:
    """A peer that answers as it is told."""
    with running() as scripted:
        yield scripted


@pytest.fixture(params=SITES)
def start_site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartSite]:
    """Return what starts a site of each provisioner; everything is stopped after the test."""
    with ExitStack() as cleanup:
        yield lambda plot: SITES[request.param](plot, cleanup, tmp_path)


@pytest.fixture
def start_drydock(tmp_path: Path) -> Iterator[Callable[..., DrydockSite]]:
    """Return what starts a Drydock that plays the given sections of a scenario."""
    with ExitStack() as cleanup:
        yield lambda **scenario: DrydockSite(Plot(), cleanup, tmp_path, **scenario)


@pytest.fixture
def start_maas(tmp_path: Path) -> Iterator[Callable[..., MaasSite]]:
    """Return what starts a MAAS with the given machines that plays the given sections of a scenario."""
    with ExitStack() as cleanup:
        yield lambda **scenario: MaasSite(Plot(), cleanup, tmp_path, **scenario)
