"""A DrydockOptions that quotes what it was sent: no viewer reads a secret of ours, at a commit or in an action."""

from dataclasses import dataclass, replace

import falcon
import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.domain.actions import ActionId
from shipyard_api.settings.types import Secret
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import Settings
from tests.integration.api import canaries
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.recorded import Everything
from tests.integration.api.test_secrets import stored
from tests.integration.api.wire import Site, everything_said, small_design
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer

TOKEN, PASSWORD = "canary-of-Drydock-1", "shipyard_CANARYcanary-of-a-peer"
DESIGN_URL = f"deckhand+http://drydock:{PASSWORD}@shipyard:9000/api/v1.0/revisions/{{revision}}"
VALIDATE = "validate_site_design.drydock_validate_site_design"
QUOTED = f"Cannot resolve design reference {DESIGN_URL.format(revision=1)}: {PASSWORD} (X: {TOKEN})"
ENTRY = {"name": "DD1", "message": QUOTED, "diagnostic": QUOTED, "error": True, "documents": []}
CUT = "Cannot resolve design reference deckhand+http://***@shipyard"
ANSWERS = {
    "a finding": Answer(400, {"kind": "Status", "status": "Failure", "details": {"messageList": [ENTRY]}}),
    "could not fetch": Answer(500, {"type": "error", "message": f"no attribute of {QUOTED}"}),
    "refused": Answer(403, {"type": "error", "message": QUOTED}),
}


@dataclass(frozen=True)
class Quoting:
    """An API, and what its worker is made of."""

    site: Site
    settings: Settings
    log: Everything

    def act(self) -> str:
        """Create an action, and let a worker run it until it has ended or must wait."""
        action = self.site.create_action()
        bootstrap.worker(self.settings)._run(ActionId(action))
        return action

    def shown_of(self, action: str) -> list[Result]:
        """All that a viewer can read about an action."""
        paths = ["", f"/steps/{VALIDATE}", f"/steps/{VALIDATE}/logs", f"/validations/{VALIDATE}", "/report"]
        return [
            *(self.site.viewer.get(f"/actions/{action}{path}", verbosity="5") for path in paths),
            self.site.viewer.get("/actions", verbosity="5"),
        ]


@pytest.fixture
def quoting(shared_url: str, store: Store, engine: sa.Engine, drydock: Peer, log: Everything) -> Quoting:
    empty(engine)
    own = DrydockOptions(url=drydock.url, token=Secret(TOKEN), design_url=DESIGN_URL, connect_timeout_seconds=1)
    chosen = replace(settings(shared_url), of_plugins={"drydock": own})
    site = new_site(bootstrap.api(chosen), store, engine, drydock)
    drydock.on("GET /health", Answer(200))
    return Quoting(site, chosen, log)


def leaks(*texts: str) -> list[str]:
    return [text for text in texts if "canary" in text.lower()]


def test_a_commit_and_an_action_tell_without_them_what_drydock_said(quoting: Quoting, engine: sa.Engine) -> None:
    site = quoting.site
    site.admin.load("design", *small_design())
    for answer in ANSWERS.values():
        site.drydock.on("POST /validatedesign", answer)
        told = site.admin.commit(dryrun="true")
        assert CUT in everything_said(told)
        assert leaks(told.text, *quoting.log.lines) == []

    site.admin.commit(force="true")
    for answer in ANSWERS.values():
        site.drydock.on("POST /validatedesign", answer)
        shown = quoting.shown_of(quoting.act())
        assert CUT in "".join([*(one.text for one in shown), *quoting.log.lines])
        assert leaks(*(one.text for one in shown), *quoting.log.lines, stored(engine).decode(errors="replace")) == []
        quoting.log.lines.clear()
        with engine.begin() as connection:
            connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now(), wake_at=None))


def test_what_secret_documents_hold_is_not_told_in_an_action_either(quoting: Quoting, engine: sa.Engine) -> None:
    site = quoting.site
    site.commit(*canaries.design())
    echo = {"message": f"cannot use {canaries.TEXT}", "diagnostic": "got canary-on-line-two", "error": True}
    for answer in (
        Answer(400, {"kind": "Status", "details": {"messageList": [echo]}}),
        Answer(403, {"type": "error", "message": f"cannot use {canaries.TEXT}"}),
    ):
        site.drydock.on("POST /validatedesign", answer)

        shown = quoting.shown_of(quoting.act())

        assert "cannot use ***" in "".join(one.text for one in shown)
        assert [one for one in shown if canaries.found_in(one.content)] == []
        assert canaries.found_in("\n".join(quoting.log.lines)) == []
        assert canaries.found_in(stored(engine)) == []
        site.admin.load("design", *canaries.design(), *small_design(["n7"])[1:2], buffermode="replace")
        site.drydock.on("POST /validatedesign", Answer(200, {"kind": "Status", "status": "Success", "details": {}}))


def test_how_the_machines_stand_is_told_without_them(quoting: Quoting) -> None:
    viewer, drydock = quoting.site.viewer, quoting.site.drydock
    drydock.on("GET /nodes", Answer(403, {"type": "error", "message": QUOTED}))

    refused = viewer.get("/site_statuses")

    assert refused.status == falcon.HTTP_502
    assert "Cannot resolve" in refused.text
    drydock.on("GET /nodes", Answer(200, [{"hostname": "n1", "status_name": QUOTED, "power_state": "on"}]))
    assert leaks(refused.text, viewer.get("/site_statuses").text, *quoting.log.lines) == []
