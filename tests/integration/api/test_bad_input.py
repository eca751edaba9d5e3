"""What bad input gets: the right code, a message that says what and where, and nothing stored (product, section 12).

One table. Each row is a request to a site with a committed design; rows of strategies and configurations are put into
the buffer first, and the request is the commit.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.yaml_stream import write_documents
from tests.factories import document, group_entry, strategy_document
from tests.integration.api import description
from tests.integration.api.wire import JSON, V1, YAML, Site, configuration, everything_said, small_design
from tests.integration.storage.rows import counts
from tests.unit.tables import every_row

UNKNOWN = "01M7XV7VKPMDHXJVA7WMC7P6XP"


@dataclass(frozen=True)
class Row:
    """One bad request; ``says`` are words that its answer must hold, ``buffer`` is loaded before."""

    id: str
    method: str
    path: str
    code: int
    says: tuple[str, ...]
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    who: str = "admin"
    buffer: bytes = b""


def load(id_: str, body: bytes | str, *says: str, query: str = "", path: str = "/configdocs/other") -> Row:
    sent = body.encode() if isinstance(body, str) else body
    return Row(f"load: {id_}", "POST", V1 + path, 400, says, sent, YAML, query)


def commit(id_: str, documents: list[dict[str, Any]] | bytes, *says: str) -> Row:
    buffer = documents if isinstance(documents, bytes) else write_documents(documents)
    return Row(f"commit: {id_}", "POST", f"{V1}/commitconfigdocs", 400, says, buffer=buffer)


def config(id_: str, *says: str, **sections: Any) -> Row:
    return commit(f"configuration, {id_}", [configuration(**sections), *small_design()[1:]], *says)


def action(id_: str, body: bytes | str, *says: str, headers: Mapping[str, str] = JSON, query: str = "") -> Row:
    sent = body.encode() if isinstance(body, str) else body
    return Row(f"action: {id_}", "POST", f"{V1}/actions", 400, says, sent, headers, query)


def get(id_: str, path: str, *says: str, code: int = 400, query: str = "") -> Row:
    return Row(f"get: {id_}", "GET", V1 + path, code, says, query=query)


def token(id_: str, headers: Mapping[str, str]) -> Row:
    body = b'{"name": "deploy_site"}'
    return Row(f"token: {id_}", "POST", f"{V1}/actions", 401, ("Unauthenticated",), body, JSON | headers, who="nobody")


def nested(depth: int, open_: str = "[", close: str = "]") -> str:
    return open_ * depth + close * depth


# What is wrong within a stream, a document, a strategy or a configuration is in the tables of tests/unit: of each, here
# are those that show how it is answered.
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
PACKED = {"Content-Encoding": "gzip"}
LOOP = [group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["c"]), group_entry("c", depends_on=["a"])]
HUGE = group_entry("g", success_criteria={"percent_successful_nodes": 10**400})
HEAD = "schema: a/B/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: one\n"
ONE = write_documents([document("a/B/v1", "one", {})])
LONG_LAYER = {"schema": "metadata/Control/v1", "name": "one", "layeringDefinition": {"layer": "l" * 65}}

DOCUMENT_ROWS = [
    load("alias bomb", BOMB, "500,000 nodes", "line 6"),
    load("duplicate key", HEAD + "data:\n  a: 1\n  b: 2\n  a: 3\n", "duplicate key 'a'", "line 8", "line 6"),
    load("not UTF-8", b"a: \xff\xfe", "byte 4", "UTF-8"),
    load("three faults", "a: .nan\nb: !!set {x}\nb: 2", "line 1", "line 2", "line 3"),
    load(
        "too many faults", "---\n" * 40_000, "Document 1:", "39500 more findings are not listed, 39500 of them errors"
    ),
    load("no document", "# nothing\n", "no document", "empty-collection"),
    load("a text", "hello", "Document 1", "mapping"),
    load("JSON of another API", '{"name": "deploy_site"}', "'metadata' is missing", "'schema' must be"),
    load(
        "a long layer",
        write_documents([{"schema": "a/B/v1", "metadata": LONG_LAYER, "data": {}}]),
        "1 to 64 printable characters",
    ),
    load("twice the same document", ONE + ONE, "Documents 1 and 2"),
    load(
        "every fault of every document",
        write_documents([{"schema": "x"}, document("a/B/v1", "", {}), document("b", "two", {}, storagePolicy="x")]),
        *("Document 1: 'metadata'", "Document 1: 'schema'", "Document 2: 'metadata.name'"),
        *("Document 3: 'schema'", "Document 3: 'metadata.storagePolicy'"),
    ),
    commit(
        "strategy, cycle",
        [*small_design(), strategy_document(*LOOP)],
        *("form a cycle.", "circular dependency: a -> b -> c -> a", "/groups/0/depends_on"),
    ),
    commit(
        "strategy, a huge number",
        [*small_design(), strategy_document(HUGE)],
        "/groups/0/success_criteria/percent_successful_nodes",
    ),
    commit("strategy, null", [*small_design(), strategy_document() | {"data": None}], "object"),
    config("unknown section", "physical_provisoner", physical_provisoner={}),
    config("a huge time", "verify_interval", physical_provisioner={"verify_interval": 10**4000}),
    commit("configuration, a text", [configuration() | {"data": "x"}, *small_design()[1:]], "object"),
]

# What the contract says of bodies is in the wire cases; here is what JSON must not hold.
ACTION_ROWS = [
    action("not UTF-8", b'{"name": "deploy_site\xff"}', "utf-8"),
    action("UTF-16", '{"name": "deploy_site"}'.encode("utf-16"), "utf-8"),
    action("not a number", '{"name": "deploy_site", "x": NaN}', "NaN is not JSON"),
    action("a number too large", '{"name": "deploy_site", "x": 1e999}', "1e999 is too large"),
    action(
        "a number without a meaning", '{"name": "deploy_site", "x": [1, 1e308]}', "/x/1 is 1e+308; at most 9223372036"
    ),
    action("a number too long", '{"name": "deploy_site", "x": ' + "9" * 5000 + "}", "5000 digits"),
    action("duplicate key below", '{"name": "deploy_site", "parameters": {"a": 1, "a": 2}}', "'a' occurs twice"),
    action("nested lists", '{"name": "deploy_site", "x": ' + nested(65) + "}", "nested deeper than 64 levels"),
    action("nested without end", '{"name": "deploy_site", "x": ' + nested(40_000) + "}", "nested too deeply"),
    action("half a character in a key", '{"name": "deploy_site", "\\udfff": 1}', "surrogate"),
    action("NUL", '{"name": "deploy_site", "parameters": {"a": "\\u0000"}}', "NUL"),
    action("unknown name", '{"name": "deploy_the_site"}', "Unable to start action", "Did you mean 'deploy_site'?"),
    action(
        "too many parameters",
        json.dumps({"name": "deploy_site", "parameters": {str(number): 1 for number in range(65)}}),
        "64 properties",
    ),
    Row("action: too large", "POST", f"{V1}/actions", 413, ("at most 100000",), b"{" + b" " * 100_000 + b"}", JSON),
    Row("action: compressed", "POST", f"{V1}/actions", 415, ("gzip", "send it as it is"), b"{}", JSON | PACKED),
    Row("load: too large", "POST", f"{V1}/configdocs/other", 413, ("at most 4000000",), b"#" * 4_000_001, YAML),
]

PARAMETER_ROWS = [
    *(
        Row(
            f"commit: {name}={value}",
            "POST",
            f"{V1}/commitconfigdocs",
            400,
            (name, '"true" or "false"'),
            query=f"{name}={value}",
        )
        for name, value in (("force", "2"), ("force", "true,false"), ("dryrun", "tru%C3%A9"))
    ),
    Row("plan: force", "POST", f"{V1}/plans", 400, ("force",), b'{"name": "deploy_site"}', JSON, "force=x"),
    Row("stop: force", "POST", f"{V1}/actions/{UNKNOWN}/control/stop", 400, ("force",), query="force=x"),
    load("not a boolean", "", '"empty-collection" parameter is invalid', query="empty-collection=perhaps"),
    *(
        get(f"twice {path} {name}", path, f'"{name}"', "takes one value, not 2", query=f"{name}=1&{name}=1")
        for path, name in (
            *(("/actions", "since"), ("/nodes", "marker"), ("/configdocs", "base-version")),
            *(("/revisions/1/rendered-documents", "order"), ("/etcd-cluster-health-statuses", "design_ref")),
        )
    ),
    *(
        get(f"{path}, limit={limit}", path, "limit", f"from 1 to {most}", query=f"limit={limit}")
        for path, most in (
            *((f"/actions/{UNKNOWN}/{what}", 1000) for what in ("groups", "nodes")),
            *(("/nodes", 1000), ("/nodes/n1", 100)),
        )
        for limit in ("0", f"{most + 1}", "%D9%A3")
    ),
    *(
        get(f"limit={limit}", "/nodes", "limit", "from 1 to 1000", query=f"limit={limit}")
        for limit in ("-1", "x", "1.0", "1e2", "99999999999999999999", "+1", "0x1")
    ),
    *(
        get(f"groups, marker={marker:.8}", f"/actions/{UNKNOWN}/groups", "marker", query=f"marker={marker}")
        for marker in ("x", "-1", "2147483648")
    ),
    *(
        get(f"{path}, {name} too long", path, "the name of a node", query=f"{name}={'n' * 1001}")
        for path, name in ((f"/actions/{UNKNOWN}/nodes", "marker"), ("/nodes", "name"), ("/nodes", "marker"))
    ),
    get("groups, a status of nodes", f"/actions/{UNKNOWN}/groups", "'prepared' is none", query="status=prepared"),
    get("nodes, one status unknown", f"/actions/{UNKNOWN}/nodes", "'x'", query="status=success&status=x"),
    get("all nodes, statuses with a comma", "/nodes", "'success,failure' is none", query="status=success,failure"),
    *(
        get(f"one node, marker={marker}", "/nodes/n1", "marker", "the id of an action", query=f"marker={marker}")
        for marker in ("%D9%A3", "a-b")
    ),
    *(
        get(f"a design, limit={limit}", "/revisions/1/rendered-documents", "an integer", query=f"limit={limit}")
        for limit in ("--5", "5-", "1_0", "%C2%B2")
    ),
]

TOKEN_ROWS = [
    token("blank", {"X-Auth-Token": "   "}),
    token("very long", {"X-Auth-Token": "a" * 100_000}),
    token("control characters", {"X-Auth-Token": "a\tb\x7f"}),
    token("latin-1", {"X-Auth-Token": "é\xff"}),
    token("SQL", {"X-Auth-Token": "' OR 1=1 --"}),
    token("bearer without token", {"Authorization": "Bearer"}),
    token("bearer, unknown", {"Authorization": "Bearer abc"}),
    token("basic, unknown", {"Authorization": "Basic YWRtaW46YWRtaW4="}),
    token("basic, not base 64", {"Authorization": "Basic é:=*"}),
    token("basic, not UTF-8", {"Authorization": "Basic " + base64.b64encode(b"a:\xff").decode()}),
    token("basic without password", {"Authorization": "Basic " + base64.b64encode(b"admin").decode()}),
    token("basic, NUL", {"Authorization": "Basic " + base64.b64encode(b"a:\0").decode()}),
    token("another header", {"X-Subject-Token": "shipyard_x"}),
]

PATH_ROWS = [
    get("traversal", "/configdocs/..%2f..%2fetc%2fpasswd", "404 Not Found", code=404),
    get("two dots", "/actions/..", "Unknown Action: ..", code=404),
    get("NUL in an unknown address", "/x%00", "NUL"),
    get("line break in an id", "/actions/a%0d%0aX-Evil:%201", "Unknown Action: a\r\nX-Evil", code=404),
    # Of a path, the client here decodes what is escaped: what is no UTF-8 there, test_on_the_socket sends.
    get("very long", "/actions/" + "a" * 60_000, "Unknown Action", code=404),
    get("SQL in an id", "/actions/'%20OR%201=1%20--", "Unknown Action: ' OR 1=1 --", code=404),
    get("another version", "/../v2/actions", "404 Not Found", code=404),
    get("a huge revision", f"/revisions/{'9' * 400}/rendered-documents", "a whole number", code=404),
    load("collection too long", HEAD, "1 to 36", path="/configdocs/" + "c" * 37),
    *(
        Row(f"load: collection {id_}", "POST", f"{V1}/configdocs/{name}", 400, ("collection", "printable"), ONE, YAML)
        for id_, name in {
            "without a name": "",
            "one dot": ".",
            "two dots, quoted": "%2e%2e",
            "with a line break": "a%0d%0aSet-Cookie:%20x",
            "with an escape sequence": "%1b%5b2J",
            "written from right to left": "a%E2%80%AEb",
        }.items()
    ),
    Row("method: unknown", "BREW", f"{V1}/actions", 400, ("HTTP method",)),
]

ROWS = [*DOCUMENT_ROWS, *ACTION_ROWS, *PARAMETER_ROWS, *TOKEN_ROWS, *PATH_ROWS]


@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
def test_bad_input_is_refused_and_leaves_nothing(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    callers = {"admin": site.admin, "nobody": site.nobody}

    @every_row({row.id: row for row in ROWS})
    def refused(row: Row) -> None:
        if row.buffer:
            loaded = site.admin.post("/configdocs/design", row.buffer, YAML, buffermode="replace")
            assert loaded.status_code == 201, loaded.text
        before = counts(engine)

        answer = callers[row.who].ask(row.method, row.path, query=row.query or None, body=row.body, headers=row.headers)

        assert answer.status_code == row.code, answer.text
        status = answer.json
        assert (status["kind"].lower(), status["status"], status["code"]) == ("status", "Failure", answer.status)
        assert answer.headers["Content-Type"] == "application/json"
        said = everything_said(answer)
        for words in row.says:
            assert words in said
        assert len(answer.content) < 200_000
        assert counts(engine) == before

    refused()
    assert len({row.id for row in ROWS}) == len(ROWS) >= 80


def test_no_address_holds_nul(site: Site, engine: sa.Engine) -> None:
    """Whatever a parameter means, in every dialect: Postgres cannot store the character."""
    asked: dict[str, tuple[str, str, str]] = {}
    for method, path, operation in description.operations():
        given = [*description.read()["paths"][path].get("parameters", ()), *operation.get("parameters", ())]
        parameters = [description.at(part["$ref"]) if "$ref" in part else part for part in given]
        filled = re.sub(r"\{\w+\}", "1", path)
        asked |= {
            f"{method} {path} {part['name']}": (method, filled, f"{part['name']}=a%00")
            for part in parameters
            if part["in"] == "query"
        }
        if "{" in path:
            asked[f"{method} {path}"] = (method, re.sub(r"\{\w+\}", "%00", path), "")
    before = counts(engine)

    @every_row(asked)
    def refused(method: str, path: str, query: str) -> None:
        answer = site.admin.client.simulate_request(method, path, query_string=query or None)
        assert answer.status_code == 400, answer.text
        assert "NUL" in answer.text or method == "HEAD"

    refused()
    assert counts(engine) == before
    assert len(asked) >= 200
