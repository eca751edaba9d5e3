"""``[identity] kind = none`` as gunicorn serves it: this machine only, and none of what it merely passes on."""

import http.client
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.wiring.settings import share_directory
from tests.forked import ToItsEnd
from tests.waiting import PATIENCE, until

ACTIONS = "/api/v1.0/actions"


def program(database_url: str, bind: str = "", *, listener: socket.socket | None = None, **settings: str) -> ToItsEnd:
    """Start the API as `shipyard serve` does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
    told = {
        "SHIPYARD_CONFIG": os.devnull,
        "DATABASE_URL": database_url,
        "SHIPYARD_BIND": bind,
        "SHIPYARD_API_WORKERS": "1",
        "SHIPYARD_IDENTITY_KIND": "none",
        "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
        "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
        **settings,
    }
    configuration = share_directory() / "etc" / "gunicorn.conf.py"
    return ToItsEnd(
        "gunicorn", ["-c", str(configuration), "shipyard_api.programs.asgi:app"], {**kept, **told}, listener
    )


class OverUnix(http.client.HTTPConnection):
    """HTTP to a socket with a path."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(self._path))


def ask(
    connection: http.client.HTTPConnection,
    method: str = "GET",
    path: str = ACTIONS,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    connection.request(method, path, headers=dict(headers or {}))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


@pytest.fixture(scope="module")
def port(module_database_url: str) -> Iterator[int]:
    """An API on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener, program(module_database_url, listener=listener):
        yield listener.getsockname()[1]


def test_who_is_here_needs_no_token_and_may_write(port: int) -> None:
    assert ask(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) == (200, "[]")
    assert ask(http.client.HTTPConnection("localhost", port, timeout=PATIENCE))[0] == 200
    status, text = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE), "POST")
    assert status == 400, text


STRANGERS = {
    "a name that was made to lead here": ({"Host": "evil.example"}, "another host (Host)"),
    "a page of a stranger": ({"Origin": "https://evil.example"}, "another origin (Origin)"),
    "an image in a page of a stranger": ({"Sec-Fetch-Site": "cross-site"}, "another site (Sec-Fetch-Site)"),
    "a proxy": ({"X-Forwarded-For": "203.0.113.9"}, "by a proxy"),
}


def test_who_is_only_passed_on_is_refused_and_told_why(port: int) -> None:
    """Health is for everybody."""
    for headers, told in STRANGERS.values():
        for method in ("GET", "POST"):
            status, text = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE), method, headers=headers)
            assert (status, told in text, "[identity] kind = none" in text) == (403, True, True)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    assert ask(connection, path="/health", headers={"Host": "evil.example"})[0] == 204


def test_nginx_that_adds_no_header_is_known_by_its_old_http(port: int) -> None:
    """As nginx before 1.29.7 sends it with ``proxy_pass http://127.0.0.1:9000;`` and nothing else."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        head = f"GET {ACTIONS} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nAccept: */*\r\n\r\n"
        connection.sendall(head.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    assert answer.split()[1] == "403"
    assert "HTTP/1.0" in answer.partition("\r\n\r\n")[2]


def test_a_socket_with_a_path_is_here_too(module_database_url: str, short_path: Path) -> None:
    path = short_path / "api.sock"
    with program(module_database_url, f"unix:{path}") as process:

        def answered() -> bool:
            assert process.poll() is None, "the API did not start"
            connection = OverUnix(path)
            try:
                return ask(connection) == (200, "[]")
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            finally:
                connection.close()

        until(answered, every=0.05)


def test_it_does_not_start_where_others_could_reach_it(database_url: str) -> None:
    """No worker ever runs, so nothing is served meanwhile."""
    with socket.create_server(("0.0.0.0", 0)) as listener:
        code, told = program(database_url, "", listener=listener).end()

    assert code == 2, told
    assert "[identity] kind = none is for this machine only, and 0.0.0.0:" in told
    assert "bind to 127.0.0.1, or choose another kind" in told


def test_with_tokens_it_may_listen_anywhere(database_url: str, tmp_path: Path) -> None:
    """Looked at without listening anywhere: the hook is asked about a server that is not there."""
    configuration: dict[str, Any] = {}
    path = share_directory() / "etc" / "gunicorn.conf.py"

    class Server:
        class Listener:
            class sock:  # noqa: N801
                getsockname = staticmethod(lambda: ("0.0.0.0", 9000))

        LISTENERS = (Listener,)

        @staticmethod
        def halt(reason: str, status: int) -> None:
            raise AssertionError(f"{reason} {status}")

    for kind, refused in (("token", nullcontext()), ("none", pytest.raises(AssertionError, match=r"0\.0\.0\.0:9000"))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PROMETHEUS_MULTIPROC_DIR", "")  # which it sets
            patch.setenv("SHIPYARD_CONFIG", os.devnull)
            patch.setenv("SHIPYARD_IDENTITY_KIND", kind)
            exec(compile(path.read_text(), str(path), "exec"), configuration)  # as gunicorn reads it
            with refused:
                configuration["when_ready"](Server)
            configuration["on_exit"](Server)
