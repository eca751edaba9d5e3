"""Read the files that tasks copy to nodes, from one directory and nowhere else."""

from collections.abc import Sequence
from pathlib import Path

from shipyard_api.adapters.ssh.connections import SYSTEM
from shipyard_api.domain.task_graph.commands import MOST_CONTENT, CopiedFile, RemoteFile
from shipyard_api.ports.errors import Refused


def read(directory: Path | None, wanted: Sequence[CopiedFile]) -> tuple[RemoteFile, ...]:
    """Return the files with their content.

    Raises Refused without a directory, and for a file that is not in it, also behind a link, or cannot be read.
    """
    if directory is None:
        raise Refused(SYSTEM, "start", "tasks of the type copy_files need [ssh] files, which is not set")
    return tuple(RemoteFile(one.path, _content(directory, one.source), one.mode, one.directory_mode) for one in wanted)


def _content(directory: Path, source: str) -> bytes:
    try:
        root, path = directory.resolve(strict=True), (directory / source).resolve(strict=True)
        if not path.is_relative_to(root):
            raise Refused(SYSTEM, "start", f"{source} is not in the directory of [ssh] files")
        if not path.is_file():
            raise Refused(SYSTEM, "start", f"{source} in the directory of [ssh] files is not a file")
        with path.open("rb") as file:
            content = file.read(MOST_CONTENT + 1)
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(SYSTEM, "start", f"{source} in the directory of [ssh] files: {why}") from error
    if len(content) > MOST_CONTENT:
        raise Refused(SYSTEM, "start", f"{source} has more than {MOST_CONTENT} bytes")
    return content
