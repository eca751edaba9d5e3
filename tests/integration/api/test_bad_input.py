"""What bad input gets: the right code, a message that says what and where, and nothing stored (product, section 12).

One table. Each row is a request to a site with a committed design; rows of strategies and configurations are put into
the buffer first, and the request is the commit.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa

from shipyard_api.api.mount import Mount
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.yaml_stream import write_documents
from tests.designs import data_schema
from tests.factories import document, group_entry, strategy_document
from tests.integration.api.conftest import new_site
from tests.integration.api.wire import JSON, V1, YAML, Site, configuration, everything_said, small_design
from tests.integration.storage.rows import counts, empty
from tests.peer import Peer

if TYPE_CHECKING:
    pass

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


def one(id_: str, change: Mapping[str, Any], *says: str, **metadata: Any) -> Row:
    """A document that is ordinary but for one thing."""
    entry = document("a/B/v1", "one", {}, **metadata) | change
    return load(id_, write_documents([{key: value for key, value in entry.items() if value is not ...}]), *says)


def bare(id_: str, key: str, *says: str) -> Row:
    """A document without one key of its metadata."""
    entry = document("a/B/v1", "one", {})
    del entry["metadata"][key]
    return load(id_, write_documents([entry]), *says)


def commit(id_: str, documents: list[dict[str, Any]] | bytes, *says: str) -> Row:
    buffer = documents if isinstance(documents, bytes) else write_documents(documents)
    return Row(f"commit: {id_}", "POST", f"{V1}/commitconfigdocs", 400, says, buffer=buffer)


def strategy(id_: str, *groups: Any, says: tuple[str, ...]) -> Row:
    return commit(f"strategy, {id_}", [*small_design(), strategy_document(*groups)], *says)


def group(id_: str, *says: str, **fields: Any) -> Row:
    """A strategy of one group that is ordinary but for some fields; ``...`` takes a field out."""
    entry = {key: value for key, value in (group_entry("g") | fields).items() if value is not ...}
    return strategy(id_, entry, says=says)


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


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {k: v}\n" + "\n".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}], x{name}: [{', '.join([f'*{before}'] * 9)}]}}"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
PACKED = {"Content-Encoding": "gzip"}
LOOP = [group_entry("a", depends_on=["b"]), group_entry("b", depends_on=["c"]), group_entry("c", depends_on=["a"])]
BRANCHING = {
    "definitions": {f"d{i}": {"allOf": [{"$ref": f"#/definitions/d{i + 1}"}] * 8} for i in range(12)} | {"d12": {}},
    "$ref": "#/definitions/d0",
}
HEAD = "schema: a/B/v1\nmetadata:\n  schema: metadata/Document/v1\n  name: one\n"

YAML_ROWS = [
    load("alias bomb", BOMB, "500,000 nodes", "line 6"),
    load("merge bomb", MERGE_BOMB, "500,000 nodes"),
    load("merge into itself", "a: &a\n  <<: *a\n", "alias 'a'", "line 2"),
    load("alias inside itself", "a: &a [*a]", "is used inside its own anchor"),
    load("alias without anchor", "a: *b", "no such anchor", "line 1, column 4"),
    load("nested sequences", nested(100_000), "nested deeper than 64 levels"),
    load("nested mappings", nested(5_000, "{a: ", "}"), "nested deeper than 64 levels"),
    load("nested blocks", "\n".join(" " * depth + "a:" for depth in range(80)), "nested deeper than 64 levels"),
    load("duplicate key", HEAD + "data:\n  a: 1\n  b: 2\n  a: 3\n", "duplicate key 'a'", "line 8", "line 6"),
    load("duplicate key of another type", "1: a\n'1': b\n", "duplicate key '1'"),
    load("duplicate top-level key", HEAD + "schema: c/D/v1\n", "duplicate key 'schema'"),
    load("python tag", "a: !!python/object/apply:os.system [id]", "python/object/apply:os.system"),
    load("python name", "a: !!python/name:os.system", "python/name:os.system"),
    load("local tag", "a: !secret x", "!secret"),
    load("binary", "a: !!binary aGk=", "'!!binary'"),
    load("set", "a: !!set {x, y}", "'!!set'"),
    load("not UTF-8", b"a: \xff\xfe", "byte 4", "UTF-8"),
    load("UTF-16", "a: b".encode("utf-16"), "UTF-16", "send UTF-8"),
    load("latin-1", "a: é".encode("latin-1"), "byte 4 (0xe9) is not UTF-8"),
    load("half a character", b"a: \xed\xa0\x80", "UTF-8"),
    load("NUL", b"a: \x00", "U+0000"),
    load("NUL, escaped", 'a: "\\0"', "NUL"),
    load("control character", b"a: \x07", "U+0007"),
    load("tab", "a:\n\tb: c\n", "line 2"),
    load("not a number", "a: .nan", "NaN"),
    load("infinity", "a: -.inf", "infinity"),
    load("a number too long", f"a: {'9' * 5000}", "5,000"),
    load("a number too long in base 16", f"a: 0x{'f' * 4000}", "more than 4,300 digits"),
    load("a list for a key", "? [a, b]\n: c", "cannot be a key"),
    load("unclosed bracket", "a: [1, 2", "line 1", "flow sequence"),
    load("unclosed quote", 'a: "b\n', "quoted scalar"),
    load("not YAML at all", "@#$%^&*()", "line 1, column 1"),
    load("a second byte order mark", b"a: 1\n\xef\xbb\xbf---\nb: 2\n", "byte order mark"),
    load("too many documents", "---\n" * 50_001, "50,000 documents"),
    load("three faults", "a: .nan\nb: !!set {x}\nb: 2", "line 1", "line 2", "line 3"),
    load(
        "too many faults", "---\n" * 40_000, "Document 1:", "39500 more findings are not listed, 39500 of them errors"
    ),
    load("no document", "# nothing\n", "no document", "empty-collection"),
    load("no body", b"", "Content-Length is a required header", "Content Length is 0 or not specified"),
]

SHAPE_ROWS = [
    load("a text", "hello", "Document 1", "mapping"),
    load("a list", "- a\n- b", "Document 1", "mapping"),
    load("nothing in the second", write_documents([document("a/B/v1", "one", {})]) + b"---\n", "Document 2"),
    load("JSON of another API", '{"name": "deploy_site"}', "'metadata' is missing", "'schema' must be"),
    one("schema missing", {"schema": ...}, "'schema' must be", "/schema"),
    one("schema a number", {"schema": 5}, "'schema' must be"),
    one("schema of two parts", {"schema": "a/v1"}, "'schema' must be", "word/Word/v1"),
    one("schema without version", {"schema": "a/B/c"}, "'schema' must be"),
    one("schema with a line break", {"schema": "a/B/v1\n"}, "'schema' must be"),
    one("schema a path", {"schema": "../../etc/v1"}, "'schema' must be"),
    one("schema too long", {"schema": f"a/{'B' * 60}/v1"}, "at most 64 characters"),
    one("metadata missing", {"metadata": ...}, "'metadata' is missing", "/metadata"),
    one("metadata a list", {"metadata": []}, "'metadata' is missing or not a mapping"),
    bare("name missing", "name", "'metadata.name'", "/metadata/name"),
    one("name empty", {}, "1 to 64 ", name=""),
    one("name a number", {}, "'metadata.name'", name=5),
    one("name too long", {}, "1 to 64 ", name="n" * 65),
    bare("metadata.schema missing", "schema", "metadata/Document/v1"),
    one("metadata.schema of another version", {}, "metadata/Document/v1", schema="metadata/Document/v1.0"),
    bare("layering missing", "layeringDefinition", "layeringDefinition.layer"),
    one("layer missing", {}, "layeringDefinition.layer", layeringDefinition={"abstract": False}),
    one("layer a number", {}, "layeringDefinition.layer", layeringDefinition={"layer": 1}),
    one("layer too long", {}, "at most 64 printable characters", layeringDefinition={"layer": "l" * 65}),
    one("abstract a text", {}, "true or false", layeringDefinition={"layer": "site", "abstract": "no way"}),
    bare("storage policy missing", "storagePolicy", "cleartext or encrypted"),
    one("storage policy unknown", {}, "cleartext or encrypted", storagePolicy="secret"),
    load(
        "a schema that expands a billion times",
        write_documents([data_schema("a/B/v1", BRANCHING)]),
        "cannot be used: its references and combinations (allOf, anyOf, oneOf, not) expand to",
    ),
    load("twice the same document", write_documents([document("a/B/v1", "one", {})] * 2), "Documents 1 and 2"),
    load(
        "every fault of every document",
        write_documents([{"schema": "x"}, document("a/B/v1", "", {}), document("b", "two", {}, storagePolicy="x")]),
        "Document 1: 'metadata'",
        "Document 1: 'schema'",
        "Document 2: 'metadata.name'",
        "Document 3: 'schema'",
        "Document 3: 'metadata.storagePolicy'",
    ),
]

STRATEGY_ROWS = [
    strategy("cycle", *LOOP, says=("form a cycle.", "circular dependency: a -> b -> c -> a", "/groups/0/depends_on")),
    strategy(
        "two cycles",
        *LOOP,
        group_entry("x", depends_on=["y"]),
        group_entry("y", depends_on=["x"]),
        says=("a -> b -> c -> a", "x -> y -> x"),
    ),
    group("waits for itself", "g -> g", "/groups/0/depends_on/0", depends_on=["g"]),
    group("unknown parent", "'nobody', which is not a group", "/groups/0/depends_on/0", depends_on=["nobody"]),
    strategy(
        "misspelt parent",
        group_entry("control-nodes"),
        group_entry("b", depends_on=["control-node"]),
        says=("Did you mean 'control-nodes'?",),
    ),
    strategy("duplicate name", group_entry("a"), group_entry("a"), says=("Two deployment groups are named 'a'",)),
    group("name missing", '"name" is a required property', "/groups/0", name=...),
    group("name empty", "/groups/0/name", name=""),
    group("name a number", "/groups/0/name", "string", name=7),
    group("name too long", "/groups/0/name", "128", name="g" * 129),
    group("critical missing", '"critical" is a required property', critical=...),
    group("critical a text", "/groups/0/critical", "boolean", critical="true"),
    group("critical a number", "/groups/0/critical", "boolean", critical=1),
    group("depends_on missing", '"depends_on" is a required property', depends_on=...),
    group("depends_on a text", "/groups/0/depends_on", "array", depends_on="a"),
    group("depends_on null", "/groups/0/depends_on", "array", depends_on=None),
    group("depends_on numbers", "/groups/0/depends_on/0", "string", depends_on=[1]),
    group("selectors missing", '"selectors" is a required property', selectors=...),
    group("selectors a mapping", "/groups/0/selectors", "array", selectors={}),
    group("selector a text", "/groups/0/selectors/0", "object", selectors=["n1"]),
    group("misspelt criterion", "/groups/0/selectors/0", "node_name", selectors=[{"node_name": ["n1"]}]),
    group("criterion a text", "/groups/0/selectors/0/node_tags", "array", selectors=[{"node_tags": "x"}]),
    group("criterion of numbers", "/groups/0/selectors/0/rack_names/0", "string", selectors=[{"rack_names": [1]}]),
    group("label without colon", "/selectors/0/node_labels/0", selectors=[{"node_labels": ["role"]}]),
    group("label without key", "/selectors/0/node_labels/0", selectors=[{"node_labels": [": x"]}]),
    group("label without value", "/selectors/0/node_labels/0", selectors=[{"node_labels": ["role: "]}]),
    group("label of two keys", "/selectors/0/node_labels/0", selectors=[{"node_labels": [{"a": "b", "c": "d"}]}]),
    group("label of no key", "/selectors/0/node_labels/0", selectors=[{"node_labels": [{}]}]),
    group("label with a number", "/selectors/0/node_labels/0/a", selectors=[{"node_labels": [{"a": 1}]}]),
    group("criteria a list", "/groups/0/success_criteria", "object", success_criteria=[]),
    group("misspelt threshold", "percent_succesful_nodes", success_criteria={"percent_succesful_nodes": 5}),
    *(
        group(
            f"{threshold} {value!r:.20}",
            f"/groups/0/success_criteria/{threshold}",
            success_criteria={threshold: value},
        )
        for threshold, values in {
            "percent_successful_nodes": [-1, 101, 50.5, "50", True, None, 10**400],
            "minimum_successful_nodes": [-1, 0.5, 10**20, [1]],
            "maximum_failed_nodes": [-1, "none", 10**4000],
        }.items()
        for value in values
    ),
    strategy("a group that is a text", "control-nodes", says=("/groups/0", "object")),
    commit("strategy, no groups", [*small_design(), strategy_document() | {"data": {}}], '"groups" is a required'),
    commit("strategy, groups a mapping", [*small_design(), strategy_document() | {"data": {"groups": {}}}], "/groups"),
    commit("strategy, a list", [*small_design(), strategy_document() | {"data": []}], "object"),
    commit("strategy, null", [*small_design(), strategy_document() | {"data": None}], "object"),
]

CONFIG_ROWS = [
    commit("configuration, missing", small_design()[1:], "Missing required document shipyard/DeploymentConfiguration"),
    config("armada missing a manifest", '"manifest" is a required property', "/armada", armada={}),
    config("armada a text", "/armada", "object", armada="full-site"),
    config("manifest a number", "/armada/manifest", "string", armada={"manifest": 5}),
    config("unknown section", "physical_provisoner", physical_provisoner={}),
    config("unknown key", "deploy_timout", "/physical_provisioner", physical_provisioner={"deploy_timout": 5}),
    config("a time that is a text", "deploy_timeout", "integer", physical_provisioner={"deploy_timeout": "5"}),
    config("a negative time", "prepare_node_timeout", physical_provisioner={"prepare_node_timeout": -5}),
    config("a fraction of a second", "verify_interval", physical_provisioner={"verify_interval": 0.5}),
    config("more than a year", "31536000", physical_provisioner={"verify_interval": 31_536_001}),
    config("a huge time", "verify_interval", physical_provisioner={"verify_interval": 10**4000}),
    config(
        "a strategy that is not there",
        "Missing required document shipyard/DeploymentStrategy",
        "name: mine",
        physical_provisioner={"deployment_strategy": "mine"},
    ),
    config("a strategy that is a list", "deployment_strategy", physical_provisioner={"deployment_strategy": ["a"]}),
    commit("configuration, a list", [configuration() | {"data": [1]}, *small_design()[1:]], "object"),
    commit("configuration, a text", [configuration() | {"data": "x"}, *small_design()[1:]], "object"),
]

ACTION_ROWS = [
    action("not JSON", "{name: deploy_site}", "JSON could not be decoded", "/api/v1.0/actions: Invalid JSON in body"),
    action("cut short", '{"name": "deploy', "JSON could not be decoded", "char 9"),
    action("two values", '{"name": "deploy_site"} {}', "Extra data"),
    action("not UTF-8", b'{"name": "deploy_site\xff"}', "utf-8"),
    action("UTF-16", '{"name": "deploy_site"}'.encode("utf-16"), "utf-8"),
    action("not a number", '{"name": "deploy_site", "x": NaN}', "NaN is not JSON"),
    action("infinity", '{"name": "deploy_site", "x": -Infinity}', "-Infinity is not JSON"),
    action("a number too large", '{"name": "deploy_site", "x": 1e999}', "1e999 is too large"),
    action(
        "a number without a meaning", '{"name": "deploy_site", "x": [1, 1e308]}', "/x/1 is 1e+308; at most 9223372036"
    ),
    action(
        "a number of 4,000 digits", '{"name": "deploy_site", "x": ' + "9" * 4000 + "}", "/x is 99999999999999999999…"
    ),
    action("a number too long", '{"name": "deploy_site", "x": ' + "9" * 5000 + "}", "5000 digits"),
    action("duplicate key", '{"name": "deploy_site", "name": "x"}', "'name' occurs twice"),
    action("duplicate key below", '{"name": "deploy_site", "parameters": {"a": 1, "a": 2}}', "'a' occurs twice"),
    action("duplicate key, half a character", '{"name": "x", "\\ud800": 1, "\\ud800": 2}', "occurs twice"),
    action("nested lists", '{"name": "deploy_site", "x": ' + nested(65) + "}", "nested deeper than 64 levels"),
    action("nested far", '{"name": "deploy_site", "x": ' + nested(940) + "}", "nested deeper than 64 levels"),
    action("nested without end", '{"name": "deploy_site", "x": ' + nested(40_000) + "}", "nested too deeply"),
    action("half a character", '{"name": "deploy_site", "parameters": {"a": "\\ud800"}}', "surrogate"),
    action("half a character in a key", '{"name": "deploy_site", "\\udfff": 1}', "surrogate"),
    action("half a character in the name", '{"name": "\\ud800"}', "surrogate"),
    action("NUL", '{"name": "deploy_site", "parameters": {"a": "\\u0000"}}', "NUL"),
    action("a list", '["deploy_site"]', "not an object", "type : object"),
    action("a text", '"deploy_site"', "not an object"),
    action("null", "null", "not an object"),
    action("no name", '{"parameters": {}}', '"name" is a required property', "Failed validator: required : ['name']"),
    action("name null", '{"name": null}', "/name", "Failed validator: type : string"),
    action("name a number", '{"name": 5}', "/name", "string"),
    action("unknown name", '{"name": "deploy_the_site"}', "Unable to start action", "Did you mean 'deploy_site'?"),
    action("name in capitals", '{"name": "DEPLOY_SITE"}', "Unsupported Action: DEPLOY_SITE"),
    action("an action of nobody's", '{"name": "upgrade_site"}', "Unsupported Action: upgrade_site"),
    action("parameters a list", '{"name": "deploy_site", "parameters": []}', "/parameters", "object"),
    action("parameters null", '{"name": "deploy_site", "parameters": null}', "/parameters"),
    action(
        "too many parameters",
        json.dumps({"name": "deploy_site", "parameters": {str(number): 1 for number in range(65)}}),
        "64 properties",
    ),
    action("id a number", '{"name": "deploy_site", "id": 5}', "/id", "string"),
    action("user a list", '{"name": "deploy_site", "user": []}', "/user"),
    action("actionStatus unknown", '{"name": "deploy_site", "actionStatus": "Done"}', "/actionStatus", "Complete"),
    action("steps a text", '{"name": "deploy_site", "steps": "all"}', "/steps", "array"),
    action("a step's status", '{"name": "deploy_site", "steps": [{"status": "x"}]}', "/steps/0/status"),
    action("empty", b"", "Json body is required", "Bad input, no body provided"),
    action("no content type", '{"name": "deploy_site"}', "Json body is required", headers={}),
    action("another content type", '{"name": "deploy_site"}', "Json body is required", headers=YAML),
    action("not a boolean", '{"name": "deploy_site"}', '"true" or "false"', query="allow-intermediate-commits=maybe"),
    Row("action: too large", "POST", f"{V1}/actions", 413, ("at most 100000",), b"{" + b" " * 100_000 + b"}", JSON),
    Row("action: compressed", "POST", f"{V1}/actions", 415, ("gzip", "send it as it is"), b"{}", JSON | PACKED),
    Row("load: compressed", "POST", f"{V1}/configdocs/other", 415, ("send it as it is",), b"{}", YAML | PACKED),
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
            buffer=b"",
        )
        for name in ("force", "dryrun")
        for value in ("maybe", "TRUE", "2", "%00", "true,false", "tru%C3%A9")
    ),
    Row("plan: force", "POST", f"{V1}/plans", 400, ("force",), b'{"name": "deploy_site"}', JSON, "force=x"),
    Row("stop: force", "POST", f"{V1}/actions/{UNKNOWN}/control/stop", 400, ("force",), query="force=x"),
    load("not a boolean", "", '"empty-collection" parameter is invalid', query="empty-collection=perhaps"),
    load("unknown mode", "{}", "Invalid buffermode", "rejectoncontents, append, replace", query="buffermode=overwrite"),
    load("a mode with NUL", "{}", "Invalid buffermode", query="buffermode=append%00"),
    get("unknown version", "/configdocs/design", "version must be buffer", query="version=newest"),
    get(
        "a version with hyphens that nothing has",
        "/configdocs/design",
        "No collection design for revision successful_site_action",
        code=404,
        query="version=successful-site-action",
    ),
    get("one version to compare", "/configdocs", "User must pass in 2 valid versions", query="versions=committed"),
    get("versions with a comma", "/configdocs", "User must pass in 2 valid", query="versions=committed,buffer"),
    get("three versions", "/configdocs", "2 valid", query="versions=committed&versions=buffer&versions=buffer"),
    get("twice the same", "/configdocs", "Versions must be different", query="versions=buffer&versions=buffer"),
    get("unknown versions", "/configdocs", "new is not a valid version", query="versions=committed&versions=new"),
    get("versions in capitals", "/configdocs", "BUFFER is not", query="versions=committed&versions=BUFFER"),
    get("verbosity", "/actions", "a value from 0 to 5", query="verbosity=high"),
    *(
        get(f"twice {path} {name}", path, f'"{name}"', "takes one value, not 2", query=f"{name}=1&{name}=1")
        for path, name in (
            *(("/actions", name) for name in ("since", "limit", "order", "marker", "verbosity")),
            *(("/nodes", name) for name in ("name", "marker", "limit")),
            *(("/configdocs", name) for name in ("base-version", "diff-version", "rendered", "format")),
            *(("/revisions/1/rendered-documents", name) for name in ("limit", "order", "cleartext-secrets")),
            ("/etcd-cluster-health-statuses", "design_ref"),
        )
    ),
    *(
        get(f"{what}, limit={limit}", f"/actions/{UNKNOWN}/{what}", "limit", "from 1 to 1000", query=f"limit={limit}")
        for what in ("groups", "nodes")
        for limit in ("0", "-1", "1001", "x", "1.0", "1e2", "%D9%A3", "99999999999999999999", "%00", "+1", "0x1")
    ),
    *(
        get(f"groups, marker={marker:.8}", f"/actions/{UNKNOWN}/groups", "marker", query=f"marker={marker}")
        for marker in ("x", "-1", "2147483648", "9" * 400, "%00")
    ),
    Row("get: events of NUL", "GET", "/events", 404, ("Unknown action",), query="action=%00"),
    get("nodes, marker NUL", f"/actions/{UNKNOWN}/nodes", "the name of a node", query="marker=%00"),
    get("nodes, marker too long", f"/actions/{UNKNOWN}/nodes", "the name of a node", query=f"marker={'n' * 1001}"),
    get("groups, unknown status", f"/actions/{UNKNOWN}/groups", "'done' is none of: not_st", query="status=done"),
    get("groups, a status of nodes", f"/actions/{UNKNOWN}/groups", "'prepared' is none", query="status=prepared"),
    get("nodes, unknown status", f"/actions/{UNKNOWN}/nodes", "not_started, prepared", query="status=ok"),
    get("nodes, one status unknown", f"/actions/{UNKNOWN}/nodes", "'x'", query="status=success&status=x"),
    get("nodes, a group with NUL", f"/actions/{UNKNOWN}/nodes", "the name of a deployment group", query="group=%00"),
    *(
        get(f"all nodes, limit={limit}", "/nodes", "limit", "from 1 to 1000", query=f"limit={limit}")
        for limit in ("0", "-1", "1001", "x", "%00")
    ),
    *(
        get(f"one node, limit={limit}", "/nodes/n1", "limit", "from 1 to 100", query=f"limit={limit}")
        for limit in ("0", "-1", "101", "x", "%00")
    ),
    *(
        get(f"all nodes, {name} {what}", "/nodes", name, "the name of a node", query=f"{name}={value}")
        for name in ("name", "marker")
        for what, value in (("NUL", "%00"), ("too long", "n" * 1001))
    ),
    get("all nodes, unknown status", "/nodes", "'failed' is none of: not_started", query="status=failed"),
    get("all nodes, statuses with a comma", "/nodes", "'success,failure' is none", query="status=success,failure"),
    *(
        get(f"one node, marker={marker}", "/nodes/n1", "marker", "the id of an action", query=f"marker={marker}")
        for marker in ("%00", "%D9%A3", "a-b", "%20")
    ),
    *(
        get(f"a design, limit={limit}", "/revisions/1/rendered-documents", "an integer", query=f"limit={limit}")
        for limit in ("--5", "---1", "-", "5-", "1.0", "1_0", "x", "%C2%B2", "%D9%A3", "%00", "0x1")
    ),
    get(
        "unknown filter of statuses",
        "/site_statuses",
        "filter all is not supported",
        "machines-power-state",
        query="filters=all",
    ),
]

TOKEN_ROWS = [
    token("missing", {}),
    token("empty", {"X-Auth-Token": ""}),
    token("blank", {"X-Auth-Token": "   "}),
    token("unknown", {"X-Auth-Token": "shipyard_" + "A" * 43}),
    token("very long", {"X-Auth-Token": "a" * 100_000}),
    token("control characters", {"X-Auth-Token": "a\tb\x7f"}),
    token("latin-1", {"X-Auth-Token": "é\xff"}),
    token("SQL", {"X-Auth-Token": "' OR 1=1 --"}),
    token("bearer without token", {"Authorization": "Bearer"}),
    token("bearer, blank", {"Authorization": "Bearer    "}),
    token("bearer, unknown", {"Authorization": "Bearer abc"}),
    token("basic, unknown", {"Authorization": "Basic YWRtaW46YWRtaW4="}),
    token("basic, blank", {"Authorization": "Basic "}),
    token("basic, not base 64", {"Authorization": "Basic é:=*"}),
    token("basic, cut short", {"Authorization": "Basic YWRtaW46YWRtaW4"}),
    token("basic, not UTF-8", {"Authorization": "Basic " + base64.b64encode(b"a:\xff").decode()}),
    token("basic without password", {"Authorization": "Basic " + base64.b64encode(b"admin").decode()}),
    token("basic, NUL", {"Authorization": "Basic " + base64.b64encode(b"a:\0").decode()}),
    token("basic, very long", {"Authorization": "Basic " + base64.b64encode(b"a:" + b"b" * 100_000).decode()}),
    token("another header", {"X-Subject-Token": "shipyard_x"}),
    token("identity that only a filter may state", {"X-Identity-Status": "Confirmed", "X-Roles": "admin"}),
    Row("token: viewer writes", "POST", f"{V1}/commitconfigdocs", 403, ("do not permit access",), who="viewer"),
]

PATH_ROWS = [
    get("traversal", "/configdocs/..%2f..%2fetc%2fpasswd", "404 Not Found", code=404),
    get("traversal in an id", "/actions/..%2f..%2factions", "404 Not Found", code=404),
    get("two dots", "/actions/..", "Unknown Action: ..", code=404),
    get("NUL in an id", "/actions/%00", "NUL"),
    get("NUL in a step", f"/actions/{UNKNOWN}/steps/a%00", "NUL"),
    get("NUL in a collection", "/configdocs/a%00b", "NUL", query="version=committed"),
    get("NUL in a revision", "/revisions/1%00/rendered-documents", "NUL"),
    get("NUL in an unknown address", "/x%00", "NUL"),
    get("line break in an id", "/actions/a%0d%0aX-Evil:%201", "Unknown Action: a\r\nX-Evil", code=404),
    # Of a path, the client here decodes what is escaped: what is no UTF-8 there, test_on_the_socket sends.
    get("not UTF-8", "/actions", "The query is not UTF-8 at the byte %FF", query="user=%ff%fe"),
    get("half a character", "/nodes", "The query is not UTF-8 at the byte %ED", query="name=%ed%a0%80"),
    get("very long", "/actions/" + "a" * 60_000, "Unknown Action", code=404),
    get("SQL in an id", "/actions/'%20OR%201=1%20--", "Unknown Action: ' OR 1=1 --", code=404),
    get("too many segments", "/actions/a/b/c/d/e/f", "404 Not Found", code=404),
    get("another version", "/../v2/actions", "404 Not Found", code=404),
    get("a huge revision", f"/revisions/{'9' * 400}/rendered-documents", "a whole number", code=404),
    load("collection too long", HEAD, "1 to 36", path="/configdocs/" + "c" * 37),
    *(
        Row(f"load: collection {id_}", "POST", f"{V1}/configdocs/{name}", 400, ("collection", "printable"),
            write_documents([document("a/B/v1", "one", {})]), YAML)
        for id_, name in {
            "without a name": "",
            "of 37 characters": "c" * 37,
            "two dots": "..",
            "one dot": ".",
            "two dots, quoted": "%2e%2e",
            "with a line break": "a%0d%0aSet-Cookie:%20x",
            "with an escape sequence": "%1b%5b2J",
            "written from right to left": "a%E2%80%AEb",
        }.items()
    ),
    Row("load: collection with NUL", "POST", f"{V1}/configdocs/a%00", 400, ("NUL",),
        write_documents([document("a/B/v1", "one", {})]), YAML),
    Row("method: unknown", "BREW", f"{V1}/actions", 400, ("HTTP method",)),
]  # fmt: skip

ROWS = [*YAML_ROWS, *SHAPE_ROWS, *STRATEGY_ROWS, *CONFIG_ROWS, *ACTION_ROWS, *PARAMETER_ROWS, *TOKEN_ROWS, *PATH_ROWS]


@pytest.fixture(scope="module")
def busy_site(app: Mount, store: Store, engine: sa.Engine, drydock: Peer) -> Site:
    """A site with a committed design and nothing in the buffer. What a row loads takes the place of what one before
    it did, so the rows do not depend on each other."""
    empty(engine)
    site = new_site(app, store, engine, drydock)
    site.commit(*small_design())
    return site


@pytest.fixture(scope="module")
def stored() -> list[dict[str, int]]:
    """The numbers of rows after the last request, as long as nothing else was sent."""
    return []


def test_the_layer_of_a_control_document_is_bounded_too(busy_site: Site) -> None:
    control = {"schema": "metadata/Control/v1", "name": "one", "layeringDefinition": {"layer": "l" * 65}}
    body = write_documents([{"schema": "a/B/v1", "metadata": control, "data": {}}])

    answer = busy_site.admin.client.simulate_post(f"{V1}/configdocs/other", body=body, headers=YAML)

    assert answer.status_code == 400


@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_bad_input_is_refused_and_leaves_nothing(
    row: Row, busy_site: Site, engine: sa.Engine, stored: list[dict[str, int]]
) -> None:
    if row.buffer:
        loaded = busy_site.admin.post("/configdocs/design", row.buffer, YAML, buffermode="replace")
        assert loaded.status_code == 201, loaded.text
    before = counts(engine) if row.buffer or not stored else stored.pop()

    caller = {"admin": busy_site.admin, "viewer": busy_site.viewer, "nobody": busy_site.nobody}[row.who]
    answer = caller.ask(row.method, row.path, query=row.query or None, body=row.body, headers=row.headers)

    assert answer.status_code == row.code, answer.text
    status = answer.json
    assert (status["kind"].lower(), status["status"], status["code"]) == ("status", "Failure", answer.status)
    assert answer.headers["Content-Type"] == "application/json"
    said = everything_said(answer)
    for words in row.says:
        assert words in said
    assert len(answer.content) < 200_000
    stored[:] = [counts(engine)]
    assert stored == [before]


def test_the_table_is_long_and_its_rows_have_names_of_their_own() -> None:
    names = [row.id for row in ROWS]

    assert len(ROWS) >= 80
    assert len(set(names)) == len(names)
    assert all(row.says for row in ROWS)
