"""The second process of an API process: it answers, and it is gone when it is not wanted, lost, or too slow."""

import os
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection

import falcon
import pytest
from falcon.testing import create_asgi_req

from shipyard_api.api.http import second_process
from shipyard_api.api.http.limits import MOUNTED
from shipyard_api.api.http.second_process import Answered, Asked, SecondProcess, SecondProcessLost, command
from tests.second_program import application
from tests.unit.tables import every_row

PROGRAM = command("tests.second_program")


@pytest.fixture
def second() -> Iterator[SecondProcess]:
    """A process that answers."""
    made = SecondProcess(PROGRAM)
    yield made
    made.close()


def ask(process: SecondProcess, path: str, body: bytes = b"") -> Answered:
    """Return the answer; as long as the process starts there is none."""
    asked = Asked("POST", path, b"a=b", [(b"x", b"header")], body)
    while (answered := process.ask(asked)) is None:
        pass
    return answered


def pid(process: SecondProcess) -> int:
    return process._process.pid


def test_it_answers_one_request_after_the_other_at_a_low_priority_until_its_caller_leaves_or_it_is_too_slow(
    second: SecondProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ask(second, "/one", b"body")
    number = pid(second)
    resp = falcon.Response()
    ask(second, "/two").give(resp)

    assert (first.status, first.body) == (418, f"/one body {min(19, os.nice(0) + 10)} header".encode())
    assert first.seconds > 0
    assert (resp.status_code, resp.content_type, resp.get_header("Retry-After")) == (418, "text/plain", "7")
    assert pid(second) == number

    monkeypatch.setattr(second_process, "_LOOK_SECONDS", 0.01)
    left = second._process
    with pytest.raises(SecondProcessLost):
        second.ask(Asked("POST", "/silent", b"", [], b""), lambda: True)
    assert left.returncode is not None

    ask(second, "/two")
    second._longest = 0.05
    started = second._process
    with pytest.raises(SecondProcessLost):
        second.ask(Asked("POST", "/silent", b"", [], b""))
    assert started.returncode is not None


def test_a_parent_that_hangs_up_before_the_answer_ends_it_without_a_traceback() -> None:
    ours, theirs = socket.socketpair()
    with Connection(ours.detach()) as parent:
        parent.send(Asked("POST", "/one", b"", [], b""))

    second_process.serve(application, theirs.detach())


def test_one_that_does_not_start_is_lost() -> None:
    process = SecondProcess([*PROGRAM[:2], "tests.no_such_program"])
    with pytest.raises(SecondProcessLost):
        ask(process, "/one")


def test_one_that_dies_is_lost_and_the_next_request_starts_another_which_ends_when_it_is_not_wanted() -> None:
    process = SecondProcess(PROGRAM, idle=0.05)
    with pytest.raises(SecondProcessLost):
        ask(process, "/die")
    assert ask(process, "/two").status == 418
    while process._process is not None:
        pass


@every_row(["", "/sites/berlin"])
def test_a_request_is_passed_on_under_its_whole_address(mounted: str) -> None:
    request = create_asgi_req(path="/api/v1.0/plans")
    request.scope.update({MOUNTED: mounted} if mounted else {})

    assert Asked.of(request, b"{}", "marker").path == f"{mounted}/api/v1.0/plans"


def test_a_request_is_passed_on_whole_and_its_answer_is_not_compressed() -> None:
    headers = {"Accept-Encoding": "gzip", "X-Auth-Token": "t", "User-Agent": "u"}
    asked = Asked.of(create_asgi_req(method="PUT", path="/a", query_string="b=c", headers=headers), b"{}", "m")

    assert (asked.method, asked.path, asked.query, asked.body) == ("PUT", "/a", b"b=c", b"{}")
    kept = {b"x-auth-token": b"t", b"host": b"falconframework.org", b"user-agent": b"u"}
    assert dict(asked.headers) == kept | {b"content-length": b"2", b"x-context-marker": b"m"}


@every_row(
    {
        "an answer keeps its tag": (
            200,
            [(b"content-type", b"application/json"), (b"etag", b'W/"1"')],
            (falcon.HTTP_200, "application/json", 'W/"1"', None),
        ),
        "nothing new has no type": (304, [(b"etag", b'W/"1"')], (falcon.HTTP_304, None, 'W/"1"', None)),
        "a refusal says when to ask again": (
            503,
            [(b"content-type", b"application/json"), (b"retry-after", b"5")],
            (falcon.HTTP_503, "application/json", None, "5"),
        ),
    },
)
def test_an_answer_is_given_as_this_process_would(
    status: int, headers: list[tuple[bytes, bytes]], shown: tuple[str | None, ...]
) -> None:
    response = falcon.Response()

    Answered(status, headers, b"{}", 0.1).give(response)

    names = ("ETag", "Retry-After")
    assert (response.status, response.content_type, *map(response.get_header, names)) == shown
