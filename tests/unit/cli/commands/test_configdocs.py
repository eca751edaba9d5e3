"""The commands about documents: what is sent, what is printed, what is refused (contract: shipyard-cli, 2.1 to 5.5)."""

import pytest
import yaml

from tests.unit.cli.fake_api import Reply
from tests.unit.cli.printed import unpadded
from tests.unit.tables import table

STATUS = {"kind": "Status", "status": "Success", "message": "Validations succeeded", "reason": "Validation"}
DOCUMENTS = b"# kept\nschema:   a/A/v1\n---\nschema: 'b/B/v1'\n"
DIFF = """\
--- a/design/a/A/v1/site/one
+++ b/design/a/A/v1/site/one
@@ -1,3 +1,3 @@
 data:
-  mtu: 1500
+  mtu: 9100
 schema: a/A/v1
"""


def row(name, status="modified", base=("committed", 4), new=("buffer", 5), **fields):
    return {
        "collection_name": name,
        "base_version": base[0],
        "base_revision": base[1],
        "base_status": "not present" if status == "created" else "present",
        "new_version": new[0],
        "new_revision": new[1],
        "new_status": status,
    } | fields


COMPARED = [row("design", documents=[{"schema": "a/A/v1", "name": "one", "status": "modified", "changes": []}])]
TABLE = """\
   Comparing Base: committed (revision 4)
    \t to New: buffer (revision 5)
Collection          Base             New
design              present          modified
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The current directory, with a directory ``d`` of documents; only names ending in .yaml and .yml count."""
    files = {
        "d/a.yaml": "schema: a\n",
        "d/b.yml": "schema: b\n",
        "d/c.YAML": "schema: c\n",
        "d/d.yaml.bak": "schema: d\n",
        "d/e.json": "{}",
        "d/deep/deeper/f.yaml": "schema: f\n",
        "empty/readme.txt": "no: {",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "d" / "directory.yaml").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Options of `create configdocs c` -> the query that is sent, and the documents.
CREATE = {
    "no mode": ("--filename=d/a.yaml", "", "a"),
    "append": ("--append --filename=d/a.yaml", "buffermode=append", "a"),
    "replace": ("--replace --filename=d/a.yaml", "buffermode=replace", "a"),
    "files in the order given": ("--filename=d/b.yml --filename=d/a.yaml", "", "ba"),
    "a directory": ("--directory=d", "", "ab"),
    "directories": ("--directory=d/deep/deeper --directory=d", "", "fab"),
    "recurse": ("--directory=d --recurse", "", "abf"),
    "empty, with a mode": ("--empty-collection --append", "buffermode=append&empty-collection=True", ""),
}


