"""What is sent to a node can be read by any shell, and by no other process there."""

import re

from shipyard_api.adapters.ssh.supervisor import SCRIPT, directory_name, start
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import RemoteFile, RemoteTask
from tests.unit.tables import every_row


@every_row(["a", "", "../../etc", "a b\n'$(x)", "-rf", "ä" * 300, ".", "act:1/2", "\ud800"])
def test_a_marker_is_a_safe_name(marker: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,100}", directory_name(Marker(marker)))


def test_markers_that_look_alike_have_their_own_directories() -> None:
    assert len({directory_name(Marker(marker)) for marker in ("a/b", "a-b", "a b", "A-b")}) == 4


def test_nothing_of_a_task_is_on_the_command_line() -> None:
    task = RemoteTask("secret\n'", (RemoteFile("/a'b", b"\0secret"),), cwd="/it's $(x)", secrets=("secret",))
    command, data = start(Marker("m"), task, 100)
    assert "secret" not in command
    words = re.fullmatch(r"/bin/sh -c '([^']*)' shipyard start \S+ 100 (.*)", command)
    sizes = [part.split(":") for part in words[2].split()]
    assert [name for name, _ in sizes] == ["spec", "command", "file.0"]
    assert len(data) == len(SCRIPT) + sum(int(size) for _, size in sizes)
    assert data.endswith(b"secret\n'\0secret")
    assert b"cwd='/it'\"'\"'s $(x)'\n" in data
    assert b"place '/a'\"'\"'b' \"$dir/work/file.0\" 644 755\n" in data
