"""Bodies that are made to hurt, sent to a real server: refused with a place, nothing stored, memory bounded.

Each kind of attack is a row of tests/unit/test_yaml_stream.py; these cost the most.
"""

import socket
from pathlib import Path

from tests.stand import DESIGN, Stand
from tests.waiting import PATIENCE

LEVELS = "\n".join(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 9)}]" for level in range(1, 30))
ATTACKS = {
    "l0: &l0 [a]\n" + LEVELS: "500,000 nodes",
    "[" * 1_000_000: "nested deeper than 64 levels",
    "[" + "1," * 3_000_000 + "1]": "500,000 nodes",
}
MEGABYTE = 1024


def peak_kilobytes(pid: int) -> int:
    """The largest resident memory of any process of the server, so far."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    peaks = []
    for child in children:
        lines = Path(f"/proc/{child}/status").read_text().splitlines()
        peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks)


def test_hostile_documents_are_refused_and_one_of_50_megabytes_before_it_is_read(
    tmp_path: Path, database_url: str
) -> None:
    with Stand(tmp_path, database_url) as stand:
        for body, says in ATTACKS.items():
            answer = stand.request("POST", "/configdocs/design", data=body, headers={"Content-Type": DESIGN})
            assert (answer.status_code, says in answer.text) == (400, True), answer.text[:800]
            assert len(answer.text) < 300_000
        # What 32 MB of the worst YAML take; without bounds it would be all there is.
        assert peak_kilobytes(stand.processes["api"].pid) < 600 * MEGABYTE

        host, port = stand.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            connection.sendall(
                f"POST /api/v1.0/configdocs/design HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {stand.token}\r\n"
                f"Content-Type: {DESIGN}\r\nContent-Length: 52428800\r\n\r\n".encode()
            )
            said = connection.recv(4096).decode()  # although not one byte of the body was sent
        assert said.startswith("HTTP/1.1 413 ")
        assert stand.request("GET", "/configdocs").json() == []
