"""Kubeconfigs and addresses: which are taken, whom they trust, and that no error tells a secret."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.kubernetes.access import Access, Address, Kubeconfig
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.ports.errors import Unavailable
from tests.authority import Authority
from tests.peer import Answer, Peer, running
from tests.prompt_servers import served
from tests.unit.tables import every_row

TOKEN = "s3cret-token"
LIST = {"kind": "NodeList", "metadata": {}, "items": []}


def kubeconfig(directory: Path, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "nobody", "context": {"cluster": "c"}},
            {"name": "lost", "context": {"cluster": "elsewhere", "user": "u"}},
        ],
        "current-context": "one",
    }
    file = directory / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file


def refused(access: Access) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # what it says is what is tested
        KubernetesClient(access)
    told = str(caught.value)
    assert TOKEN not in told
    assert "\n" not in told
    return told


def asked(access: Access) -> None:
    client = KubernetesClient(access, first_pause=0.0)
    try:
        assert client.nodes() == []
    finally:
        client.close()


@pytest.fixture
def cluster() -> Iterator[Peer]:
    with running() as peer:
        peer.on("GET /api/v1/nodes", Answer(200, LIST))
        yield peer


# Kubeconfigs


def test_a_kubeconfig_says_where_and_as_whom(cluster: Peer, tmp_path: Path) -> None:
    server = {"server": cluster.url}
    asked(Kubeconfig(kubeconfig(tmp_path, server)))
    asked(Kubeconfig(kubeconfig(tmp_path, server), "nobody"))  # a context need not have a user
    asked(Kubeconfig(kubeconfig(tmp_path, server, {"username": "a", "password": "b"})))
    sent = [one.headers.get("authorization") for one in cluster.requests]
    assert sent == [f"Bearer {TOKEN}", None, f"Basic {base64.b64encode(b'a:b').decode()}"]


def test_a_token_may_stand_in_a_file_of_its_own_and_be_renewed(cluster: Peer, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    client = KubernetesClient(
        Kubeconfig(kubeconfig(tmp_path, {"server": cluster.url}, {"tokenFile": str(tmp_path / "token")}))
    )
    client.nodes()
    (tmp_path / "token").write_text("second\n")
    client.nodes()
    client.close()
    assert [one.headers["authorization"] for one in cluster.requests] == ["Bearer first", "Bearer second"]


def test_a_token_file_that_is_not_there_means_that_nobody_knows(cluster: Peer, tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {"server": cluster.url}, {"tokenFile": str(tmp_path / "token")})
    with pytest.raises(Unavailable, match="the file with the token"):
        asked(Kubeconfig(file))
    assert cluster.requests == []


def test_what_a_kubeconfig_may_not_want_is_named(tmp_path: Path) -> None:
    assert "Context 'two' not found" in refused(Kubeconfig(kubeconfig(tmp_path), "two"))
    assert "'elsewhere'" in refused(Kubeconfig(kubeconfig(tmp_path), "lost"))
    unverified = {"insecure-skip-tls-verify": True}
    assert "insecure-skip-tls-verify is not supported" in refused(Kubeconfig(kubeconfig(tmp_path, unverified)))
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"}}
    assert "from a program (exec) are not supported" in refused(Kubeconfig(kubeconfig(tmp_path, user=user)))


NO_KUBECONFIGS = {
    "empty": "",
    "a list": "[]",
    "text": "just text",
    "parts": f"users: [{{name: u, user: {{token: {TOKEN}}}}}]",
    "a tab": f"token: {TOKEN}\n\tbroken: [",
    "a quotation mark": f"token: '{TOKEN}",
    "a number": "clusters: 1\ncontexts: []",
    "an entry": f"clusters: [{TOKEN}]\ncontexts: []",
    "a type": f"clusters: []\ncontexts: []\nusers: [{{name: u, user: {{token: [{TOKEN}]}}}}]",
    "no context": "clusters: []\ncontexts: []",
}


def test_what_is_no_kubeconfig_is_refused_without_quoting_it(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    assert "No such file" in refused(Kubeconfig(file))
    for text in NO_KUBECONFIGS.values():
        file.write_text(text)
        assert str(file) in refused(Kubeconfig(file)), text
    file.write_bytes(b"\xff\xfe")
    refused(Kubeconfig(file))


# Addresses

URLS = ["", "10.0.0.1:6443", "ftp://10.0.0.1", "https://", f"https://user:{TOKEN}@10.0.0.1", "https://10.0.0.1/?a=b"]


@every_row([*URLS, "https://10.0.0.1:port"])
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    refused(Address(url))


@every_row([f"{TOKEN}\n", f"{TOKEN}é"])
def test_a_token_that_no_header_can_hold_is_refused(token: str) -> None:
    assert "the token holds characters" in refused(Address("https://10.0.0.1", token))
    assert TOKEN not in repr(Address("https://10.0.0.1", token))


# Trust


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@contextmanager
def secured(authority: Authority, clients: ssl.VerifyMode = ssl.CERT_NONE) -> Iterator[Peer]:
    """Run a peer with TLS; ``clients``: whether they need a certificate of the same authority, too."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.file))
    context.verify_mode = clients
    context.load_cert_chain(*authority.vouch("server"))
    peer = Peer()
    peer.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that do not trust it hang up
    peer.socket = context.wrap_socket(peer.socket, server_side=True)
    peer.on("GET /api/v1/nodes", Answer(200, LIST))
    with served(peer):
        yield peer


