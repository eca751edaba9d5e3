"""An action that touches more of the site than the settings allow is refused, unless it is forced."""

import json

import falcon
import sqlalchemy as sa

from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.settings.types import Share
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import ActionOptions
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.wire import JSON, messages, small_design
from tests.integration.storage.rows import empty
from tests.peer import Peer


def test_a_share_that_is_too_large_is_found_refused_and_forced(
    shared_url: str, store: Store, engine: sa.Engine, drydock: Peer
) -> None:
    empty(engine)
    guarded = settings(shared_url, drydock.url, actions=ActionOptions(max_share_touched=Share(0.5)))
    site = new_site(bootstrap.api(guarded), store, engine, drydock)
    site.commit(*small_design(("n1", "n2", "n3")))
    few = {"name": "relabel_nodes", "parameters": {"target_nodes": ["n1"]}}
    whole, forced = {"name": "deploy_site"}, {"name": "deploy_site", "parameters": {"force": "true"}}

    refused = site.admin.act(json.dumps(whole))
    plans = [site.viewer.post("/plans", json.dumps(one), JSON).json for one in (whole, forced, few)]
    created = site.admin.act(json.dumps(forced))

    assert (refused.status, refused.json["message"]) == (falcon.HTTP_409, "Too much of the site would be touched")
    assert refused.json["reason"] == (
        "deploy_site would touch 3 of the site's 3 nodes (100 %), more than the 50 % that [actions] max_share_touched "
        "allows. Name fewer nodes, or use the parameter force=true."
    )
    assert messages(refused) != []
    titles = [(plan["refused"] or {}).get("title") for plan in plans]
    assert (titles[0], titles[1]) == ("Too much of the site would be touched", None)
    found = [[one["level"] for one in plan["findings"] if one["name"] == "ShareOfSiteTouched"] for plan in plans]
    assert found == [["Warning"], ["Warning"], []]
    assert created.status == falcon.HTTP_201
    # The nodes of the newest committed design count, whatever is installed.
    site.designs.tag(Revision(1), RevisionTag.SITE_ACTION_SUCCESS.value, {"dag_id": "-"})
    site.commit(*small_design(("n1",)))
    redeploy = {"name": "redeploy_server", "parameters": {"target_nodes": ["n1"], "force": True}}
    shares = [one["message"] for one in site.viewer.post("/plans", json.dumps(redeploy), JSON).json["findings"]]
    assert [share for share in shares if "1 of the site's 1 nodes" in share]
    assert site.viewer.post("/forecasts", json.dumps(whole), JSON).status == falcon.HTTP_200
