"""What is read from promenade/EtcdClusters/v1 and promenade/Genesis/v1, and every rule that a document can break."""

from typing import Any

from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.domain.documents import Document, parse_documents
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.domain.teardown.etcd_documents import ETCD_CLUSTERS, EtcdAccess, genesis_hosts, read_etcd_clusters
from shipyard_api.domain.teardown.etcd_members import Minimum
from tests.conftest import ROOT
from tests.factories import document, layering_policy
from tests.unit.tables import every_row

SCHEMAS = SchemaFiles(ROOT / "schemas")
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nsecret-in-base64\n-----END RSA PRIVATE KEY-----\n"
TLS = {"ca": CERTIFICATE, "cert": CERTIFICATE, "key": KEY, "server_name": "etcd.example.org"}
PLAIN = {"name": "e", "endpoints": ["http://10.0.0.1:2379"]}


def parsed(*entries: dict[str, Any]) -> tuple[Document, ...]:
    documents, faults = parse_documents([layering_policy(), *entries])
    assert faults == ()
    return documents


def read(*data: object) -> tuple[tuple[EtcdAccess, ...], tuple[Finding, ...]]:
    entries = [document(ETCD_CLUSTERS, f"etcd-{place}", one) for place, one in enumerate(data)]
    return read_etcd_clusters(parsed(*entries), SCHEMAS.check)


def test_every_field_is_read_and_no_secret_is_shown() -> None:
    entry = {
        "name": "kubernetes-etcd",
        "endpoints": ["https://etcd.example.org:2379", "https://[fd00::1]:2379/"],
        "tls": TLS,
        "minimum": {"members": 3, "healthy": 2},
        "node_label": {"kubernetes-etcd": "enabled"},
        "request_timeout": 2.5,
    }

    clusters, found = read({"clusters": [entry]})

    assert found == ()
    assert clusters == (
        EtcdAccess(
            "kubernetes-etcd",
            ("https://etcd.example.org:2379", "https://[fd00::1]:2379/"),
            *(CERTIFICATE, CERTIFICATE, KEY, "etcd.example.org"),
            Minimum(3, 2),
            (("kubernetes-etcd", "enabled"),),
            2.5,
        ),
    )
    assert "BEGIN" not in repr(clusters)


def test_what_is_left_out_has_the_defaults_and_clusters_of_all_documents_are_read() -> None:
    clusters, found = read({"clusters": [PLAIN, {**PLAIN, "name": "f", "minimum": {"healthy": 2}}]}, {"clusters": []})

    assert found == ()
    assert [(one.name, one.minimum, one.request_timeout) for one in clusters] == [
        ("e", Minimum(), 10.0),
        ("f", Minimum(0, 2), 10.0),
    ]


def test_without_such_a_document_etcd_is_not_managed() -> None:
    assert read_etcd_clusters(parsed(document("other/Kind/v1", "x", {})), SCHEMAS.check) == ((), ())


BROKEN: dict[str, tuple[object, str]] = {
    "no clusters": ({}, ""),
    "not a mapping": ([KEY], ""),
    "a cluster of another kind": ({"clusters": [KEY]}, "/clusters/0"),
    "a key of another kind": ({"clusters": [{**PLAIN, "tls": {"key": [KEY]}}]}, "/clusters/0/tls/key"),
    "clusters of another kind": ({"clusters": {"e": PLAIN}}, "/clusters"),
    "no name": ({"clusters": [{"endpoints": ["http://a"]}]}, "/clusters/0"),
    "a name twice": ({"clusters": [PLAIN, PLAIN]}, "/clusters/1/name"),
    "an unknown field": ({"clusters": [{**PLAIN, "wishes": 1}]}, "/clusters/0"),
    "more healthy than members": (
        {"clusters": [{**PLAIN, "minimum": {"members": 1, "healthy": 2}}]},
        "/clusters/0/minimum/healthy",
    ),
    "a label that is no text": ({"clusters": [{**PLAIN, "node_label": {"a": True}}]}, "/clusters/0/node_label/a"),
    **{
        f"the endpoint {endpoint!r}": ({"clusters": [{**PLAIN, "endpoints": [endpoint]}]}, "/clusters/0/endpoints/0")
        for endpoint in (
            *("10.0.0.1:2379", "unix:///run/etcd", "http://", "http://a:port", "http://a:0", "http://[::1"),
            *("http://root:secret-in-base64@a", "http://a/v3", "http://a?b", "http://a b"),
        )
    },
    **{
        f"TLS with {', '.join(tls) or 'nothing'}": (
            {"clusters": [{**PLAIN, "endpoints": ["http://a", "https://b"], "tls": tls}]},
            f"/clusters/0/tls/{path}",
        )
        for tls, path in (
            ({}, "ca"),
            ({"ca": CERTIFICATE, "cert": CERTIFICATE}, "key"),
            ({"ca": CERTIFICATE, "key": KEY}, "cert"),
            ({"ca": KEY}, "ca"),
            ({**TLS, "key": "secret-in-base64"}, "key"),
        )
    },
}


@every_row(BROKEN)
def test_a_broken_rule_is_named_with_its_place_and_quotes_no_secret(data: object, path: str) -> None:
    clusters, (finding,) = read(data)

    assert clusters == ()
    assert (finding.level, finding.path, finding.documents[0].name) == (Level.ERROR, path, "etcd-0")
    assert path in finding.message
    assert "secret-in-base64" not in repr(finding)


def test_every_fault_of_all_documents_is_named() -> None:
    _, found = read({"clusters": [{"name": 1, "endpoints": []}]}, {"clusters": [{**PLAIN, "endpoints": ["a", "b"]}]})

    assert [finding.documents[0].name for finding in found] == ["etcd-0", "etcd-0", "etcd-1", "etcd-1"]


def test_the_genesis_host_is_named_by_its_document() -> None:
    genesis = document("promenade/Genesis/v1", "genesis", {"hostname": "n0", "ip": "10.0.0.1"})
    odd = [document("promenade/Genesis/v1", f"g{place}", data) for place, data in enumerate(({}, {"hostname": 7}))]

    assert genesis_hosts(parsed(genesis, *odd)) == {"n0"}
    assert genesis_hosts(()) == frozenset()
