"""Files that tasks copy come from one directory and nowhere else."""

from pathlib import Path

import pytest

from shipyard_api.adapters.ssh.copies import digests, faults, read
from shipyard_api.domain.task_graph.commands import MOST_CONTENT, CopiedFile, RemoteFile
from shipyard_api.ports.errors import Refused


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("no")
    own = tmp_path / "files"
    (own / "keys").mkdir(parents=True)
    (own / "keys" / "a").write_bytes(b"\x00a")
    (own / "inside").symlink_to("keys/a")
    (own / "outside").symlink_to("../secret")
    (own / "up").symlink_to("..")
    (own / "loop").symlink_to("loop")
    (own / "large").write_bytes(b"x" * (MOST_CONTENT + 1))
    return own


def test_a_file_of_the_directory_is_read(directory: Path) -> None:
    for source in ("keys/a", "./keys/a", "inside", f"{directory}/keys/a"):
        wanted = CopiedFile(source, "/etc/a", 0o600, 0o700)
        assert read(directory, [wanted]) == (RemoteFile("/etc/a", b"\x00a", 0o600, 0o700),)


ELSEWHERE = {
    "../secret": "is not in the directory",
    "keys/../../secret": "is not in the directory",
    "{directory}/../secret": "is not in the directory",
    "/etc/passwd": "is not in the directory",
    "outside": "is not in the directory",
    "up/secret": "is not in the directory",
    "keys": "is not a file",
    "none": "No such file or directory",
    "../none": "is not in the directory",
    "keys/a/b": "Not a directory",
    "loop": "loop",
    "large": "has more than 1048576 bytes",
}


def test_nothing_else_is_read(directory: Path) -> None:
    for source, why in ELSEWHERE.items():
        wanted = [CopiedFile("keys/a", "/etc/b"), CopiedFile(source.format(directory=directory), "/etc/a")]
        with pytest.raises(Refused, match=why):
            read(directory, wanted)
        (fault,) = faults(directory, wanted)
        assert why in fault.why
        assert fault.is_missing == (source == "none")


def test_without_a_directory_nothing_is_copied() -> None:
    with pytest.raises(Refused, match="need \\[ssh\\] files, which is not set"):
        read(None, [CopiedFile("a", "/a")])
    assert len(list(faults(None, [CopiedFile("a", "/a"), CopiedFile("b", "/b")]))) == 1


def test_a_file_with_another_content_than_was_frozen_is_not_copied(directory: Path) -> None:
    (directory / "frozen").write_bytes(b"old")
    frozen = digests(directory, ["frozen", "none", "../../etc/passwd"])
    wanted = CopiedFile("frozen", "/etc/a", digest=frozen["frozen"])

    assert [*frozen] == ["frozen"]
    assert read(directory, [wanted])[0].content == b"old"
    (directory / "frozen").write_bytes(b"new")
    with pytest.raises(Refused, match="has changed since the action was created"):
        read(directory, [wanted])
    assert digests(None, ["frozen"]) == {}