def test_only_an_authority_that_is_named_is_trusted_and_only_for_its_host(authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "other")
    with secured(authority) as peer:
        url = peer.url.replace("http:", "https:")
        elsewhere = url.replace("127.0.0.1", "localhost")
        for access in (Address(url, TOKEN), Address(url, TOKEN, other.file), Address(elsewhere, TOKEN, authority.file)):
            with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
                asked(access)
        assert peer.requests == []
        asked(Address(url, TOKEN, authority.file))
        assert peer.requests


def test_files_of_a_kubeconfig_are_looked_for_beside_it(authority: Authority, tmp_path: Path) -> None:
    authority.vouch("client")
    with secured(authority, ssl.CERT_REQUIRED) as peer:
        server = {"server": peer.url.replace("http:", "https:"), "certificate-authority": authority.file.name}
        user = {"client-certificate": "client.pem", "client-key": "client.key"}
        asked(Kubeconfig(kubeconfig(tmp_path, server, user)))
        assert peer.requests


def test_certificates_may_stand_in_the_kubeconfig(authority: Authority, tmp_path: Path) -> None:
    certificate, key = authority.vouch("client")
    data = {file: base64.b64encode(file.read_bytes()).decode() for file in (authority.file, certificate, key)}
    with secured(authority, ssl.CERT_REQUIRED) as peer:
        server = {
            "server": peer.url.replace("http:", "https:"),
            "certificate-authority-data": data[authority.file],
        }
        user = {"client-certificate-data": data[certificate], "client-key-data": data[key]}
        asked(Kubeconfig(kubeconfig(tmp_path, server, user)))
        assert peer.requests


def test_a_cluster_that_wants_a_certificate_and_gets_none_is_unavailable(authority: Authority) -> None:
    with secured(authority, ssl.CERT_REQUIRED) as peer:
        with pytest.raises(Unavailable):
            asked(Address(peer.url.replace("http:", "https:"), TOKEN, authority.file))
        assert peer.requests == []


def test_certificates_that_cannot_be_used_are_refused_by_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    (tmp_path / "empty.pem").write_text("\n")
    (tmp_path / "foreign.pem").write_text("é")
    for server, user in (
        ({"certificate-authority": "none.pem"}, None),
        ({"certificate-authority": "bad.pem"}, None),
        ({"certificate-authority": "empty.pem"}, None),
        ({"certificate-authority": "foreign.pem"}, None),
        ({}, {"client-certificate": "empty.pem", "client-key": "empty.pem"}),
        ({"certificate-authority-data": "!"}, None),
        ({}, {"client-certificate": "bad.pem", "client-key": "bad.pem"}),
        ({}, {"client-certificate": "bad.pem"}),
        ({}, {"client-key-data": base64.b64encode(TOKEN.encode()).decode(), "client-certificate-data": "eA=="}),
        ({}, {"auth-provider": {"name": "gcp"}}),
    ):
        file = kubeconfig(tmp_path, server, user)
        assert str(file) in refused(Kubeconfig(file))
    refused(Address("https://127.0.0.1:1", TOKEN, tmp_path / "none.pem"))
