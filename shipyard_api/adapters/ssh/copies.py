"""Read the files that tasks copy to nodes, from one directory and nowhere else."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from shipyard_api.adapters.ssh.connections import SYSTEM
from shipyard_api.domain.task_graph.commands import MOST_CONTENT, CopiedFile, RemoteFile
from shipyard_api.ports.errors import Refused

_UNSET = "tasks of the type copy_files need [ssh] files, which is not set"


class CopyFault(Struct, frozen=True):
    """Why a file cannot be copied. ``is_missing``: there is none, so it may still be made."""

    why: str
    is_missing: bool = False


def read(directory: Path | None, wanted: Sequence[CopiedFile]) -> tuple[RemoteFile, ...]:
    """Return the files with their content.

    Raises Refused without a directory, and for a file that is not in it, also behind a link, cannot be read, or has
    another content than it must have.
    """
    if directory is None:
        raise Refused(SYSTEM, "start", _UNSET)
    return tuple(
        RemoteFile(file.path, _expected(file, _content(directory, file.source)), file.mode, file.directory_mode)
        for file in wanted
    )


def digests(directory: Path | None, sources: Iterable[str]) -> Mapping[str, str]:
    """Return the SHA-256 of files, without those that cannot be read."""
    found = {}
    for source in sources:
        if directory is None:
            break
        try:
            found[source] = hashlib.sha256(_content(directory, source)).hexdigest()
        except Refused:
            continue
    return found


def faults(directory: Path | None, wanted: Iterable[CopiedFile]) -> Iterator[CopyFault]:
    """Return why files cannot be copied, as far as their names show it."""
    for file in wanted:
        if directory is None:
            yield CopyFault(_UNSET)
            return
        try:
            _found(directory, file.source)
        except Refused as fault:
            yield CopyFault(fault.detail, isinstance(fault.__cause__, FileNotFoundError))


def _found(directory: Path, source: str) -> Path:
    try:
        root, path = directory.resolve(strict=True), (directory / source).resolve()
        if path.is_relative_to(root):
            path = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise _unreadable(source, error) from error
    if not path.is_relative_to(root):
        raise Refused(SYSTEM, "start", f"{source} is not in the directory of [ssh] files")
    if not path.is_file():
        raise Refused(SYSTEM, "start", f"{source} in the directory of [ssh] files is not a file")
    if path.stat().st_size > MOST_CONTENT:
        raise Refused(SYSTEM, "start", f"{source} has more than {MOST_CONTENT} bytes")
    return path


def _unreadable(source: str, error: Exception) -> Refused:
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Refused(SYSTEM, "start", f"{source} in the directory of [ssh] files: {why}")


def _expected(file: CopiedFile, content: bytes) -> bytes:
    if file.digest is not None and hashlib.sha256(content).hexdigest() != file.digest:
        why = (
            f"{file.source} in the directory of [ssh] files has changed since the action was created: retry the action"
        )
        raise Refused(SYSTEM, "start", why)
    return content


def _content(directory: Path, source: str) -> bytes:
    path = _found(directory, source)
    try:
        with path.open("rb") as file:
            return file.read(MOST_CONTENT)
    except OSError as error:
        raise _unreadable(source, error) from error