@table(("options", "query", "documents"), CREATE)
def test_create_configdocs_sends(api, run, site, options, query, documents):
    api.replies["POST /configdocs/c"] = Reply(201, STATUS)
    result = run("create", "configdocs", "c", *options.split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "Configuration documents added.\nStatus: Validations succeeded\nReason: Validation\n"
    (request,) = api.requests
    assert (request.method, request.path) == ("POST", "/api/v1.0/configdocs/c")
    assert sent(request) == query
    assert request.headers["content-type"] == "application/x-yaml"
    assert request.headers["content-length"] == str(len(request.body))
    assert [one["schema"] for one in yaml.safe_load_all(request.body)] == list(documents)


def sent(request):
    """The query without the verbosity that every request has."""
    assert request.query[-1] == ("verbosity", "1")
    return "&".join(f"{name}={value}" for name, value in request.query[:-1])


def test_a_collection_is_one_segment_whatever_its_name(api, run):
    run("create", "configdocs", "a/b?c", "--empty-collection")
    assert api.requests[0].path == "/api/v1.0/configdocs/a%2Fb%3Fc"


COMMITTED = "Configuration documents committed."
COMMITS = {
    "plain": ("", "force=False&dryrun=False", COMMITTED),
    "force": ("--force", "force=True&dryrun=False", COMMITTED),
    "dryrun": (
        "--dryrun",
        "force=False&dryrun=True",
        "Configuration documents were not committed. Currently in dryrun mode.",
    ),
}


@table(("options", "query", "title"), COMMITS)
def test_commit_configdocs_sends(api, run, options, query, title):
    api.replies["POST /commitconfigdocs"] = Reply(200, STATUS)
    result = run("commit", "configdocs", *options.split())
    assert (result.exit_code, result.stdout) == (0, f"{title}\nStatus: Validations succeeded\nReason: Validation\n")
    (request,) = api.requests
    assert sent(request) == query
    assert (request.headers["content-type"], request.headers["content-length"]) == ("application/x-yaml", "0")
    assert request.body == b""


# What stands after `get` -> the path and the query of the one request.
READ = {
    "compare": ("configdocs", "configdocs", "versions=committed&versions=buffer"),
    "compare -c -b": ("configdocs -c -b", "configdocs", "versions=buffer&versions=committed"),
    "compare -s -b": ("configdocs -s -b", "configdocs", "versions=buffer&versions=successful_site_action"),
    "compare long": (
        "configdocs --committed --buffer --cleartext-secrets",
        "configdocs",
        "versions=buffer&versions=committed",
    ),
    "collection -c": ("configdocs --collection=c -c", "configdocs/c", "version=committed"),
    "collection -s": ("configdocs --collection=c -s", "configdocs/c", "version=successful_site_action"),
    "collection in clear text": (
        "configdocs --collection=c --committed --cleartext-secrets",
        "configdocs/c",
        "version=committed&cleartext-secrets=true",
    ),
    "rendered in clear text": (
        "renderedconfigdocs --cleartext-secrets",
        "renderedconfigdocs",
        "version=buffer&cleartext-secrets=true",
    ),
}


@table(("line", "path", "query"), READ)
def test_get_sends_one_request(api, run, line, path, query):
    compares = query.startswith("versions=")
    api.replies[f"GET /{path}"] = Reply(200, []) if compares else Reply(200, DOCUMENTS, "application/x-yaml")
    result = run("get", *line.split())
    assert (result.exit_code, result.stderr) == (0, "")
    (request,) = api.requests
    assert (request.method, request.path) == ("GET", f"/api/v1.0/{path}")
    assert sent(request) == query


BASE_AND_DIFF = {
    "base": ("--base-version=successful-site-action", "base-version=successful-site-action&diff-version=buffer"),
    "diff": ("--diff-version=last-site-action", "base-version=committed&diff-version=last-site-action"),
    "both": (
        "--diff-version=committed --base-version=last-site-action",
        "base-version=last-site-action&diff-version=committed",
    ),
    "rendered": (
        "--base-version=committed --diff-version=successful-site-action --rendered",
        "base-version=committed&diff-version=successful-site-action&rendered=true",
    ),
}


@table(("options", "query"), BASE_AND_DIFF)
def test_base_and_diff_version_show_the_table_and_then_what_differs(api, run, options, query):
    api.replies["GET /configdocs"] = [Reply(200, COMPARED), Reply(200, DIFF.encode(), "text/x-diff; charset=utf-8")]
    result = run("get", "configdocs", *options.split())
    assert (result.exit_code, result.stderr) == (0, "")
    assert unpadded(result.stdout) == f"{TABLE}\n{DIFF}"
    assert [sent(request) for request in api.requests] == [query, f"{query}&format=unified"]


def test_a_diff_that_fails_is_an_error_below_the_table(api, run):
    api.replies["GET /configdocs"] = [Reply(200, COMPARED), Reply(503, {"message": "Later", "reason": "Busy"})]
    result = run("get", "configdocs", "--base-version=committed")
    assert (result.exit_code, unpadded(result.stdout)) == (1, f"{TABLE}Error: Later\nReason: Busy\n")


BLOCKED = {
    "message": "Blocked by another process",
    "reason": "Conflicting action: configdocs_update",
    "details": {"errorCount": 1, "messageList": [{"message": "held by the API", "error": True}]},
}
# Command line -> the API's answer, and all that is printed. Exit code 1, always.
FAILURES = {
    "create answered as if it were a read": (
        "create configdocs c --filename=d/a.yaml",
        Reply(200, STATUS),
        "Error: Validations succeeded\nReason: Validation\n",
    ),
    "commit 500 without details": (
        "commit configdocs",
        Reply(500, {}),
        "Error: Not specified\nReason: Not specified\n- Error: 500 from URL (POST /commitconfigdocs)\n",
    ),
}
PATHS = (
    "POST /configdocs/c",
    "POST /commitconfigdocs",
    "GET /configdocs",
    "GET /configdocs/c",
    "GET /renderedconfigdocs",
)


@table(("line", "reply", "text"), FAILURES)
def test_an_error_of_the_api_is_printed_and_ends_with_1(api, run, site, line, reply, text):
    api.replies |= dict.fromkeys(PATHS, reply)
    result = run(*line.split())
    assert (result.exit_code, result.stdout, result.stderr) == (1, text.replace("URL", api.url), "")


@pytest.mark.parametrize("content", [b"a: [", b"a: \xe9\n", b"a: *b\n"], ids=["syntax", "not UTF-8", "no anchor"])
def test_a_file_that_is_no_yaml_is_refused_with_the_words_of_the_parser(api, run, site, content):
    (site / "bad.yaml").write_bytes(content)
    result = run("create", "configdocs", "c", "--filename=d/a.yaml", "--filename=bad.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    error = result.stderr.split("\n", 3)[3]
    assert error.startswith("Error: YAML file bad.yaml is invalid because ")
    assert len(error) > len("Error: YAML file bad.yaml is invalid because \n")
    assert api.requests == []


COLOURED = {
    "colours": ({}, True),
    "NO_COLOR": ({"NO_COLOR": "1"}, False),
    "a terminal without colours": ({"TERM": "dumb"}, False),
}


@table(("environment", "coloured"), COLOURED)
def test_what_differs_is_coloured_on_a_terminal_unless_unwanted(api, run_main, environment, coloured):
    api.replies["GET /configdocs"] = [Reply(200, COMPARED), Reply(200, DIFF.encode(), "text/x-diff")]
    written, code = run_main("get", "configdocs", "--base-version=committed", **environment)
    text = written.decode()
    assert code == 0
    if not coloured:
        assert unpadded(text) == f"{TABLE}\n{DIFF}"
        return
    for line in (
        "\x1b[1m--- a/design/a/A/v1/site/one\x1b[0m",
        "\x1b[36m@@ -1,3 +1,3 @@\x1b[0m",
        " data:",
        "\x1b[31m-  mtu: 1500\x1b[0m",
        "\x1b[32m+  mtu: 9100\x1b[0m",
    ):
        assert line in text.split("\n")


EVIL = b"a: \x1b[2J\x1b]0;gone\x07\tb\nc: \xc2\x9b31m\n"
OBEYED = {
    "cli": ("a: \ufffd[2J\ufffd]0;gone\ufffd\tb\nc: \ufffd31m\n\n"),
    "raw": EVIL.decode() + "\n",
}


@pytest.mark.parametrize(("form", "text"), OBEYED.items(), ids=OBEYED.keys())
def test_the_server_controls_a_terminal_only_in_the_raw_form(api, run_main, form, text):
    api.replies["GET /renderedconfigdocs"] = Reply(200, EVIL, "application/x-yaml")
    assert run_main("--output-format", form, "get", "renderedconfigdocs") == (text.encode(), 0)
