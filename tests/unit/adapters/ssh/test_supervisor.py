"""What is sent to a node can be read by any shell, and by no other process there."""

import re

from shipyard_api.adapters.ssh.supervisor import SCRIPT, directory_name, start
from shipyard_api.domain.task_graph.commands import NodeFiles
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import RemoteFile, RemoteTask
from tests.unit.tables import every_row


@every_row(["a", "", "../../etc", "a b\n'$(x)", "-rf", "ä" * 300, ".", "act:1/2", "\ud800"])
def test_a_marker_is_a_safe_name(marker: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,100}", directory_name(Marker(marker)))


def test_markers_that_look_alike_have_their_own_directories() -> None:
    assert len({directory_name(Marker(marker)) for marker in ("a/b", "a-b", "a b", "A-b")}) == 4


def test_a_later_release_finds_the_directory_of_a_task() -> None:
    assert directory_name(Marker("act:1/2")) == "act-1-2-19e53af9d91abea19ae4cb45"


def test_facts_are_sent_after_everything_else() -> None:
    command, data = start(Marker("m"), RemoteTask("x", facts=NodeFiles(b'{"a": 1}', b"a: 1")), 100)
    assert re.search(r" command:1 facts.json:8 facts.yaml:4$", command)
    assert data.endswith(b'x{"a": 1}a: 1')
    assert data.count(b'"$dir/work/facts.') == 2


def test_nothing_of_a_task_is_on_the_command_line() -> None:
    task = RemoteTask("secret\n'", (RemoteFile("/a'b", b"\0secret"),), cwd="/it's $(x)", secrets=("secret",))
    command, data = start(Marker("m"), task, 100)
    assert "secret" not in command
    words = re.fullmatch(r"/bin/sh -c '([^']*)' shipyard start \S+ 100 (.*)", command)
    sizes = [part.split(":") for part in words[2].split()]
    assert [name for name, _ in sizes] == ["spec", "command", "file.0"]
    assert len(data) == len(SCRIPT) + sum(int(size) for _, size in sizes)
    assert data.endswith(b"secret\n'\0secret")
    assert b"facts.json" not in data[len(SCRIPT) :]
    assert b"cwd='/it'\"'\"'s $(x)'\n" in data
    assert b"place '/a'\"'\"'b' \"$dir/work/file.0\" 644 755\n" in data
