"""``explain``: what is asked for, and what is refused before anything is."""

from tests.unit.cli.fake_api import Reply
from tests.unit.tables import table


def test_a_document_is_named_with_or_without_its_schema(api, run):
    api.replies["GET /renderedconfigdocs"] = Reply(200, {"values": []})

    run("explain", "n1", "/data/a", "--committed")
    run("explain", "drydock/BaremetalNode/v1/n1", "/data", "--committed")

    shared = [("version", "committed"), ("metadata.name", "n1")]
    assert [request.query[:-1] for request in api.requests] == [
        [*shared, ("explain", "/data/a")],
        [*shared, ("explain", "/data"), ("schema", "drydock/BaremetalNode/v1")],
    ]


REFUSED = {
    "no name": (["a/", "/data"], "DOCUMENT 'a/' is no name"),
    "no path": (["a", ""], "PATH '' is no JSON pointer into the data"),
    "a relative path": (["a", "data/x"], "PATH 'data/x' is no JSON pointer"),
    "a path elsewhere": (["a", "/metadata"], "write one such as /data/node_labels."),
    "a name that begins like the data": (["a", "/database"], "is no JSON pointer"),
}


@table(("words", "said"), REFUSED)
def test_what_is_no_document_or_path_is_a_usage_error(api, run, words, said):
    result = run("explain", *words)

    assert (result.exit_code, said in result.stderr) == (2, True), result.output
    assert not api.requests
