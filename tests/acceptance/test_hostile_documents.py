"""Bodies that are made to hurt, sent to a real server: refused with a place, nothing stored, memory bounded."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stand import DESIGN, Stand

HEAD = "schema: a/B/v1\nmetadata: {schema: metadata/Document/v1, name: x, storagePolicy: cleartext, "
HEAD += "layeringDefinition: {layer: site}}\n"

LEVELS = "\n".join(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]" for level in range(1, 30))
MERGES = "\n".join(f"m{level}: &m{level}\n  <<: [{', '.join([f'*m{level - 1}'] * 9)}]" for level in range(1, 30))
TINY = "---\nschema: a/B/v1\n"

# Large ones are made when they are sent: each process of a test run reads this module.
ATTACKS: dict[str, tuple[Any, str]] = {
    "alias bomb": ("l0: &l0 [a]\n" + LEVELS, "500,000 nodes"),
    "merge-key recursion": ("a: &a\n  <<: *a\n", "line 2"),
    "merge-key bomb": ("m0: &m0 {k: v}\n" + MERGES, "nodes"),
    "nested 10,000 deep": (f"{HEAD}data: " + "[" * 10_000 + "]" * 10_000, "nested deeper than 64 levels"),
    "nested 10,000 deep, mappings": (f"{HEAD}data: " + "{a: " * 10_000 + "}" * 10_000, "nested deeper than 64 levels"),
    "nested and never closed": (lambda: "[" * 1_000_000, "nested deeper than 64 levels"),
    "100,000 tiny documents": (lambda: TINY * 100_000, "50,000 documents"),
    "ten million numbers": (lambda: "[" + "1," * 10_000_000 + "1]", "500,000 nodes"),
    "duplicate keys": (f"{HEAD}data:\n  a: 1\n  a: 2\n", "line 5"),
    "a million duplicate keys": (lambda: "a: 1\n" * 1_000_000, "duplicate key 'a'"),
    "python object": ("a: !!python/object/apply:os.system [id]", "line 1, column 4"),
    "python module": ("a: !!python/module:os ''", "line 1, column 4"),
    "not UTF-8": (b"a: \xff\xfe", "byte 4"),
    "UTF-16": ("a: b".encode("utf-16"), "UTF-16"),
    "a text of 20 MB": (lambda: f"{HEAD}data: " + "x" * 20_000_000, "20,000,000 characters"),
    "a million keys": (lambda: f"{HEAD}data:\n" + "".join(f"  k{n}: {n}\n" for n in range(1_100_000)), "500,000 nodes"),
    "many anchors": (lambda: "".join(f"- &a{n} x\n" for n in range(400_000)), "Document 1"),
    "many directives": (lambda: "%TAG !a! tag:a\n" * 100_000 + "--- x", "directive"),
    "anchors of many characters": (lambda: "".join(f"- &{'a' * 1000}{n} x\n" for n in range(10_000)), "Document 1"),
    "a scalar of many escapes": (lambda: '"' + "\\u0041" * 3_000_000 + '"', "Document 1"),
    "a pattern that never ends": (
        HEAD.replace("layeringDefinition: {layer: site}}", "layeringDefinition: {layer: site}, substitutions: [{src: "
        "{schema: a/B/v1, name: y, path: ., pattern: '(a'}, dest: {path: .}}]}") + "data: {}\n",
        "/metadata/substitutions/0/src/pattern",
    ),
}  # fmt: skip

MEGABYTE = 1024


def peak_kilobytes(pid: int) -> int:
    """The largest resident memory of any process of the server, so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    peaks = []
    for child in children:
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks)


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Stand]:
    with Stand(tmp_path_factory.mktemp("hostile"), module_database_url) as stand:
        yield stand


@pytest.mark.parametrize("name", ATTACKS)
def test_hostile_documents_are_refused_with_their_place(stand: Stand, name: str) -> None:
    attack, says = ATTACKS[name]
    attack = attack() if callable(attack) else attack
    body = attack if isinstance(attack, bytes) else attack.encode()

    answer = stand.request("POST", "/configdocs/design", data=body, headers={"Content-Type": DESIGN})

    assert answer.status_code == 400, answer.text[:500]
    told = answer.text
    assert says in told, told[:800]
    assert len(told) < 300_000
    assert stand.request("GET", "/configdocs").json() == []
    # What 32 MB of the worst YAML take; without bounds it would be all there is.
    assert peak_kilobytes(stand.processes["api"].pid) < 600 * MEGABYTE


def test_a_body_of_50_megabytes_is_refused_before_it_is_read(stand: Stand) -> None:
    host, port = stand.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(
            f"POST /api/v1.0/configdocs/design HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {stand.token}\r\n"
            f"Content-Type: {DESIGN}\r\nContent-Length: 52428800\r\n\r\n".encode()
        )
        said = connection.recv(4096).decode()  # although not one byte of the body was sent

    assert said.startswith("HTTP/1.1 413 ")
    assert stand.request("GET", "/configdocs").json() == []
