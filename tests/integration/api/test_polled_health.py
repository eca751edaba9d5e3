"""Holds from the health that the provisioner shows."""

import logging
from datetime import UTC, datetime

import falcon
import pytest
from msgspec.structs import replace

from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.holds.health import PollHealth, ReportHealth
from shipyard_api.usecases.holds.manage import NodeHolds
from tests.fakes.clock import FakeClock
from tests.fakes.provisioner import FakeProvisioner
from tests.integration.api.wire import JSON, Site, small_design


class Health:
    """A provisioner's answers about the health of its nodes."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self.silent = False
        self.asked = 0

    def __call__(self) -> dict[NodeName, str]:
        self.asked += 1
        if self.silent:
            raise Unavailable("Ironic", "health", "no answer")
        return {NodeName(node): why for node, why in self.shown.items()}


def polling(site: Site, health: Health | None, clock: FakeClock) -> PollHealth:
    fake = FakeProvisioner()
    fake.capabilities = replace(fake.capabilities, health=health)
    holds = NodeHolds(site.store, site.designs, RenderedDesigns(site.designs), clock)
    return PollHealth(ReportHealth(holds), fake, clock.now, 120.0)


def held(site: Site) -> list[tuple[str, str, str]]:
    return [(one["node"], one["placed_by"], one["reason"]) for one in site.viewer.get("/holds").json["holds"]]


def test_an_unhealthy_node_is_held_until_it_is_healthy(site: Site) -> None:
    """Once, although two workers look."""
    site.commit(*small_design())
    health, clock = Health(), FakeClock()
    polls = [polling(site, health, clock) for _ in range(2)]

    def show(**shown: str) -> list[tuple[str, str, str]]:
        health.shown = shown
        clock.advance(120)
        for poll in polls:
            poll()
        return held(site)

    by_hand = site.admin.post("/nodes/n1/holds", '{"reason": "new disk"}', JSON)
    own = ("n1", "ann", "new disk")
    assert by_hand.status == falcon.HTTP_201
    assert show() == show(n1="", n2="") == [own]
    assert show(n1="", n2="Critical", gone="Critical") == [own, ("n2", "shipyard", "Critical")]
    assert show(n2="Critical") == show() == [own, ("n2", "shipyard", "Critical")]
    assert show(n1="Warning", n2="Warning") == [
        own,
        ("n1", "shipyard", "Warning"),
        ("n2", "shipyard", "Warning"),
    ]
    assert show(n1="", n2="") == [own]


def test_it_asks_once_in_its_pause_and_again_after_a_silence(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.commit(*small_design())
    health, clock = Health(), FakeClock()
    health.silent, health.shown = True, {"n1": "Critical"}
    poll = polling(site, health, clock)
    with caplog.at_level(logging.WARNING, "shipyard_api"):
        assert [poll(), poll()] == [0, 0]
    assert [record.getMessage() for record in caplog.records] == ["peer in trouble"]

    health.silent = False
    clock.advance(120)
    assert [poll(), poll()] == [1, 0]
    assert health.asked == 2


def test_without_a_design_or_without_health_no_node_is_held(site: Site) -> None:
    health = Health()
    health.shown = {"n1": "Critical"}
    assert polling(site, health, FakeClock())() == 0
    site.commit(*small_design())
    assert polling(site, None, FakeClock(datetime.now(UTC)))() == 0
    assert held(site) == []
