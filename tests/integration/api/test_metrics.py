"""``/metrics``: who may scrape it, and that a monitoring system can read it."""

from prometheus_client.parser import text_string_to_metric_families

from tests.integration.api.wire import JSON, Site, small_design


def test_metrics_are_for_those_who_may_look_and_can_be_parsed(site: Site) -> None:
    site.commit(*small_design())
    assert site.admin.post("/actions", '{"name": "deploy_site"}', JSON).status_code == 201

    answers = [caller.ask("GET", "/metrics").status_code for caller in (site.nobody, site.peer, site.viewer)]
    scraped = site.viewer.ask("GET", "/metrics")

    assert answers == [401, 403, 200]
    assert scraped.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {one.name: one for one in text_string_to_metric_families(scraped.text)}
    (action,) = families["shipyard_actions"].samples
    assert (action.labels, action.value) == ({"action": "deploy_site", "state": "queued"}, 1.0)
    called = {sample.labels["system"] for sample in families["shipyard_peer_call_seconds"].samples}
    assert "Drydock" in called
