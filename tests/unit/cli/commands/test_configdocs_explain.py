"""``explain``: what is asked for, and what is refused before anything is."""

from tests.unit.cli.fake_api import Reply


def test_a_document_is_named_with_or_without_its_schema(api, run):
    api.replies["GET /renderedconfigdocs"] = Reply(200, {"values": []})

    run("explain", "n1", "/data/a", "--committed")
    run("explain", "drydock/BaremetalNode/v1/n1", "/data", "--committed")

    shared = [("version", "committed"), ("metadata.name", "n1")]
    assert [request.query[:-1] for request in api.requests] == [
        [*shared, ("explain", "/data/a")],
        [*shared, ("explain", "/data"), ("schema", "drydock/BaremetalNode/v1")],
    ]
